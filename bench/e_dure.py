"""Dure as one more engine of the benchmark its peers are measured with.

That benchmark loads `e_NAME` for each engine and asks it for eight names; it runs with this
folder on its path, and with the Python that Dure is installed in. Variants: `pg`,
`pg-chunk`, `pg-lanes`, `pg-default`, `sqlite`, `sqlite-chunk`. All but `pg-default` run
tuned nodes, as the fastest peers do.
"""

import sqlite3
import sys
from pathlib import Path

import common

from dure.bench import worker
from dure.bench.marks import Marks
from dure.bench.workload import Workload, node_options, spread, work_on

STORE, _, MANNER = (common.VARIANT or "pg").partition("-")
BACKEND = STORE
URL = common.PG if STORE == "pg" else f"sqlite:{common.SQLITE}"
CHUNK = 100 if MANNER == "chunk" else 0
LANES = 10_000 if MANNER == "lanes" else 1
SETTINGS = "default" if MANNER == "default" else "tuned"
SLICE = 1000
UNFINISHED = "select count(*) from dure_live"


def settings() -> str:
    """One line about concurrency and durability."""
    manner = f"a handler call for {CHUNK} jobs" if CHUNK else "a handler call for each job"
    given = {k: v for k, v in node_options(SETTINGS).items() if k != "grace"}
    nodes = ", ".join(f"{name}={value}" for name, value in given.items()) or "as they come"
    durable = "synchronous_commit on" if STORE == "pg" else "WAL, synchronous=FULL"
    return f"{manner}, {LANES} lanes, node settings {nodes}, {durable}"


def worker_cmd() -> list[str]:
    """The command of one worker process."""
    return [sys.executable, __file__]


class Seat:
    """What the benchmark asks of one engine, on one store."""

    def __init__(self) -> None:
        self._work: Workload | None = None
        self._reader: sqlite3.Connection | None = None

    async def reset(self) -> None:
        """Begin with nothing."""
        if self._work is not None:
            await self._work.app.close()
            self._work = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        if STORE == "pg":
            common.reset_pg()
        else:
            common.rm_sqlite()

    async def open(self) -> None:
        """Connect this process."""
        if self._work is None:
            self._work = work_on(URL, Marks(Path(common.LOG)), chunk=CHUNK)
            await self._work.app.open()

    async def enqueue(self, count: int) -> None:
        """Enqueue jobs the fastest documented way."""
        for start in range(0, count, SLICE):
            size = min(SLICE, count - start)
            if LANES > 1:
                jobs = spread(self._ready.job(0.0), size, LANES, first=start)
            else:
                jobs = [self._ready.job(0.0) for _ in range(size)]
            await self._ready.app.enqueue_many(jobs)

    async def probe(self, sent: float) -> None:
        """Enqueue one job that carries the time."""
        await self._ready.app.enqueue(self._ready.job(sent))

    async def pending(self) -> int:
        """Jobs that are not finished."""
        if STORE == "pg":
            return int(common.pg_scalar(UNFINISHED))
        if self._reader is None:
            self._reader = sqlite3.connect(common.SQLITE)
        return int(self._reader.execute(UNFINISHED).fetchone()[0])

    @property
    def _ready(self) -> Workload:
        assert self._work is not None, "the benchmark opens before it asks for anything else"
        return self._work


seat = Seat()
reset, open, enqueue = seat.reset, seat.open, seat.enqueue  # noqa: A001  # the names it asks for
probe, pending = seat.probe, seat.pending


if __name__ == "__main__":
    worker.main(
        [
            *("--store", URL, "--log", common.LOG, "--number", str(common.WORKER)),
            *("--chunk", str(CHUNK), "--settings", SETTINGS),
        ]
    )
