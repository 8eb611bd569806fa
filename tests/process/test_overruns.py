"""Handlers that take too long or die: only they suffer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.process.conftest import Scene

pytestmark = pytest.mark.process


@pytest.mark.parametrize("kind", ["endless_soft", "endless_plain", "endless_apart"])
async def test_an_attempt_beyond_its_timeout_is_really_stopped_and_its_slot_free(
    sqlite_scene: Scene, kind: str
) -> None:
    """X6"""
    scene = sqlite_scene
    await scene.working(slots=1)
    (job,) = await scene.put(kind)

    await scene.until(lambda: scene.has_ended([job]))

    ticks = len(scene.lines("tick", job))
    (after,) = await scene.put("step")
    await scene.until(scene.has_ended)
    await asyncio.sleep(0.2)
    assert ticks == len(scene.lines("tick", job)), "it still runs"
    assert ticks >= 3
    assert ["timeout"] * 3 == scene.events(job)
    assert "FAILED" == scene.state(job)
    starts = [line.at for line in scene.lines("start", job)]
    last = {f: max(x.at for x in scene.lines("tick", job) if x.fence == f) for f in (1, 2, 3)}
    assert [] == [f for f in last if last[f] - starts[f - 1] > 2.5], "stopped late"
    scene.judge([job, after])
    scene.assert_calm()


@pytest.mark.parametrize(("kind", "code"), [("exiting", "7"), ("crashing", "-11")])
async def test_a_child_that_dies_fails_only_its_own_attempt(
    sqlite_scene: Scene, kind: str, code: str
) -> None:
    """X6"""
    scene = sqlite_scene
    victim = await scene.working(slots=4)
    (bystander,) = await scene.put("apart", seconds=1.5)
    await scene.until(lambda: scene.lines("start", bystander))
    (job,) = await scene.put(kind)

    await scene.until(scene.has_ended)

    assert victim.is_running
    assert ["retry"] * 3 == scene.events(job)
    assert "FAILED" == scene.state(job)
    assert f"code {code}" in (scene.row(job).error or "")
    assert [] == scene.events(bystander)
    scene.judge([job, bystander])
    scene.assert_calm()


async def test_plain_functions_fill_every_slot_at_once(sqlite_scene: Scene) -> None:
    """X6: an attempt that waited for a thread would lose its time to somebody else's."""
    scene = sqlite_scene
    await scene.working(slots=4)
    (first,) = await scene.put("plain")
    await scene.until(scene.has_ended)

    jobs = await scene.put("plain", 4, seconds=0.6)
    await scene.until(scene.has_ended)

    starts = [line.at for line in scene.lines("start") if line.job in jobs]
    ends = [line.at for line in scene.lines("end") if line.job in jobs]
    assert max(starts) < min(ends), "one waited for another although a slot was free"
    scene.judge([first, *jobs])
    scene.assert_calm()
