"""Workers killed under load: nothing is lost, nothing happens twice, and others take over soon."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from tests.process.conftest import Scene

    from dure.testing.crash import Line, Victim

pytestmark = pytest.mark.process

KILLS = 20
NOISE_SECONDS = 0.7
LOAD = {"step": 60, "branch": 8, "capped": 8, "plain": 8, "apart": 2, "soft": 6}


class Killing(NamedTuple):
    """One kill: when, and what ran there by the store's own account."""

    at: float
    lease: float
    jobs: set[tuple[int, int]]
    """With their fences."""

    @property
    def latest(self) -> float:
        """Two leases later, and what a busy machine may add."""
        return self.at + 2 * self.lease + NOISE_SECONDS


async def put_load(scene: Scene, draw: random.Random) -> list[int]:
    told: list[int] = []
    for kind, count in LOAD.items():
        args = {"lane": f"new-{draw.randrange(10**6)}"} if kind == "branch" else {"seconds": 0.05}
        told += await scene.put(kind, count, to=f"lane-{draw.randrange(3)}", **args)
    return told


def kill(scene: Scene, victim: Victim) -> Killing:
    victim.kill()
    at = time.time()
    known = scene.alive(victim)
    if known is None:  # killed before it had registered
        return Killing(at, 0.0, set())
    worker, beat_at, lease_until = known
    running = scene.ask(f"select id, fence from dure_live where state = 1 and worker = {worker}")
    return Killing(at, lease_until - beat_at, {(job, fence) for job, fence in running})


async def test_twenty_kills_under_load_lose_nothing_and_double_nothing(scene: Scene) -> None:
    """X3 X12 X21"""
    draw = random.Random(20)
    crew = [scene.worker(slots=8) for _ in range(4)]
    told = await put_load(scene, draw)
    killings: list[Killing] = []

    while len(killings) < KILLS:
        up = await scene.until(lambda: scene.up(crew))
        await asyncio.sleep(draw.uniform(0.0, 0.2))
        victim = draw.choice(up)
        killings.append(kill(scene, victim))
        crew.remove(victim)
        crew.append(scene.worker(slots=8))
        told += await put_load(scene, draw)

    await scene.ready(*crew)
    await scene.until(scene.has_ended, 40)
    scene.judge(told)
    scene.assert_calm()
    hit = {pair for killing in killings for pair in killing.jobs}
    lost = scene.lost_leases()
    assert len(hit) > KILLS, "the kills met hardly any running job; this test proves nothing"
    assert hit <= lost.keys(), "a killed attempt was not noted as such"
    late = [
        (job, lost[job] - killing.at)
        for killing in killings
        for job in killing.jobs
        if lost[job] > killing.latest
    ]
    assert [] == late, "taken back later than two leases after the kill"


async def test_work_of_a_killed_worker_runs_again_within_two_leases(scene: Scene) -> None:
    """X12"""
    told: list[int] = []
    victim = await scene.working(slots=12)
    for _ in range(3):
        jobs = await scene.put("soft", 12, seconds=1.5)
        told += jobs
        await scene.until(lambda ids=jobs: len(starts(scene, ids)) == 12)
        heir = await scene.working(slots=12)

        killing = kill(scene, victim)

        mine = {job: fence for job, fence in killing.jobs if job in jobs}
        await scene.until(
            lambda taken=mine: all(
                any(s.fence > fence for s in starts(scene, [job])) for job, fence in taken.items()
            ),
        )
        again = {
            job: min(s.at for s in starts(scene, [job]) if s.fence > fence)
            for job, fence in mine.items()
        }
        late = {j: at - killing.at for j, at in again.items() if at > killing.latest}
        assert 1.0 == pytest.approx(killing.lease, abs=0.05)
        assert {} == late, "running again later than two leases after the kill"
        await scene.until(scene.has_ended)
        victim = heir
    assert scene.lost_leases(), "no kill met a running job; this test proves nothing"
    scene.judge(told)
    scene.assert_calm()


def starts(scene: Scene, ids: list[int]) -> list[Line]:
    wanted = set(ids)
    return [line for line in scene.lines("start") if line.job in wanted]


async def test_a_job_that_kills_its_worker_each_time_ends_failed_after_its_attempts(
    scene: Scene,
) -> None:
    """X12"""
    crew = [scene.worker(slots=4)]
    await scene.ready(*crew)
    (job,) = await scene.put("poison")
    innocent = await scene.put("step", 3, seconds=0.01)

    while not scene.has_ended([job]):
        await scene.until(lambda: scene.has_ended([job]) or not crew[-1].is_running)
        if not crew[-1].is_running:
            crew.append(await scene.working(slots=4))
    await scene.until(scene.has_ended)

    assert 4 == len(crew), "three attempts, three deaths"
    assert ["lease_lost"] * 3 == scene.events(job)
    assert "FAILED" == scene.state(job)
    assert "LeaseLost" in (scene.row(job).error or "")
    scene.judge([job, *innocent])
    scene.assert_calm()


async def test_children_do_not_outlive_a_killed_worker(scene: Scene) -> None:
    """X12: what nobody waits for any more must not go on."""
    victim = await scene.working(slots=2)
    (job,) = await scene.put("apart", seconds=60)
    start = await scene.until(lambda: scene.lines("start", job))
    child = start[0].pid
    assert child != victim.pid

    victim.kill()

    await scene.until(lambda: not scene.is_child(child), 3)
