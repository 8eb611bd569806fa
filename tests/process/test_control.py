"""Operators against running work: cancel and pause, on every kind of handler."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from dure.ports.store import Hint
from dure.scripts import pauses

if TYPE_CHECKING:
    from tests.process.conftest import Scene

pytestmark = pytest.mark.process

KINDS = ("soft", "plain", "apart")


async def has_stopped(scene: Scene, jobs: list[int]) -> None:
    """The handlers of these jobs fall silent."""

    async def ticks() -> int:
        return len([line for line in scene.lines("tick") if line.job in jobs])

    deadline = time.monotonic() + 10
    before = -1
    while before != (now := await ticks()):
        assert time.monotonic() < deadline, "they still run"
        before = now
        await asyncio.sleep(0.3)


async def test_cancelling_stops_running_handlers_of_every_kind(scene: Scene) -> None:
    """X16"""
    await scene.working(slots=6)
    jobs = [job for kind in KINDS for job in await scene.put(kind, seconds=30)]
    await scene.until(lambda: {line.job for line in scene.lines("tick")} == set(jobs))

    for job in jobs:
        await scene.cancel(job)

    await has_stopped(scene, jobs)
    assert ["CANCELLED"] * 3 == [scene.state(job) for job in jobs]
    assert [] == scene.ask("select job from effect")
    after = await scene.put("step", 6)
    await scene.until(lambda: scene.has_ended(after))
    assert ["SUCCESS"] * 6 == [scene.state(job) for job in after]
    scene.assert_calm()


async def test_a_pause_gives_running_work_back_and_resuming_runs_it(scene: Scene) -> None:
    """X16"""
    await scene.working(slots=6)
    jobs = [job for kind in KINDS for job in await scene.put(kind, to="held", seconds=1.5)]
    await scene.until(lambda: {line.job for line in scene.lines("tick")} == set(jobs))

    held = pauses.pause("lane", "held", by="test", reason="test", drain=False, now=time.time())
    await scene.run(held)
    await scene.app.store.hint(Hint("control"))

    await has_stopped(scene, jobs)
    assert ["PENDING"] * 3 == [scene.state(job) for job in jobs]
    assert [0] * 3 == [scene.row(job).attempt for job in jobs], "a pause spends no attempt"
    free = await scene.put("step", 3)
    await scene.until(lambda: scene.has_ended(free))
    await scene.run(pauses.resume("lane", "held", by="test", reason="test", now=time.time()))
    await scene.app.store.hint(Hint("control"))
    await scene.until(scene.has_ended)
    assert ["SUCCESS"] * 3 == [scene.state(job) for job in jobs]
    scene.judge([*jobs, *free])
    scene.assert_calm()
