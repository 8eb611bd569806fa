"""Whether the drain rate stays what it was: with a full store, after idleness, beside a reader."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dure.bench import ballast
from dure.bench.crew import Crew
from dure.bench.figures import Reading
from dure.bench.ground import Ground
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

    `flat`: with finished, delayed and suspended jobs in the store. `flat.burst`: when the
    planner was told last that the queue is empty. `flat.hold`: after a while of load beside
    a transaction that has been open all the time, and still is.
    """
    async with _scene(ground, given) as scene:
        empty = await scene.burst(given.jobs, analyze=True)
        await ground.analyze(vacuum=True)
        burst = await scene.burst(given.jobs, analyze=False)
        held = None
        if given.hold:
            async with ground.held():
                await scene.feed(given.rate, given.hold)
                held = await scene.burst(given.jobs, analyze=False)
    async with _scene(ground, given) as scene:
        await ballast.finished(ground, scene.stream, given.finished)
        await ballast.idle(ground, scene.stream, delayed=given.delayed, suspended=given.suspended)
        await ground.analyze(vacuum=True)
        full = await scene.burst(given.jobs, analyze=True)
    readings = [
        Reading("flat", full / empty, "of empty"),
        Reading("flat.burst", burst / empty, "of empty"),
        Reading("flat.empty", empty, "jobs/s"),
    ]
    if held is not None:
        readings.append(Reading("flat.hold", held / empty, "of empty"))
    return readings


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
