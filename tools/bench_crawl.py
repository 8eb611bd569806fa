"""Measures Dure's crawl beside a hand-written loop, Scrapy and Crawlee: one run, in turn.

The peers' own scripts are used, with their site served by nginx on loopback. Rounds take
turns, so that a machine that is slow for a while is slow for everybody; medians are printed
with the ratios that matter, and the processor's time for a page, which a busy machine does
not change much.

    PEERS          the folder of the peers' scripts, with crawl/hand.py in it
    PEERS_CRAWL    a Python with scrapy and crawlee; without it only the hand-written loop runs
    ROUNDS, PAGES  how often (3), how many items (10000)
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
SCRIPTS: Final = Path(os.environ.get("PEERS", ROOT.parent / "shared" / "bench" / "peers")) / "crawl"
SITE: Final = "http://127.0.0.1:8099"
OURS: Final = ROOT / "bench" / "crawl_dure.py"
SECONDS_MAX: Final = 300
GOALS: Final = (
    ("dure lists", "hand lists", 0.6),
    ("dure lists", "scrapy lists", 4.0),
    ("dure lists", "crawlee lists", 2.2),
    ("dure all", "dure lists", 0.9),
)


def main() -> int:
    """Run every contest; 1 when nothing could be measured."""
    rounds, pages = int(os.environ.get("ROUNDS", "3")), os.environ.get("PAGES", "10000")
    if not (SCRIPTS / "hand.py").exists():
        print(f"There is no hand.py in {SCRIPTS}. Set PEERS.")
        return 1
    results: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="dure-bench-crawl-") as folder:
        Path(folder).chmod(0o755)  # nginx serves it as another user
        environment = {**os.environ, "BENCH_DIR": folder, "BENCH_SITE": SITE}
        site = Path(folder) / "site"
        _call([sys.executable, SCRIPTS / "make_site.py", site, "--pages", pages], environment)
        _call([SCRIPTS / "nginx.sh", "start"], environment)
        try:
            for number in range(rounds):
                for name, command in _contest(Path(folder), pages, number):
                    line = _measure(command, environment)
                    if line is not None:
                        results.setdefault(name, []).append(line)
                        print(f"{name:14} {json.dumps(line)}", flush=True)
        finally:
            _call([SCRIPTS / "nginx.sh", "stop"], environment)
    _report(results)
    return 0 if "dure lists" in results else 1


def _contest(folder: Path, pages: str, number: int) -> list[tuple[str, list[str | Path]]]:
    """Everybody's command for one round."""
    python, theirs = sys.executable, os.environ.get("PEERS_CRAWL")
    found: list[tuple[str, list[str | Path]]] = []
    for follow in ("lists", "all"):
        tail = ["--follow", follow, "--pages", pages]
        store = folder / f"{follow}-{number}.db"
        found.append((f"dure {follow}", [python, OURS, SITE, store, *tail, "-c", "32"]))
        found.append(
            (f"hand {follow}", [python, SCRIPTS / "hand.py", "aiohttp", *tail, "-c", "32"])
        )
        if theirs:
            queue = ["--set", f"JOBDIR={folder / f'scrapy-{follow}-{number}'}"]
            scrapy: list[str | Path] = [
                theirs,
                SCRIPTS / "scrapy_crawl.py",
                *tail,
                "-c",
                "16",
                "--robots",
                *queue,
            ]
            found.append((f"scrapy {follow}", scrapy))
    if theirs:
        crawlee: list[str | Path] = [
            theirs,
            SCRIPTS / "crawlee_crawl.py",
            "--kind",
            "parsel",
            "--http",
            "impit",
        ]
        found.append(("crawlee lists", [*crawlee, "-c", "32", "--pages", pages]))
    return found


def _measure(command: Sequence[str | Path], environment: dict[str, str]) -> dict[str, Any] | None:
    """The last line that a script prints; None when it failed."""
    done = subprocess.run(
        command,
        env=environment,
        cwd=environment["BENCH_DIR"],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        print(f"failed: {' '.join(map(str, command))}\n{done.stderr[-500:]}")
        return None
    line: dict[str, Any] = json.loads(lines[-1])
    return line


def _call(command: Sequence[str | Path], environment: dict[str, str]) -> None:
    subprocess.run(command, env=environment, check=True, timeout=SECONDS_MAX)


def _report(results: dict[str, list[dict[str, Any]]]) -> None:
    """Medians, and how they stand to each other."""

    def median(name: str, what: str) -> float:
        return float(statistics.median(line[what] for line in results[name]))

    print()
    for name in results:
        print(
            f"{name:14} {median(name, 'rate'):8,.0f} pages/s {median(name, 'cpu_ms'):8.3f} ms cpu "
            f"{median(name, 'rss_mb'):6,.0f} MB"
        )
    for ours, theirs, goal in GOALS:
        if ours in results and theirs in results:
            rate = median(ours, "rate") / median(theirs, "rate")
            cpu = median(theirs, "cpu_ms") / median(ours, "cpu_ms")
            print(f"{ours} / {theirs}: {rate:.2f} by the clock, {cpu:.2f} by cpu (goal {goal})")


if __name__ == "__main__":
    sys.exit(main())
