"""Whether the drain rate stays what it was: with a full store, after idleness, beside a reader."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dure.bench import ballast
from dure.bench.crew import Crew
from dure.bench.figures import Reading
from dure.bench.ground import Ground, open_ground
from dure.bench.marks import Marks
from dure.bench.options import Options
from dure.bench.throughput import drained, flags_of
from dure.bench.workload import MARK, Workload, work_on
from dure.core.state import Priority
from dure.core.stream import pack
from dure.ports.store import Hint

_TICK_SECONDS = 0.02
_WARM_SHARE = 10
"""The part of a run's jobs that goes first, so that nothing is measured cold."""
_BURSTS = 3
"""Of each sort in one run; the median counts."""


class _Scene:
    """One store with one worker on it, that is given jobs all at once, again and again."""

    def __init__(self, ground: Ground, work: Workload, marks: Marks, crew: Crew) -> None:
        self.ground = ground
        self.work = work
        self.marks = marks
        self.crew = crew
        names = work.app.names
        self.stream = pack(names.lanes["default"], names.kinds[MARK], Priority.NORMAL)

    async def burst(self, count: int, *, analyze: bool) -> float:
        """Let so many jobs appear in one moment; jobs a second until none is left."""
        before = self.marks.count()
        body = self.work.job(0.0).body
        await ballast.waiting(self.ground, [self.stream] * count, [body] * count, analyze=analyze)
        await self.work.app.store.hint(Hint("streams", (self.stream,)))
        found = await drained(self.ground, self.marks, self.crew, count, before=before)
        return found.rate

    async def feed(self, rate: float, seconds: float) -> None:
        """Enqueue at a steady rate, and wait until all of it is done."""
        before, begun = self.marks.count(), time.monotonic()
        total, sent = max(int(rate * seconds), 1), 0
        while sent < total:
            await asyncio.sleep(_TICK_SECONDS)
            due = min(int((time.monotonic() - begun) * rate), total)
            await self.work.app.enqueue_many([self.work.job(0.0)] * (due - sent))
            sent = due
        await drained(self.ground, self.marks, self.crew, total, before=before)


async def flat(ground: Ground, given: Options) -> list[Reading]:
    """Drain rates as shares of the rate in an empty store with fresh statistics.

    `flat`: with finished, delayed and suspended jobs in the store, in turn with an empty one
    beside it. `flat.burst`: when the planner was told last that the queue is empty.
    `flat.hold`: after a while of load beside a transaction that has been open all the time,
    and still is.
    """
    beside = await open_ground(ground.url)
    try:
        async with _scene(ground, given) as empty, _scene(beside, given) as full:
            await ballast.finished(beside, full.stream, given.finished)
            await ballast.idle(
                beside, full.stream, delayed=given.delayed, suspended=given.suspended
            )
            await beside.analyze(vacuum=True)
            shares, rates = [], []
            for _ in range(_BURSTS):
                rates.append(await empty.burst(given.jobs, analyze=True))
                shares.append(await full.burst(given.jobs, analyze=True) / rates[-1])
    finally:
        await beside.close()
    rate = statistics.median(rates)
    readings = [Reading("flat", statistics.median(shares), "of empty")]
    async with _scene(ground, given) as scene:
        shares = []
        for _ in range(_BURSTS):
            known = await scene.burst(given.jobs, analyze=True)
            await ground.analyze(vacuum=True)
            shares.append(await scene.burst(given.jobs, analyze=False) / known)
        readings.append(Reading("flat.burst", statistics.median(shares), "of empty"))
        if given.hold:
            before = await scene.burst(given.jobs, analyze=True)
            async with ground.held():
                await scene.feed(given.rate, given.hold)
                held = [await scene.burst(given.jobs, analyze=False) for _ in range(_BURSTS)]
            share = statistics.median(held) / before
            readings.append(Reading("flat.hold", share, "of empty"))
    return [*readings, Reading("flat.empty", rate, "jobs/s")]


@asynccontextmanager
async def _scene(ground: Ground, given: Options) -> AsyncIterator[_Scene]:
    marks = Marks(ground.folder / "marks")
    marks.clear()
    url = await ground.fresh()
    work = work_on(url, marks)
    async with work.app, Crew(url, marks.path) as crew:
        await work.app.names.learn([MARK], ["default"])
        scene = _Scene(ground, work, marks, crew)
        await crew.hire(1, flags_of(given))
        crew.go()
        await scene.burst(max(given.jobs // _WARM_SHARE, 1), analyze=True)
        yield scene
