"""A worker that stood still for longer than its lease, and does not know."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.process.conftest import Scene

    from dure.testing.crash import Victim

pytestmark = pytest.mark.process


async def freeze(scene: Scene, victim: Victim) -> None:
    """Stop it between two transactions: on SQLite it would hold the file's only write lock."""
    while True:
        victim.freeze()
        if not scene.is_write_locked():
            return
        victim.thaw()
        await asyncio.sleep(0.01)


async def test_a_worker_frozen_beyond_its_lease_is_refused_and_comes_back_as_a_new_one(
    scene: Scene,
) -> None:
    """X3 X12: a worker declared dead cannot write."""
    zombie = await scene.working(slots=6)
    told = await scene.put("step", 6, seconds=0.8)
    await scene.until(lambda: len(scene.lines("start")) == 6)
    before = scene.alive(zombie)
    assert before is not None
    await freeze(scene, zombie)
    heir = await scene.working(slots=6)
    await scene.until(scene.has_ended)
    zombie.thaw()

    elsewhere = {line.job for line in scene.lines("end") if line.pid == heir.pid}
    assert set(told) <= elsewhere, "its jobs ran elsewhere while it stood still"
    late = [(job, 1) for job in told]
    await scene.until(lambda: (scene.alive(zombie) or (0,))[0] > before[0])
    heir.ask()
    assert 0 == heir.wait()
    more = await scene.put("step", 6)
    await scene.until(scene.has_ended)
    assert {zombie.pid} == {line.pid for line in scene.lines("start") if line.job in more}
    zombie.ask()
    assert 0 == zombie.wait()
    tried = [(x.job, x.fence) for x in scene.lines("end") if x.pid == zombie.pid]
    assert len([pair for pair in tried if pair in late]) == scene.farewell(zombie)["refused"]
    scene.judge([*told, *more])
    scene.assert_calm()


async def test_a_handler_that_blocks_the_loop_longer_than_the_lease_keeps_its_job(
    scene: Scene,
) -> None:
    """X12: the beat does not depend on the event loop."""
    blocked = await scene.working(slots=2)
    (job,) = await scene.put("blocking", seconds=2.5)
    await scene.until(lambda: scene.lines("start", job))
    await scene.working(slots=2)

    await scene.until(scene.has_ended)

    assert [] == scene.events(job)
    assert {blocked.pid} == {line.pid for line in scene.lines(job=job)}
    scene.judge([job])
    scene.assert_calm()
