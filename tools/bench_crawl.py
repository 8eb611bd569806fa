"""Measures Dure's crawl beside a hand-written loop, Scrapy and Crawlee: one run, in turn.

The peers' own scripts are used, all on one site, served on loopback by nginx, or where there
is none by a server of our own. Rounds take turns, so that a machine that is slow for a while
is slow for everybody; what is compared are medians, and the processor's time for a page, which
a busy machine does not change much. No round is begun after MINUTES (3 with `--quick`).
What it finds is put at the end of docs/reference/figures.md.

    BENCH_PG       a PostgreSQL for the crawl on it; without it a server of our own is started
    PEERS          the folder of the peers' scripts, with crawl/hand.py in it
    PEERS_CRAWL    a Python with scrapy and crawlee; without it one is built in .cache
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import peers

from dure.testing.postgres import OwnServer

ROOT: Final = peers.ROOT
FIGURES: Final = ROOT / "docs" / "reference" / "figures.md"
CACHE: Final = ROOT / ".cache" / "peers-crawl"
PACKAGES: Final = (*("scrapy", "crawlee[parsel,beautifulsoup,httpx,curl-impersonate]", "impit"),)
SITE: Final = "http://127.0.0.1:8099"
OURS: Final = ROOT / "bench"
HEADING: Final = "## Crawling"
RUN_SECONDS: Final = 180
MINUTES: Final = 9.0
QUICK_MINUTES: Final = 3.0

Command = list[str | Path]
Results = dict[str, list[dict[str, Any]]]
"""By the contestant's name: what each round printed."""


class Contest(NamedTuple):
    """A number of one contestant against the same of another."""

    ours: str
    theirs: str
    least: float


CONTESTS: Final = (
    Contest("dure lists", "scrapy lists", 4.0),
    Contest("dure lists", "crawlee lists", 2.2),
    Contest("dure lists", "hand lists", 0.6),
    Contest("dure all", "dure lists", 0.9),
    Contest("dure postgres", "dure lists", 0.8),
)
MEMORY_MAX: Final = 90
OVERHEAD_MAX: Final = 15.0


def main() -> int:
    """Run every contest; 1 when nothing could be measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=10_000, help="items of the site")
    parser.add_argument("--articles", type=int, default=2000, help="of the newsroom; 0: none")
    parser.add_argument("--output", type=Path, default=FIGURES)
    parser.add_argument("--quick", action="store_true", help="one round of less")
    given = parser.parse_args()
    minutes = MINUTES
    if given.quick:
        minutes, given.rounds, given.pages, given.articles = QUICK_MINUTES, 1, 4000, 400
    ends_at = time.monotonic() + minutes * 60
    scripts = peers.SCRIPTS / "crawl"
    if not (scripts / "hand.py").exists():
        say(f"There is no hand.py in {scripts}. Set PEERS.")
        return 1
    results: Results = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dure-bench-crawl-")))
        folder.chmod(0o755)  # nginx serves it as another user
        theirs = os.environ.get("PEERS_CRAWL") or peers.python_with(PACKAGES, CACHE)
        environment = {**os.environ, "BENCH_DIR": str(folder), "BENCH_SITE": SITE}
        site: Command = [sys.executable, scripts / "make_site.py", folder / "site"]
        call([*site, "--pages", str(given.pages)], environment)
        served_by = stack.enter_context(served(scripts, folder, environment))
        postgres = stack.enter_context(database())
        for number in range(given.rounds):
            for name, command in contestants(folder, given.pages, theirs, postgres, number):
                if time.monotonic() < ends_at:
                    note(results, name, measured(command, environment))
        if given.articles and time.monotonic() < ends_at:
            command = [sys.executable, OURS / "newsroom_overhead.py", str(given.articles)]
            note(results, "newsroom", measured(command, environment))
    lines = [
        *(HEADING, "", f"{given.pages:,} items on a site that {served_by} serves;"),
        f"medians of up to {given.rounds} rounds, with the lowest and the highest in brackets.",
        *(["", f"Peers: {peers.versions(theirs, PACKAGES)}."] if theirs else []),
        *("", *table(results), "", *verdicts(results), ""),
    ]
    print("\n".join(lines))
    keep(given.output, "\n".join(lines))
    return 0 if "dure lists" in results else 1


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def contestants(
    folder: Path, pages: int, theirs: str | None, postgres: str, number: int
) -> Iterator[tuple[str, Command]]:
    """Everybody's command for one round."""
    scripts, python = peers.SCRIPTS / "crawl", sys.executable
    size, ours = ["--pages", str(pages)], OURS / "crawl_dure.py"
    lists = ["--follow", "lists", *size]
    for follow in ("lists", "all"):
        store = folder / f"{follow}-{number}.db"
        yield f"dure {follow}", [python, ours, SITE, store, "--follow", follow, *size, "-c", "32"]
    yield "hand lists", [python, scripts / "hand.py", "aiohttp", *lists, "-c", "32"]
    if theirs:
        queue = f"JOBDIR={folder / f'scrapy-{number}'}"
        scrapy: Command = [theirs, scripts / "scrapy_crawl.py", *lists, "-c", "16", "--robots"]
        yield "scrapy lists", [*scrapy, "--set", queue]
        crawlee: Command = [theirs, scripts / "crawlee_crawl.py", "--kind", "parsel"]
        yield "crawlee lists", [*crawlee, "--http", "impit", "-c", "32", *size]
    mark = "&" if "?" in postgres else "?"
    schema = f"{postgres}{mark}schema=dure_bench_crawl_{os.getpid()}_{number}"
    yield "dure postgres", [python, ours, SITE, schema, *size, "-c", "32"]


@contextmanager
def served(scripts: Path, folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The site on loopback; who serves it."""
    if shutil.which("nginx"):
        call([scripts / "nginx.sh", "start"], environment)
        try:
            yield "nginx"
        finally:
            call([scripts / "nginx.sh", "stop"], environment)
        return
    say("There is no nginx: a server in Python serves the site, which slows everybody down.")
    port = SITE.rpartition(":")[2]
    command: Command = [sys.executable, OURS / "serve_site.py", folder / "site", port]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            server.stdout.readline()
            yield "a server in Python"
        finally:
            server.terminate()


@contextmanager
def database() -> Iterator[str]:
    """A PostgreSQL to crawl into."""
    if url := os.environ.get("BENCH_PG"):
        yield url
        return
    settings = {"shared_buffers": "512MB", "max_wal_size": "4GB"}
    with OwnServer(settings) as server, server.database() as made:
        yield made


def measured(command: Command, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """The last line that a script prints; None when it failed."""
    try:
        done = subprocess.run(
            command,
            env=dict(environment),
            cwd=environment["BENCH_DIR"],
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        say(f"{' '.join(map(str, command))} took longer than {RUN_SECONDS} s")
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        say(f"failed: {' '.join(map(str, command))}\n{done.stderr[-1500:]}")
        return None
    line: dict[str, Any] = json.loads(lines[-1])
    return line


def note(results: Results, name: str, line: dict[str, Any] | None) -> None:
    if line is not None:
        results.setdefault(name, []).append(line)
        say(f"{name:14} {json.dumps(line)}")


def call(command: Command, environment: Mapping[str, str]) -> None:
    subprocess.run(command, env=dict(environment), check=True, timeout=RUN_SECONDS)


def spread(results: Results, name: str, what: str) -> str:
    values = [line[what] for line in results[name]]
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:,g} ({low:,g} to {high:,g})"


def table(results: Results) -> Iterator[str]:
    """What everybody reached."""
    yield "| who | pages/s | ms of the processor for a page | peak memory, MB |"
    yield "|---|---|---|---|"
    for name in results:
        if name != "newsroom":
            shown = (spread(results, name, what) for what in ("rate", "cpu_ms", "rss_mb"))
            yield f"| {name} | {' | '.join(shown)} |"


def verdicts(results: Results) -> Iterator[str]:
    """How that stands to what it should be."""
    yield "| what | by the clock | by the processor | goal | met |"
    yield "|---|---|---|---|---|"
    for each in CONTESTS:
        if each.ours in results and each.theirs in results:
            rate = median(results, each.ours, "rate") / median(results, each.theirs, "rate")
            cpu = median(results, each.theirs, "cpu_ms") / median(results, each.ours, "cpu_ms")
            met = "yes" if rate >= each.least else "**no**"
            who = f"{each.ours} / {each.theirs}"
            yield f"| {who} | {rate:.2f} | {cpu:.2f} | ≥ {each.least} | {met} |"
    if "dure lists" in results:
        memory = median(results, "dure lists", "rss_mb")
        met = "yes" if memory <= MEMORY_MAX else "**no**"
        yield f"| memory of dure lists, MB | {memory:g} | | ≤ {MEMORY_MAX} | {met} |"
    if "newsroom" in results:
        share = median(results, "newsroom", "overhead")
        met = "yes" if share <= OVERHEAD_MAX else "**no**"
        about = f"newsroom, {results['newsroom'][0]['articles']:,} articles: overhead, %"
        yield f"| {about} | | {share:.1f} | ≤ {OVERHEAD_MAX:g} | {met} |"


def median(results: Results, name: str, what: str) -> float:
    return float(statistics.median(line[what] for line in results[name]))


def keep(path: Path, section: str) -> None:
    """Put the section at the end of the page, in the place of an earlier one."""
    before = path.read_text(encoding="utf-8") if path.exists() else "# Figures\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{before.partition(HEADING)[0].rstrip()}\n\n{section}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
