"""Promoting, taking back and removing: what the leader does again and again."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import pytest

from dure.core.state import Event, State
from dure.core.table import sources_of, targets_of
from dure.ports.rows import Ask, NewJob
from dure.scripts import jobs, pauses, upkeep
from dure.stores import statement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.scripts.conftest import Nodes, SetClock, Stage

DAY = 86_400.0


async def promoted(stage: Stage, limit: int = 100) -> list[tuple[int, int]]:
    return await stage.store.run(upkeep.promote(stage.clock.now(), limit))


async def pruned(stage: Stage, age: float, limit: int = 100) -> int:
    now = stage.clock.now()
    return await stage.store.run(upkeep.prune(now - age, limit, now=now))


async def exist(stage: Stage, made: Iterable[int]) -> list[int]:
    return [job for job in made if await stage.store.read(jobs.get(job)) is not None]


async def test_jobs_become_ready_in_the_order_in_which_they_fall_due(stage: Stage) -> None:
    """X2, X4"""
    now = stage.clock.now()
    stream = await stage.stream()
    later, sooner, much_later = [
        await stage.put(stream, due=now + seconds) for seconds in (20.0, 10.0, 90.0)
    ]
    ready = await stage.put(stream)
    stage.clock.advance(20.0)

    assert [(stream, 2)] == await promoted(stage)

    claims = await stage.store.claim(1, [Ask(stream, 9, 0)])
    assert [ready, sooner, later] == [claim.id for claim in claims]
    assert State.RETRY_WAIT is await stage.state(much_later)
    assert [] == await promoted(stage)


async def test_a_promoted_job_is_no_longer_due_and_no_longer_says_why_it_waited(
    stage: Stage,
) -> None:
    """X4"""
    job = await stage.put()
    await stage.claim(job)
    await stage.end(job, Event.WAIT, reason="robots", after=5.0)
    stage.clock.advance(5.0)

    await promoted(stage)

    record = await stage.record(job)
    assert (State.PENDING, None, None, 0) == (
        *(record.state, record.due, record.reason, record.attempt),
    )


async def test_no_more_jobs_are_promoted_than_the_limit_and_the_longest_due_first(
    stage: Stage,
) -> None:
    now = stage.clock.now()
    made = [await stage.put(due=now + seconds) for seconds in (3.0, 1.0, 2.0)]
    stage.clock.advance(3.0)
    stream = await stage.stream()

    assert [(stream, 2)] == await promoted(stage, limit=2)
    assert [State.RETRY_WAIT, State.PENDING, State.PENDING] == [
        await stage.state(job) for job in made
    ]
    assert [(stream, 1)] == await promoted(stage, limit=2)


async def test_promoted_jobs_are_counted_by_stream(stage: Stage) -> None:
    due = stage.clock.now() + 1.0
    one, other = await stage.stream(lane="one"), await stage.stream(lane="other")
    for stream in (one, other, one):
        await stage.put(stream, due=due)
    stage.clock.advance(1.0)

    assert [(one, 2), (other, 1)] == await promoted(stage)


async def test_a_due_job_of_a_paused_session_is_suspended_and_not_started(stage: Stage) -> None:
    """X2"""
    held, free = [await stage.put(due=stage.clock.now() + 1.0, session=name) for name in ("a", "b")]
    pause = pauses.pause("session", "a", by="ann", reason="", now=stage.clock.now())
    await stage.store.run(pause)
    stage.clock.advance(1.0)

    assert [(await stage.stream(), 1)] == await promoted(stage)

    record = await stage.record(held)
    assert (State.SUSPENDED, pauses.REASON, None) == (record.state, record.reason, record.due)
    assert State.PENDING is await stage.state(free)


async def test_two_nodes_that_promote_at_once_promote_each_job_once(
    nodes: Nodes, clock: SetClock
) -> None:
    first, second = await nodes(2)
    await first.enqueue([NewJob(8, "{}", due=clock.now() + 1.0)] * 50)
    clock.advance(1.0)

    rounds = await asyncio.gather(
        *(store.run(upkeep.promote(clock.now(), 20)) for store in (first, second) * 4)
    )
    rounds.append(await first.run(upkeep.promote(clock.now(), 100)))

    assert 50 == sum(count for found in rounds for _, count in found)
    claims = await first.claim(1, [Ask(8, 100, 0)])
    assert 50 == len({claim.pos for claim in claims})


async def test_many_jobs_are_promoted_at_once(stage: Stage) -> None:
    stream = await stage.stream()
    await stage.store.enqueue([NewJob(stream, "{}", due=stage.clock.now() + 1.0)] * 1000)
    stage.clock.advance(1.0)

    assert [(stream, 1000)] == await promoted(stage, limit=1000)
    claims = await stage.store.claim(1, [Ask(stream, 1000, 0)])
    assert [claim.id for claim in claims] == sorted(claim.id for claim in claims)


@pytest.mark.parametrize("folder", ["sqlite", "postgres"])
@pytest.mark.parametrize(("name", "event"), [("promote", Event.DUE), ("claim", Event.CLAIM)])
def test_statements_that_change_states_by_themselves_say_what_the_table_says(
    folder: str, name: str, event: Event
) -> None:
    """X1"""
    text = re.sub(r"--[^\n]*", "", statement.shared(folder, name))
    start, _, condition = text.partition("where")

    assert {int(state) for state in targets_of(event)} == states_in(start)
    assert {int(state) for state in sources_of(event)} == states_in(condition)


def test_what_is_due_is_looked_for_in_the_states_that_can_fall_due() -> None:
    """X1"""
    text = statement.shared("sqlite", "due_jobs")

    assert {int(state) for state in sources_of(Event.DUE)} == states_in(text)


def test_suspending_what_is_due_is_a_row_of_the_table() -> None:
    """X1"""
    start, _, condition = statement.shared("sqlite", "due_hold").partition("where")

    assert {int(state) for state in targets_of(Event.SUSPEND)} == states_in(start)
    assert states_in(condition) <= {int(state) for state in sources_of(Event.SUSPEND)}


def states_in(text: str) -> set[int]:
    return {int(number) for number in re.findall(r"\bstate = (\d)", text)}


async def test_a_worker_is_dead_when_its_lease_has_ended(stage: Stage) -> None:
    brief, _ = await stage.worker("fetch", lease=10.0), await stage.worker("fetch", lease=11.0)
    stage.clock.advance(9.0)
    assert [] == await stage.store.read(upkeep.dead_workers(stage.clock.now()))

    stage.clock.advance(1.0)

    dead = await stage.store.read(upkeep.dead_workers(stage.clock.now()))
    assert [(brief, ("fetch",))] == [(worker.id, worker.kinds) for worker in dead]


async def test_the_jobs_of_a_dead_worker_are_found_with_what_deciding_needs(
    stage: Stage,
) -> None:
    job = await stage.put(batch=4, key="k", subject="page", epoch=2)
    claim = await stage.claim(job, worker=7)
    ended, elsewhere, _ = await stage.put(), await stage.put(), await stage.put()
    await stage.claim(elsewhere, worker=7)
    await stage.end(ended, Event.SUCCEED)
    await stage.ask(f"update dure_live set worker = 8 where id = {elsewhere}")

    (found,) = [each for each in await orphans_of(stage, 7) if each.id == job]

    record = await stage.record(job)
    assert (State.RUNNING, claim.fence, 1) == (found.state, found.fence, found.attempt)
    assert (record.stream, record.kind_id, 7) == (found.stream, found.kind_id, found.worker)
    assert (4, "k", "page", 2) == (found.batch, found.key, found.subject, found.epoch)
    assert {ended, elsewhere}.isdisjoint(each.id for each in await orphans_of(stage, 7))


async def orphans_of(stage: Stage, worker: int, limit: int = 100) -> list[upkeep.Orphan]:
    return await stage.store.read(upkeep.orphans(worker, limit))


async def test_orphans_come_in_bounded_groups(stage: Stage) -> None:
    last = [await stage.put() for _ in range(3)][-1]
    await stage.claim(last, worker=7)

    assert 2 == len(await orphans_of(stage, 7, limit=2))
    assert 3 == len(await orphans_of(stage, 7))


async def test_a_worker_is_buried_only_when_dead_and_nothing_runs_under_it(stage: Stage) -> None:
    worker = await stage.worker("fetch", lease=10.0)
    job = await stage.put()
    await stage.claim(job, worker=worker)

    async def buried() -> bool:
        return await stage.store.run(upkeep.bury(worker, stage.clock.now()))

    stage.clock.advance(10.0)
    assert not await buried()
    await stage.end(job, Event.SUCCEED)
    stage.clock.advance(-1.0)
    assert not await buried()
    stage.clock.advance(1.0)
    assert await buried()
    assert not await buried()
    assert [] == await stage.store.read(upkeep.dead_workers(stage.clock.now()))


async def test_a_job_claimed_by_a_worker_without_a_row_is_found_too(stage: Stage) -> None:
    worker = await stage.worker("fetch")
    stray = await stage.put()
    await stage.claim(stray, worker=worker + 100)
    await stage.claim(await stage.put(), worker=worker)
    await stage.put()

    found = await stage.store.read(upkeep.unowned(10))

    assert [(stray, worker + 100)] == [(orphan.id, orphan.worker) for orphan in found]


async def test_what_finished_long_ago_is_removed_and_nothing_else(stage: Stage) -> None:
    waiting = await stage.put()
    old = [(await stage.ended(event)).id for event in (Event.SUCCEED, Event.FAIL)]
    late = await stage.put()
    stage.clock.advance(10.0)
    await stage.claim(late)
    await stage.end(late, Event.SUCCEED)
    young = (await stage.ended()).id
    stage.clock.advance(1.0)

    # Two jobs, and one attempt that failed.
    assert 3 == await pruned(stage, age=5.0)

    assert [waiting, late, young] == await exist(stage, [waiting, *old, late, young])
    assert [] == await stage.store.read(jobs.attempts(old[1]))
    assert 1 == len(await stage.store.read(jobs.attempts(young)))
    assert 0 == await pruned(stage, age=5.0)


async def test_removing_goes_on_where_it_stopped_until_nothing_old_is_left(stage: Stage) -> None:
    made = [await stage.put() for _ in range(40)]
    for job in made[:20:2]:
        await stage.end(job, Event.CANCEL)
    stage.clock.advance(100.0)
    for job in (*made[1:20:2], *made[20:]):
        await stage.end(job, Event.CANCEL)
    stage.clock.advance(100.0)
    youngest = [(await stage.ended(Event.CANCEL)).id for _ in range(5)]

    counts = [await pruned(stage, age=150.0, limit=3) for _ in range(8)]
    assert made[1:20:2] + made[20:] == await exist(stage, made)
    assert (3, 10) == (max(counts), sum(counts))

    counts = [await pruned(stage, age=50.0, limit=3) for _ in range(16)]
    assert youngest == await exist(stage, [*made, *youngest])
    assert (3, 30) == (max(counts), sum(counts))


async def test_a_window_of_late_finishers_does_not_stop_the_removal(stage: Stage) -> None:
    late = [await stage.put() for _ in range(30)]
    early = [await stage.put() for _ in range(3)]
    for job in early:
        await stage.end(job, Event.CANCEL)
    stage.clock.advance(100.0)
    for job in late:
        await stage.end(job, Event.CANCEL)
    stage.clock.advance(1.0)

    for _ in range(3):
        await pruned(stage, age=50.0, limit=2)

    assert late == await exist(stage, [*late, *early])


async def test_a_replayed_job_is_not_removed_for_the_age_of_its_first_end(stage: Stage) -> None:
    """X13"""
    dead = await stage.ended()
    stage.clock.advance(100.0)
    assert await stage.replay(dead.id)
    await pruned(stage, age=50.0)
    await stage.claim(dead.id)
    await stage.end(dead.id, Event.SUCCEED)

    await pruned(stage, age=50.0)

    assert [dead.id] == await exist(stage, [dead.id])


async def test_unique_keys_are_forgotten_when_their_period_is_over(stage: Stage) -> None:
    """X2"""
    now = stage.clock.now()
    await stage.put(key="held")
    for name, until in (("a", 10.0), ("b", 10.0), ("c", 11.0)):
        await stage.put(key=name, key_until=now + until)
    stage.clock.advance(10.0)

    assert 1 == await pruned(stage, age=DAY, limit=1)
    assert 1 == await pruned(stage, age=DAY)

    keys = await stage.ask("select key from dure_key order by key")
    assert ["c", "held"] == [row["key"] for row in keys]


async def test_an_idle_round_writes_nothing_down(stage: Stage) -> None:
    await stage.ended()

    assert 0 == await pruned(stage, age=DAY)

    assert [] == await stage.ask("select * from dure_cell")


async def test_positions_only_rise(stage: Stage) -> None:
    before = await stage.store.read(upkeep.fresh_positions())
    made = [await stage.put() for _ in range(3)]

    assert 0 == before
    assert made[-1] == await stage.store.read(upkeep.fresh_positions())

    positions = await stage.store.run(jobs.take_positions(4))
    assert sorted(set(positions)) == positions
    assert positions[0] > made[-1]
    assert positions[-1] == await stage.store.read(upkeep.fresh_positions())


async def test_only_postgres_has_a_horizon(stage: Stage) -> None:
    found = await stage.store.read(upkeep.stuck_horizon())

    if stage.store.dialect == "sqlite":
        assert None is found
    else:
        assert found is not None
        assert (None, None) == (found.seconds, found.pid)
        assert found.dead_rows >= 0
