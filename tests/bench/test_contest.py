"""Dure as its peers' benchmark sees it, and the page that the comparison is written to."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from dure.bench.figures import Figure

ROOT = Path(__file__).resolve().parents[2]

COMMON = """
    import os, psycopg
    VARIANT, SQLITE, LOG = (os.environ[n] for n in ("VARIANT", "SQLITE", "LOG"))
    PG, WORKER = os.environ.get("PG", ""), int(os.environ.get("BENCH_WORKER", "0"))
    def rm_sqlite():
        if os.path.exists(SQLITE): os.remove(SQLITE)
    def reset_pg():
        with psycopg.connect(PG, autocommit=True) as connection:
            connection.execute("drop schema public cascade")
            connection.execute("create schema public")
    def pg_scalar(query):
        with psycopg.connect(PG, autocommit=True) as connection:
            return connection.execute(query).fetchone()[0]
"""
"""The part of the peers' own module that an adapter uses."""
SCRIPT = """
    import asyncio, os, signal, subprocess, time
    import e_dure as engine

    async def main():
        await engine.reset()
        await engine.open()
        await engine.enqueue(30)
        await engine.probe(5.0)
        assert await engine.pending() == 31
        env = dict(os.environ, BENCH_WORKER="3")
        worker = subprocess.Popen(engine.worker_cmd(), env=env)
        try:
            end = time.monotonic() + 60
            while await engine.pending():
                assert time.monotonic() < end and worker.poll() is None
                await asyncio.sleep(0.05)
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(30)
        await engine.reset()
        print(engine.BACKEND, engine.settings())

    asyncio.run(main())
"""


def drained(folder: Path, variant: str, **environment: str) -> tuple[str, bytes]:
    """What the adapter says of itself, and the log, after 31 jobs went through a worker."""
    (folder / "common.py").write_text(textwrap.dedent(COMMON))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        check=False,
        capture_output=True,
        text=True,
        env={
            "PATH": "",
            "PYTHONPATH": f"{folder}:{ROOT / 'bench'}",
            "VARIANT": variant,
            "SQLITE": str(folder / "engine.db"),
            "LOG": str(folder / "log"),
            **environment,
        },
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), (folder / "log").read_bytes()


@pytest.mark.process
@pytest.mark.parametrize(
    ("variant", "said"),
    [
        ("sqlite", "sqlite a handler call for each job, 1 lanes, node settings slots=500"),
        ("sqlite-chunk", "sqlite a handler call for 100 jobs, 1 lanes"),
    ],
)
def test_the_peers_benchmark_can_drain_dure_on_sqlite(
    variant: str, said: str, tmp_path: Path
) -> None:
    output, log = drained(tmp_path, variant)

    assert output.startswith(said)
    assert 31 * 24 == len(log)


@pytest.mark.process
@pytest.mark.parametrize(
    ("variant", "said"),
    [
        ("pg", "pg a handler call for each job, 1 lanes, node settings slots=500"),
        ("pg-chunk", "pg a handler call for 100 jobs, 1 lanes"),
        ("pg-lanes", "pg a handler call for each job, 10000 lanes"),
        ("pg-default", "pg a handler call for each job, 1 lanes, node settings as they come"),
    ],
)
def test_the_peers_benchmark_can_drain_dure_on_postgresql(
    variant: str, said: str, tmp_path: Path, own_postgres_url: str
) -> None:
    output, log = drained(tmp_path, variant, PG=own_postgres_url)

    assert output.startswith(said)
    assert 31 * 24 == len(log)


@pytest.fixture(scope="module")
def tool() -> Iterator[ModuleType]:
    """tools/bench.py, which is a program and in no package."""
    sys.path.insert(0, str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location("bench_tool", ROOT / "tools" / "bench.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(ROOT / "tools"))


def test_a_contest_compares_medians_and_says_whether_the_goal_is_met(tool: ModuleType) -> None:
    results: dict[str, list[dict[str, float]]] = {
        engine.title: [] for engine in (*tool.OURS, *tool.PEERS)
    }
    results["dure pg"] = [{"drain1_s": rate} for rate in (30_000, 50_000, 40_000)]
    results["pgqueuer 500"] = [{"drain1_s": 20_000}, {}, {"drain1_s": 24_000}]

    _, _, first, second, *_ = tool.contest_table(results)

    assert (
        "| drain, jobs/s | pg | 40,000 (30,000 to 50,000) | pgqueuer 500 "
        "| 22,000 (20,000 to 24,000) | 1.82 | ≥ 2 times | **no** |"
    ) == first
    assert second.endswith("| failed | pgqueuer 500 | failed |  | ≥ 2 times | **no** |")


def test_every_contest_is_between_engines_that_are_measured(tool: ModuleType) -> None:
    titles = {engine.title for engine in (*tool.OURS, *tool.PEERS)}
    named = {title for each in tool.CONTESTS for title in (f"dure {each.ours}", each.peer)}

    assert titles == named


def test_a_figure_is_shown_with_its_goal_and_what_was_measured(tool: ModuleType) -> None:
    wal = Figure(
        name="wal", store="postgres", unit="bytes/job", runs=(900.0, 1000.0), settings={"jobs": 5}
    )

    lines = list(tool.figure_table([wal]))

    assert "| wal | postgres | 950 (900 to 1,000) | bytes/job | ≤ 1,000 | yes |" in lines
    assert "* `wal`: log that PostgreSQL writes for a job (jobs 5)." in lines


def test_without_the_peers_scripts_only_dure_is_measured(
    tool: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PEERS", str(tmp_path))

    assert {} == tool.contests(None, tmp_path, ("", ""))
    assert f"No peers are measured: there is no jobs/bench.py in {tmp_path}" in (
        capsys.readouterr().err
    )
