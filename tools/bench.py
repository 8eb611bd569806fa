"""Measures Dure and its peers in one run, in turn, and writes docs/reference/figures.md.

Every round drains each engine once, ours and a peer's in turn, with the peers' own script
and clock; so a machine that is slower for a while is slower for both. Then follows what
`dure bench` measures, on both stores. All of it takes about 35 minutes, `--quick` about 8;
the goals are those of the whole: ten minutes beside an open transaction need `--hold 600`.

    BENCH_PG       a PostgreSQL for both (two databases are made in it, and dropped again);
                   without it a server of our own is started
    PEERS          the folder of the peers' scripts, with jobs/bench.py in it
    PEERS_PYTHON   a Python that has the peers; without it one is built in .cache/peers
"""

import argparse
import asyncio
import json
import os
import platform
import shlex
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import peers

from dure.bench.catalogue import MEASUREMENTS
from dure.bench.figures import Figure, shortened
from dure.bench.goals import Goal, goal_of, verdict
from dure.bench.main import measure
from dure.testing.postgres import OwnServer

ROOT: Final = Path(__file__).resolve().parent.parent
FIGURES: Final = ROOT / "docs" / "reference" / "figures.md"
ADAPTER: Final = ROOT / "bench"
CACHE: Final = ROOT / ".cache" / "peers"
PACKAGES: Final = (
    *("huey", "procrastinate", "pgqueuer", "dbos", "asyncpg", "psycopg[binary,pool]", "uvloop"),
)
SERVER: Final = {"shared_buffers": "1GB", "max_wal_size": "4GB", "max_connections": "200"}
CONTEST_SECONDS: Final = 600


class Engine(NamedTuple):
    """One engine in one variant, as the peers' script calls it."""

    name: str
    variant: str
    jobs_max: int = 1_000_000
    """Slow ones get fewer jobs, so that a round ends."""
    is_probed: bool = False
    """Whether its idle latency is looked at: ten seconds of a round."""

    @property
    def title(self) -> str:
        return f"{self.name} {self.variant}"


VARIANTS: Final = ("pg", "pg-chunk", "pg-lanes", "pg-default", "sqlite", "sqlite-chunk")
OURS: Final = tuple(Engine("dure", each, is_probed=each == "pg-default") for each in VARIANTS)
PEERS: Final = (
    Engine("pgqueuer", "500", is_probed=True),
    Engine("pgqueuer", "10", 30_000),
    Engine("procrastinate", "keep", 4_000),
    Engine("dbos", "pg-fast", 2_000),
    Engine("huey", "sqlite", 10_000),
    Engine("dbos", "sqlite-fast", 2_000),
)


class Contest(NamedTuple):
    """Our variant against a peer's in one of the script's numbers."""

    about: str
    ours: str
    peer: str
    number: str
    ratio: Goal | None = None
    own: Goal | None = None


_FIRST, _SECOND = "drain1_s", "drain2_s"
CONTESTS: Final = (
    Contest("drain, jobs/s", "pg", "pgqueuer 500", _FIRST, Goal(least=2)),
    Contest("drain by two workers, jobs/s", "pg", "pgqueuer 500", _SECOND, Goal(least=2)),
    Contest("drain of 10,000 lanes, jobs/s", "pg-lanes", "pgqueuer 500", _FIRST, Goal(least=1.5)),
    Contest("drain by chunks, jobs/s", "pg-chunk", "pgqueuer 500", _FIRST, Goal(least=2.5)),
    Contest("drain as installed, jobs/s", "pg-default", "dure pg", _FIRST, Goal(least=0.8)),
    Contest("drain as installed, jobs/s", "pg-default", "pgqueuer 10", _FIRST),
    Contest("drain, jobs/s", "pg", "procrastinate keep", _FIRST, Goal(least=40)),
    Contest("drain, jobs/s", "pg", "dbos pg-fast", _FIRST),
    Contest("bulk enqueue, jobs/s", "pg", "pgqueuer 500", "enqueue_s", Goal(least=1)),
    Contest("idle latency p50, ms", "pg-default", "pgqueuer 500", "p50_ms"),
    Contest("idle latency p99, ms", "pg-default", "pgqueuer 500", "p99_ms"),
    Contest("peak memory, MB", "pg", "pgqueuer 500", "rss_mb", own=Goal(most=60)),
    Contest("drain, jobs/s", "sqlite", "huey sqlite", _FIRST, Goal(least=15)),
    Contest("drain, jobs/s", "sqlite", "dbos sqlite-fast", _FIRST, Goal(least=80)),
    Contest("drain by chunks, jobs/s", "sqlite-chunk", "huey sqlite", _FIRST, Goal(least=20)),
    Contest("bulk enqueue, jobs/s", "sqlite", "huey sqlite", "enqueue_s", Goal(least=20)),
)

TRIAL: Final[dict[str, Any]] = {
    "jobs": 500,
    "callers": 10,
    "probes": 5,
    "rate": 200.0,
    "seconds": 1.5,
    "window": 6.0,
    "finished": 2_000,
    "delayed": 500,
    "suspended": 500,
    "lanes": 20,
    "each": 40,
    "big": 400,
    "batch": 20,
    "claims": 3,
    "lease": 1.0,
    "sweep": 0.2,
    "waiting": 2_000,
    "starts": 1,
}
"""So little of everything that a run takes a minute or two and says nothing about speed."""

QUICK: Final[dict[str, Any]] = {
    "jobs": 20_000,
    "probes": 100,
    "seconds": 6.0,
    "window": 1.0,
    "finished": 300_000,
    "delayed": 50_000,
    "suspended": 50_000,
    "hold": 10.0,
    "lease": 6.0,
    "sweep": 2.0,
    "waiting": 200_000,
}
"""Enough to see what a change has done; too little for the figures themselves."""

LONG: Final = {"flat": 1, "memory": 1, "crash": 3, "limits": 3, "fair": 3, "start": 3}
"""How often at most what takes a minute or more is measured."""

BALLAST: Final = {"postgres": 10_000_000, "sqlite": 5_000_000}
"""Finished jobs that are in the way."""

Results = dict[str, list[dict[str, Any]]]
"""By the engine's title: what the peers' script printed, round by round."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=60_000, help="of each engine and round")
    parser.add_argument("--probes", type=int, default=200)
    parser.add_argument("--hold", type=float, default=60.0, help="seconds; 600 for the full goal")
    parser.add_argument("--output", type=Path, default=FIGURES)
    parser.add_argument("--quick", action="store_true", help="one round of less of everything")
    parser.add_argument("--trial", action="store_true", help="at a tiny size, printed only")
    given = parser.parse_args()
    chosen: dict[str, Any] = {"hold": given.hold, "delayed": 1_000_000, "suspended": 1_000_000}
    if given.quick:
        given.rounds, given.jobs, given.probes, chosen = 1, 30_000, 100, QUICK
    if given.trial:
        given.rounds, given.jobs, given.probes, chosen = 1, 500, 5, TRIAL
    with tempfile.TemporaryDirectory(prefix="dure-contest-") as folder, databases() as urls:
        results = contests(given, Path(folder), urls)
        figures = own_figures(given, chosen, Path(folder), urls[0])
        page = "\n".join(pages(results, figures, urls[0]))
    sys.stdout.write(page)
    if not given.trial:
        given.output.parent.mkdir(parents=True, exist_ok=True)
        given.output.write_text(page, encoding="utf-8")


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


@contextmanager
def databases() -> Iterator[tuple[str, str]]:
    """Two empty databases of one server: ours, and the peers'."""
    url = os.environ.get("BENCH_PG")
    if url is None:
        with OwnServer(SERVER) as server, server.database() as ours, server.database() as theirs:
            yield ours, theirs
        return
    names = [f"dure_bench_{os.getpid()}_{whose}" for whose in ("ours", "peers")]
    asyncio.run(ask(url, [f"create database {name}" for name in names]))
    try:
        parts = urlsplit(url)
        ours, theirs = (urlunsplit(parts._replace(path=f"/{name}")) for name in names)
        yield ours, theirs
    finally:
        asyncio.run(ask(url, [f"drop database {name} with (force)" for name in names]))


async def ask(url: str, statements: Sequence[str]) -> Any:
    """Run statements one by one; the first value of the last one."""
    import asyncpg  # noqa: PLC0415  # an extra

    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            answer = await connection.fetchval(statement)
    finally:
        await connection.close()
    return answer


def contests(given: argparse.Namespace, folder: Path, urls: tuple[str, str]) -> Results:
    """Every engine in every round, ours and the peers' in turn."""
    scripts = Path(os.environ.get("PEERS", peers.SCRIPTS))
    if not (scripts / "jobs" / "bench.py").is_file():
        say(f"No peers are measured: there is no jobs/bench.py in {scripts}. Set PEERS.")
        return {}
    theirs = os.environ.get("PEERS_PYTHON") or peers.python_with(PACKAGES, CACHE)
    if theirs is None:
        return {}
    order = [each for each in chain.from_iterable(zip_longest(OURS, PEERS)) if each is not None]
    results: Results = {engine.title: [] for engine in order}
    for number in range(1, given.rounds + 1):
        for engine in order:
            is_ours = engine.name == "dure"
            command = [
                *(sys.executable if is_ours else theirs, str(scripts / "jobs" / "bench.py")),
                *(engine.name, "--variant", engine.variant),
                *("--probes", str(given.probes if engine.is_probed else 0)),
                *("--jobs", str(min(given.jobs, engine.jobs_max))),
            ]
            place = folder / f"{engine.name}-{engine.variant}-{number}"
            found = contend(command, scripts / "jobs", place, urls[0] if is_ours else urls[1])
            results[engine.title].append(found)
            say(f"round {number}/{given.rounds}, {engine.title}: {found.get(_FIRST)} jobs/s")
    return results


def contend(command: Sequence[str], home: Path, place: Path, url: str) -> dict[str, Any]:
    """One run of the peers' script with a folder of its own; empty when it failed."""
    place.mkdir()
    environment = {
        **os.environ,
        "BENCH_DIR": str(place),
        "BENCH_PG": url,
        "PYTHONPATH": str(ADAPTER),
    }
    environment.pop("BENCH_OUT", None)
    try:
        done = subprocess.run(
            command,
            check=False,
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=CONTEST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        say(f"{shlex.join(command)} took longer than {CONTEST_SECONDS} s")
        return {}
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        say(f"{shlex.join(command)} failed:\n{done.stderr[-2000:]}")
        return {}
    found: dict[str, Any] = json.loads(lines[-1])
    if found.get(_FIRST) is None:
        workers = "".join(log.read_text(errors="replace") for log in place.glob("worker*.out"))
        say(f"{shlex.join(command)} measured nothing: {found.get('note')}\n{workers[-2000:]}")
    return found


def own_figures(
    given: argparse.Namespace, chosen: dict[str, Any], folder: Path, url: str
) -> list[Figure]:
    """What `dure bench` measures, on both stores; what has nothing to do with a store, once."""
    figures: list[Figure] = []
    for store, place in (("postgres", url), ("sqlite", f"sqlite:{folder / 'bench.db'}")):
        sized = {"finished": BALLAST[store], **chosen}
        for name, each in MEASUREMENTS.items():
            if store in each.stores and not (name == "start" and store == "sqlite"):
                runs = min(given.rounds, LONG.get(name, given.rounds))
                figures += asyncio.run(measure([name], place, sized, runs))
    return figures


def pages(results: Results, figures: Sequence[Figure], url: str) -> Iterator[str]:
    """The lines of docs/reference/figures.md."""
    command = shlex.join(["python", *sys.argv])
    yield "# Figures\n"
    yield "Written by `make bench`; medians, with the lowest and the highest in brackets.\n"
    yield f"* Measured on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC with `{command}`."
    yield from (f"* {line}." for line in (machine(), versions(url)))
    if results:
        yield from ("\n## Against other engines\n", *contest_table(results))
    yield from ("\n## By itself\n", *figure_table(figures))
    yield ""


def contest_table(results: Results) -> Iterator[str]:
    yield "| what | ours | Dure | peer | peer's | ours / peer's | goal | met |"
    yield "|---|---|---|---|---|---|---|---|"
    for each in CONTESTS:
        ours, theirs = (
            numbers(results[title], each.number) for title in (f"dure {each.ours}", each.peer)
        )
        ratio = statistics.median(ours) / statistics.median(theirs) if ours and theirs else None
        goal, value = each.ratio or each.own, ratio
        if each.own is not None:
            value = statistics.median(ours) if ours else None
        text = "" if goal is None else f"{goal}{' times' if each.ratio else ''}"
        shown = "" if ratio is None else f"{ratio:.2f}"
        yield (
            f"| {each.about} | {each.ours} | {spread(ours)} | {each.peer} | {spread(theirs)} "
            f"| {shown} | {text} | {verdict(goal, value)} |"
        )


def numbers(rounds: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [found[name] for found in rounds if found.get(name) is not None]


def figure_table(figures: Sequence[Figure]) -> Iterator[str]:
    yield "| figure | store | median (range) | unit | goal | met |"
    yield "|---|---|---|---|---|---|"
    for figure in figures:
        goal = goal_of(figure)
        yield (
            f"| {figure.name} | {figure.store} | {spread(figure.runs)} | {figure.unit} "
            f"| {goal or ''} | {verdict(goal, figure.median)} |"
        )
    yield "\nMeasured were:\n"
    for name, each in MEASUREMENTS.items():
        known = [f for f in figures if f.name.partition(".")[0] == name]
        if known:
            settings = ", ".join(f"{key} {value}" for key, value in known[0].settings.items())
            yield f"* `{name}`: {each.about} ({settings})."
    for note in dict.fromkeys(f"{f.name}, {f.store}: {n}" for f in figures for n in f.notes):
        yield f"* {note}."


def spread(values: Sequence[float]) -> str:
    if not values:
        return "failed"
    low, middle, high = (shortened(f(values)) for f in (min, statistics.median, max))
    return f"{middle:,} ({low:,} to {high:,})"


def machine() -> str:
    """Processor, cores, memory and system."""
    model, size = platform.processor() or platform.machine(), ""
    for path, key in (("/proc/cpuinfo", "model name"), ("/proc/meminfo", "MemTotal")):
        if Path(path).exists():
            lines = Path(path).read_text().splitlines()
            value = next((line.partition(":")[2].strip() for line in lines if key in line), "")
            if key == "MemTotal":
                size = f", {int(value.split()[0]) / 2**20:.0f} GiB"
            else:
                model = value or model
    return f"Machine: {model}, {os.cpu_count()} cores{size}, {platform.platform()}"


def versions(url: str) -> str:
    """Of Python, both databases, and the peers."""
    server = asyncio.run(ask(url, ["show server_version"]))
    found = [
        f"Python {platform.python_version()}",
        f"PostgreSQL {server}",
        f"SQLite {sqlite3.sqlite_version}",
    ]
    theirs = os.environ.get("PEERS_PYTHON", str(CACHE / "bin" / "python"))
    if Path(theirs).exists():
        found.append(peers.versions(theirs, PACKAGES))
    return f"Versions: {', '.join(found)}"


if __name__ == "__main__":
    main()
