"""Every measurement at a tiny size, on both stores: what it prints, never how fast it was."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from dure.bench.catalogue import MEASUREMENTS
from dure.bench.main import run

TINY = {
    "drain": "--jobs 200 --lanes 3",
    "chunk": "--jobs 200 --chunk 10",
    "enqueue": "--jobs 200",
    "single": "--jobs 50 --callers 5",
    "latency": "--probes 4 --rate 50",
    "busy": "--rate 100 --seconds 0.3",
    "flat": "--jobs 100 --finished 50 --delayed 20 --suspended 20 --hold 0.2 --rate 100",
    "fair": "--lanes 6 --each 60 --big 200 --batch 12 --claims 2",
    "limits": "--workers 2 --seconds 1 --window 6 --rate 10 --want 2",
    "ask": "--jobs 300",
    "dedup": "--jobs 400 --batch 20",
    "crash": "--lease 1 --sweep 0.2 --rate 50",
    "memory": "--jobs 50 --lanes 4 --waiting 200",
    "start": "--starts 1",
    "wal": "--jobs 100 --payload 10",
}
FIGURES = {
    "drain": "drain",
    "chunk": "chunk",
    "enqueue": "enqueue",
    "single": "single single.p50 single.p99",
    "latency": "latency.p50 latency.p99",
    "busy": "busy.p50 busy.p99 busy.rate busy.served",
    "flat": "flat flat.burst flat.empty flat.hold",
    "fair": "fair fair.first fair.rounds fair.late fair.claim fair.claim.p50 fair.fifo.p50",
    "limits": "limits limits.share limits.rate",
    "ask": "ask ask.together",
    "dedup": "dedup dedup.known dedup.lost",
    "crash": "crash crash.leases crash.jobs",
    "memory": "memory memory.load memory.waiting memory.growth",
    "start": "start start.app start.help start.python",
    "wal": "wal wal.all",
}
PLACES = ("sqlite", "postgres")
CASES = [(name, s) for name, each in MEASUREMENTS.items() for s in PLACES if s in each.stores]


@pytest.fixture
def store(request: pytest.FixtureRequest, sqlite_path: Path) -> str:
    """The url of a place to measure on; its parameter is the dialect."""
    if request.param == "sqlite":
        return f"sqlite:{sqlite_path}"
    url: str = request.getfixturevalue("own_postgres_url")
    return url


def measured(capsys: pytest.CaptureFixture[str], *argv: str) -> list[dict[str, Any]]:
    """What `dure bench ... --json` prints when it ends well."""
    code = run([*argv, "--json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    figures: list[dict[str, Any]] = json.loads(printed.out)
    return figures


def test_every_measurement_is_tried_here() -> None:
    assert set(MEASUREMENTS) == set(TINY) == set(FIGURES)


@pytest.mark.process
@pytest.mark.parametrize(("name", "store"), CASES, indirect=["store"])
def test_a_measurement_prints_its_figures_with_their_runs_and_settings(
    name: str, store: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    dialect = request.node.callspec.params["store"]
    options = TINY[name].split()
    expected = FIGURES[name].split()
    if (name, dialect) == ("latency", "sqlite"):
        expected += ["latency.fsync", "latency.syncs"]

    figures = measured(capsys, name, "--store", store, "--runs", "1", *options)

    assert set(expected) == {figure["name"] for figure in figures}
    for figure in figures:
        assert {"name", "store", "unit", "median", "runs", "settings", "notes"} == set(figure)
        assert dialect == figure["store"]
        assert [figure["median"]] == figure["runs"]
        assert figure["median"] >= 0
        assert set(MEASUREMENTS[name].defaults) == set(figure["settings"])
        for option, value in zip(options[::2], options[1::2], strict=True):
            assert float(value) == figure["settings"][option.removeprefix("--")]


@pytest.mark.process
@pytest.mark.parametrize("store", PLACES, indirect=True)
def test_a_limit_is_never_exceeded_by_processes_that_share_it(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """X8"""
    options = TINY["limits"].split()

    most, *_ = measured(capsys, "limits", "--store", store, "--runs", "1", *options)

    assert "limits" == most["name"]
    assert most["median"] <= 1


@pytest.mark.process
@pytest.mark.parametrize("store", PLACES, indirect=True)
def test_every_run_is_printed_and_every_job_of_it_is_served(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = TINY["busy"].split()

    figures = measured(capsys, "busy", "--store", store, "--runs", "2", *options)

    assert {2} == {len(figure["runs"]) for figure in figures}
    assert [1, 1] == next(f["runs"] for f in figures if f["name"] == "busy.served")


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_named_file_stays_as_it_is(
    store: str, sqlite_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sqlite_path.write_text("somebody's own")

    measured(capsys, "enqueue", "--store", store, "--runs", "1", "--jobs", "10")

    assert "somebody's own" == sqlite_path.read_text()
    assert [sqlite_path] == list(sqlite_path.parent.iterdir())


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
def test_a_named_database_stays_as_it_is(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = asyncio.run(schemas(store))

    measured(capsys, "enqueue", "--store", store, "--runs", "1", "--jobs", "10")

    assert before == asyncio.run(schemas(store))


async def schemas(url: str) -> list[str]:
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch("select nspname from pg_namespace order by nspname")
        return [row["nspname"] for row in rows]
    finally:
        await connection.close()


def test_without_json_the_figures_are_a_table_and_progress_goes_elsewhere(
    sqlite_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["enqueue", "--store", f"sqlite:{sqlite_path}", "--runs", "2", "--jobs", "10"])

    printed = capsys.readouterr()
    header, line, _, settings = printed.out.splitlines()
    assert 0 == code
    assert ["name", "store", "median", "lowest", "highest", "unit"] == header.split()
    assert ["enqueue", "sqlite", "jobs/s"] == [line.split()[place] for place in (0, 1, 5)]
    assert "enqueue: 2 runs; jobs 10" == settings
    assert ["enqueue 1/2:", "enqueue 2/2:"] == [said[:12] for said in printed.err.splitlines()]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["enqueue", "--hold", "1"], "enqueue has no --hold"),
        (["enqueue", "--runs", "0"], "--runs must be at least 1"),
        (["speed"], "invalid choice: 'speed'"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as leaving:
        run(argv)

    assert 2 == leaving.value.code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["wal", "--store", "sqlite:{folder}/a.db"], "wal is measured on postgres only"),
        (["enqueue", "--store", "sqlite:{folder}/none/a.db"], "There is no folder"),
        (["enqueue", "--store", ":memory:"], "cannot be measured"),
        (["enqueue", "--store", "postgresql://x@127.0.0.1:1/x"], "PostgreSQL cannot be reached"),
    ],
)
def test_a_store_that_cannot_be_measured_is_refused(
    argv: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run([part.format(folder=tmp_path) for part in argv])

    assert 2 == code
    assert said in capsys.readouterr().err
