"""How many jobs a second: drained by workers, put in by a bulk call, put in by many callers."""

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple

from dure.bench.crew import PATIENCE_SECONDS, BenchFailed, Crew
from dure.bench.figures import Reading, percentile
from dure.bench.ground import Ground, is_served
from dure.bench.marks import Marks
from dure.bench.options import Options
from dure.bench.workload import MARK, Workload, spread, work_on

POLL_SECONDS = 0.005
_SLICE = 1000
"""Jobs in one bulk call."""


class Drained(NamedTuple):
    """What became of waiting jobs when workers came."""

    rate: float
    note: str = ""


async def drain(ground: Ground, given: Options) -> list[Reading]:
    """Jobs a second with all of them waiting when the workers begin.

    The clock starts when the last worker has begun its first job, and stops when the store
    holds no unfinished job.
    """
    marks = Marks(ground.folder / "marks")
    marks.clear()
    url = await ground.fresh()
    work = work_on(url, marks, chunk=given.chunk)
    async with work.app:
        await work.app.enqueue_many(spread(work.job(0.0), given.jobs, given.lanes))
        await ground.analyze()
    async with Crew(url, marks.path) as crew:
        await crew.hire(given.workers, flags_of(given))
        crew.go()
        found = await drained(ground, marks, crew, given.jobs)
    return [Reading("drain", found.rate, "jobs/s", found.note)]


async def chunk(ground: Ground, given: Options) -> list[Reading]:
    """The same with chunk handlers."""
    (reading,) = await drain(ground, given)
    return [reading._replace(name="chunk")]


def flags_of(given: Options) -> list[str]:
    """What a worker process must be told."""
    return ["--settings", given.settings, "--chunk", str(given.chunk)]


async def drained(
    ground: Ground, marks: Marks, crew: Crew, count: int, *, before: int = 0
) -> Drained:
    """Wait until `count` jobs after the first `before` are done; how fast that was."""
    await reached(marks, crew, before + count)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not await is_served(ground):
        if time.monotonic() > deadline:
            raise BenchFailed(f"All handlers ran, but some jobs never finished: {crew.said()}.")
        await asyncio.sleep(POLL_SECONDS)
    end = time.time()
    found = marks.read(before)
    firsts: dict[int, float] = {}
    for mark in found:
        firsts[mark.worker] = min(mark.at, firsts.get(mark.worker, mark.at))
    if len(firsts) == len(crew.members):
        start, note = max(firsts.values()), ""
    else:
        start, note = min(firsts.values()), "in some run a worker got no job: take more jobs"
    done = sum(mark.at >= start for mark in found)
    return Drained(done / max(end - start, 1e-9), note)


async def reached(marks: Marks, crew: Crew, count: int) -> None:
    """Return when there are so many marks. Raises BenchFailed when no more come."""
    seen, deadline = -1, 0.0
    while (now := marks.count()) < count:
        if now != seen:
            seen, deadline = now, time.monotonic() + PATIENCE_SECONDS
        if time.monotonic() > deadline:
            raise BenchFailed(f"After {now} of {count} jobs nothing happened: {crew.said()}.")
        crew.check()
        await asyncio.sleep(POLL_SECONDS)


async def enqueue(ground: Ground, given: Options) -> list[Reading]:
    """Jobs a second that one process builds and puts in with bulk calls."""
    work = work_on(await ground.fresh(), Marks(ground.folder / "marks"))
    async with work.app:
        await work.app.names.learn([MARK], ["default"])
        started = time.perf_counter()
        for start in range(0, given.jobs, _SLICE):
            size = min(_SLICE, given.jobs - start)
            await work.app.enqueue_many([work.job(0.0) for _ in range(size)])
        took = time.perf_counter() - started
    return [Reading("enqueue", given.jobs / took, "jobs/s")]


async def single(ground: Ground, given: Options) -> list[Reading]:
    """Jobs a second when many callers put in one after another, each waiting for its answer."""
    work = work_on(await ground.fresh(), Marks(ground.folder / "marks"))
    async with work.app:
        each = max(given.jobs // given.callers, 1)
        started = time.perf_counter()
        took = await asyncio.gather(*(_call(work, each) for _ in range(given.callers)))
        elapsed = time.perf_counter() - started
    waits = [wait for waits in took for wait in waits]
    return [
        Reading("single", len(waits) / elapsed, "jobs/s"),
        Reading("single.p50", percentile(waits, 0.50) * 1000, "ms"),
        Reading("single.p99", percentile(waits, 0.99) * 1000, "ms"),
    ]


async def _call(work: Workload, count: int) -> Sequence[float]:
    waits = []
    for _ in range(count):
        started = time.perf_counter()
        await work.app.enqueue(work.job(0.0))
        waits.append(time.perf_counter() - started)
    return waits
