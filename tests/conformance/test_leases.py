"""The four lease bugs of other systems, and what keeps them out of this one."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from dure.core.decide import Transition
from dure.core.state import Event, State
from dure.core.stream import pack
from dure.ports.rows import Ask, Change, NewJob
from dure.scripts import jobs, upkeep, workers
from dure.stores.postgres import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from tests.conformance.conftest import Yard

    from dure.ports.rows import Claim

STREAM = pack(1, 1, 2)
LEASE = 30.0


async def hire(yard: Yard, name: str = "node") -> int:
    """A worker with a fresh lease."""
    now = await yard.store.now()
    return await yard.store.run(
        workers.register(
            name, "host", pid=1, version="1", kinds=["k"], slots=1, lease=LEASE, now=now
        )
    )


async def sweep(yard: Yard) -> list[int]:
    """Take back the jobs of dead workers and bury these; then promote what is due."""
    now = await yard.store.now()
    taken = []
    for worker in await yard.store.run(upkeep.dead_workers(now)):
        found = await yard.store.run(upkeep.orphans(worker.id, 100))
        for orphan in found:
            standing = await yard.standing(orphan.id)
            assert (orphan.fence, orphan.attempt) == (standing.fence, standing.attempt)
            await yard.end(standing, Event.LEASE_LOST, error=f"{worker.name} died")
        taken += [orphan.id for orphan in found]
        assert await yard.store.run(upkeep.bury(worker.id, now))
    await yard.store.run(upkeep.promote(now, 100))
    return taken


async def take(yard: Yard, worker: int, mark: int = 0) -> list[Claim]:
    return list(await yard.store.claim(worker, [Ask(STREAM, 10, mark)]))


async def test_an_expired_lease_spends_an_attempt(yard: Yard) -> None:
    """X4 A8: a job that kills its workers is not brought back for ever."""
    [job] = await yard.put()
    attempts = []
    while await yard.state(job) is not State.FAILED:
        worker = await hire(yard)
        [claim] = await take(yard, worker)
        attempts.append(claim.attempt)
        yard.clock.advance(LEASE + 1.0)
        assert [job] == await sweep(yard)
        yard.clock.advance(3600.0)
        await sweep(yard)

    assert [1, 2, 3, 4, 5] == attempts
    events = [event for _, event, _ in await yard.attempts(job)]
    assert ["lease_lost"] * 5 == events


async def test_a_fence_is_never_handed_out_twice_even_after_release(yard: Yard) -> None:
    """X3: not after a give-back, not after a lost lease, not after a replay."""
    [job] = await yard.put()
    worker = await hire(yard)
    [first] = await take(yard, worker)
    await yard.end(first, Event.GIVE_BACK)
    [second] = await take(yard, worker)
    yard.clock.advance(LEASE + 1.0)
    await sweep(yard)
    yard.clock.advance(3600.0)
    await sweep(yard)
    [third] = await take(yard, await hire(yard))
    await yard.end(third, Event.FAIL, error="400")
    record = await yard.store.run(jobs.get(job))
    assert record is not None
    replay = yard.change(record, Event.REPLAY).transition
    assert await yard.store.run(jobs.revive(record, replay, STREAM, now=yard.clock.now()))
    [fourth] = await take(yard, await hire(yard))

    claims = (first, second, third, fourth)
    assert [1, 2, 3, 4] == [claim.fence for claim in claims]
    for late in claims[:3]:
        applied = await yard.end(late, Event.SUCCEED, result='"late"')
        assert {job} == applied.refused
    await yard.end(fourth, Event.SUCCEED, result='"right"')
    assert '"right"' == (await yard.past(job) or {})["result"]


async def test_a_swept_job_is_visible_again_to_claims(yard: Yard) -> None:
    """A8 X12: to those who only look beyond what they have seen, too."""
    lost, other = await yard.put(2)
    dead = await hire(yard, "dead")
    assert [lost, other] == [claim.id for claim in await take(yard, dead)]
    [young] = await yard.put()
    alive = await hire(yard, "alive")
    await take(yard, alive)
    yard.clock.advance(LEASE - 1.0)
    assert await yard.store.beat(alive, LEASE)
    yard.clock.advance(2.0)

    swept = await sweep(yard)

    assert [lost, other] == swept
    assert State.RUNNING is await yard.state(young)
    assert [] == await take(yard, alive)
    for _ in range(2):
        yard.clock.advance(15.0)
        assert await yard.store.beat(alive, LEASE)
    await sweep(yard)
    assert {STREAM} == {head.stream for head in await yard.store.heads(young + 1)}
    assert {lost, other} == {claim.id for claim in await take(yard, alive, mark=young + 1)}
    listed = await yard.store.read(workers.listing(yard.clock.now()))
    assert ["alive"] == [worker.name for worker in listed]


async def test_a_lease_is_judged_by_the_stores_clock_not_the_workers(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X3: a node whose clock is five minutes ahead neither loses nor takes leases."""
    worker = await hire(yard)
    [job] = await yard.put()
    monkeypatch.setattr(time, "time", lambda: yard.clock.now() + 300.0)

    [claim] = await take(yard, worker)

    assert yard.clock.now() == (await yard.live(job) or {})["claimed_at"]
    yard.clock.advance(LEASE - 1.0)
    assert [] == await sweep(yard)
    assert await yard.store.beat(worker, LEASE)
    yard.clock.advance(LEASE - 1.0)
    assert [] == await sweep(yard)
    monkeypatch.setattr(time, "time", lambda: yard.clock.now() - 300.0)
    yard.clock.advance(1.0)
    assert not await yard.store.beat(worker, LEASE)
    assert [claim.id] == await sweep(yard)


async def test_a_lease_that_ended_cannot_be_renewed(yard: Yard) -> None:
    """X3"""
    worker = await hire(yard)

    yard.clock.advance(LEASE)

    assert not await yard.store.beat(worker, LEASE)
    assert not await yard.store.beat(worker + 1000, LEASE)


async def test_a_beater_renews_from_another_thread(yard: Yard) -> None:
    """X12: where handlers cannot block it."""
    worker = await hire(yard)
    beater = yard.store.beater()

    yard.clock.advance(LEASE - 1.0)
    in_time = await asyncio.to_thread(beater.beat, worker, LEASE)
    rows = await yard.ask("select lease_until, beat_at from dure_worker")
    yard.clock.advance(LEASE)
    too_late = await asyncio.to_thread(beater.beat, worker, LEASE)
    await asyncio.to_thread(beater.close)

    assert (True, False) == (in_time, too_late)
    beat_at = yard.clock.now() - LEASE
    assert [(beat_at + LEASE, beat_at)] == [(r["lease_until"], r["beat_at"]) for r in rows]


async def test_a_worker_with_a_running_job_is_not_buried(yard: Yard) -> None:
    """X12: its row is what leads the sweeper to the job."""
    worker = await hire(yard)
    await yard.put()
    await take(yard, worker)
    yard.clock.advance(LEASE + 1.0)

    assert not await yard.store.run(upkeep.bury(worker, yard.clock.now()))
    assert 1 == len(await yard.store.run(upkeep.orphans(worker, 10)))


async def test_on_postgres_the_databases_clock_decides(
    migrated_url: str, broom: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """X3 X21: whatever the machine of a node believes."""
    broom()
    store = PostgresStore(migrated_url)
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    await store.open()
    now = await store.now()
    worker = await store.run(
        workers.register(
            "node", "host", pid=1, version="1", kinds=["k"], slots=1, lease=LEASE, now=now
        )
    )
    [job] = await store.enqueue([NewJob(STREAM, "{}", delay=-1.0)])

    [claim] = await store.claim(worker, [Ask(STREAM, 1, 0)])
    moved = Transition(job.id, claim.fence, State.RUNNING, Event.SUCCEED, State.SUCCESS, 1)
    await store.apply([Change(moved, STREAM)])
    is_alive = await store.beat(worker, LEASE)

    record = await store.read(jobs.get(job.id))
    await store.close()
    assert is_alive
    assert record is not None
    times = (now, record.enqueued_at, record.claimed_at or 0.0, record.finished_at or 0.0)
    assert sorted(times) == list(times)
    assert times[0] > 1_700_000_000.0
