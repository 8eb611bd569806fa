"""How soon a job runs: on an idle node, and on one that is kept busy.

On PostgreSQL the node is another process; on SQLite it is the process that enqueues, which
is how a single process on a file is meant to be used.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dure.bench.crew import Crew
from dure.bench.figures import Reading, percentile
from dure.bench.ground import Ground
from dure.bench.marks import Mark, Marks
from dure.bench.options import Options
from dure.bench.throughput import flags_of, reached
from dure.bench.workload import Workload, node_options, work_on

_SETTLE_SECONDS = 0.5
"""A node that has just started still looks around."""
_BLOCK_BYTES = 4096


async def latency(ground: Ground, given: Options) -> list[Reading]:
    """Milliseconds from just before the enqueue call to the handler's first line, when idle."""
    marks = Marks(ground.folder / "marks")
    async with _at_work(ground, marks, given) as (work, crew):
        started = time.monotonic()
        for number in range(given.probes):
            await asyncio.sleep(max(0.0, started + number / given.rate - time.monotonic()))
            await work.app.enqueue(work.job(time.time()))
        await reached(marks, crew, given.probes)
        waits = _waits(marks.read())
    readings = _percentiles("latency", waits)
    if ground.dialect == "sqlite":
        syncs = await _syncs(ground, given)
        sync = percentile(syncs, 0.5)
        readings.append(Reading("latency.syncs", percentile(waits, 0.5) / sync, "of a sync"))
        readings.append(Reading("latency.fsync", sync * 1000, "ms"))
    return readings


async def busy(ground: Ground, given: Options) -> list[Reading]:
    """The same under an open load: jobs arrive on time whether or not earlier ones are served.

    A job's time counts from the moment it should have been enqueued.
    """
    marks = Marks(ground.folder / "marks")
    total = int(given.rate * given.seconds)
    async with _at_work(ground, marks, given) as (work, crew):
        started, begun = time.time(), time.monotonic()
        calls: set[asyncio.Task[object]] = set()
        failures: list[BaseException] = []

        def over(task: "asyncio.Task[object]") -> None:
            calls.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                failures.append(error)

        sent = 0
        while sent < total:
            due = min(int((time.monotonic() - begun) * given.rate) + 1, total)
            for number in range(sent, due):
                job = work.job(started + number / given.rate)
                call: asyncio.Task[object] = asyncio.create_task(work.app.enqueue(job))
                calls.add(call)
                call.add_done_callback(over)
            sent = due
            await asyncio.sleep(0.001)
        if calls:
            await asyncio.wait(calls)
        if failures:
            raise failures[0]
        answered = time.monotonic() - begun
        await reached(marks, crew, total)
        found = marks.read()
    return [
        *_percentiles("busy", _waits(found)),
        Reading("busy.rate", total / answered, "jobs/s"),
        Reading("busy.served", len(found) / total, "of all"),
    ]


@asynccontextmanager
async def _at_work(
    ground: Ground, marks: Marks, given: Options
) -> AsyncIterator[tuple[Workload, Crew]]:
    """An app to enqueue with, and one node that works beside it."""
    marks.clear()
    url = await ground.fresh()
    work = work_on(url, marks)
    async with work.app, Crew(url, marks.path) as crew:
        node = None
        if ground.dialect == "sqlite":
            node = work.app.node(**node_options(given.settings))
            await node.start()
        else:
            await crew.hire(1, flags_of(given))
            crew.go()
        await work.app.enqueue(work.job(0.0))
        await reached(marks, crew, 1)
        await asyncio.sleep(_SETTLE_SECONDS)
        marks.clear()
        try:
            yield work, crew
        finally:
            if node is not None:
                await node.stop()
            marks.close()


def _waits(marks: list[Mark]) -> list[float]:
    return [mark.at - mark.value for mark in marks]


def _percentiles(name: str, waits: list[float]) -> list[Reading]:
    return [
        Reading(f"{name}.p50", percentile(waits, 0.50) * 1000, "ms"),
        Reading(f"{name}.p99", percentile(waits, 0.99) * 1000, "ms"),
    ]


async def _syncs(ground: Ground, given: Options) -> list[float]:
    """Seconds that this disk takes to make an appended block durable, as rarely as the probes."""
    took = []
    path = ground.folder / "sync"
    synced = getattr(os, "fdatasync", os.fsync)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        for _ in range(given.probes):
            await asyncio.sleep(1 / given.rate)
            started = time.perf_counter()
            os.write(file, bytes(_BLOCK_BYTES))
            synced(file)
            took.append(time.perf_counter() - started)
    finally:
        os.close(file)
        path.unlink()
    return took
