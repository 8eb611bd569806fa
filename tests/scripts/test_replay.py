"""Replaying: a finished job goes back among the unfinished ones, whole, once, under its fence."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dure.core.decide import Transition
from dure.core.filter import JobFilter
from dure.core.state import Event, State
from dure.ports.rows import Change, NewJob
from dure.scripts import jobs, pauses

if TYPE_CHECKING:
    from tests.scripts.conftest import Nodes, Stage

    from dure.ports.store import Store

ALL = JobFilter()


async def test_a_dead_letter_runs_again_under_a_higher_fence(stage: Stage) -> None:
    """X13"""
    dead = await stage.ended(body='{"page": 1}', session="s", subject="p", epoch=2, tokens=3)
    behind = await stage.put()
    stage.clock.advance(60.0)

    assert await stage.replay(dead.id)

    alive = await stage.record(dead.id)
    assert (State.PENDING, 0, dead.fence) == (alive.state, alive.attempt, alive.fence)
    assert (None, None, None) == (alive.worker, alive.claimed_at, alive.finished_at)
    assert (dead.body, dead.enqueued_at, "s", "p", 2, 3) == (
        *(alive.body, alive.enqueued_at, alive.session, alive.subject, alive.epoch, alive.tokens),
    )
    assert "boom" == alive.error
    assert (alive.pos or 0) > behind
    assert dead.fence + 1 == (await stage.claim(dead.id)).fence


async def test_a_dead_letter_can_be_given_other_arguments_on_replay(stage: Stage) -> None:
    """X13"""
    dead = await stage.ended(body='{"page": 1}')

    assert await stage.replay(dead.id, body='{"page": 2}')

    assert '{"page": 2}' == (await stage.claim(dead.id)).body


async def test_a_replay_for_later_waits_for_its_time(stage: Stage) -> None:
    """X13"""
    dead = await stage.ended(Event.STALE)

    assert await stage.replay(dead.id, after=30.0)

    alive = await stage.record(dead.id)
    assert (State.RETRY_WAIT, stage.clock.now() + 30.0) == (alive.state, alive.due)
    assert [] == await stage.store.heads(0)


async def test_a_replay_decided_twice_happens_once(stage: Stage) -> None:
    """X13"""
    dead = await stage.ended()
    transition = await stage.decided(dead.id, Event.REPLAY)

    answers = [
        await stage.store.run(jobs.revive(dead, transition, dead.stream, now=0.0)) for _ in range(2)
    ]

    assert [True, False] == answers
    assert (1, False) == await stage.store.read(jobs.count(ALL, 0.0))


async def test_a_replay_decided_before_the_last_end_is_refused(stage: Stage) -> None:
    """X13"""
    dead = await stage.ended()
    old = await stage.decided(dead.id, Event.REPLAY)
    await stage.replay(dead.id)
    await stage.claim(dead.id)
    again = await stage.end(dead.id, Event.FAIL, error="again")

    assert not await stage.store.run(jobs.revive(again, old, dead.stream, now=0.0))

    assert again == await stage.record(dead.id)


async def test_a_job_of_a_paused_session_is_held_back_on_replay_too(stage: Stage) -> None:
    """X2, X13"""
    dead = await stage.ended(session="nightly")
    pause = pauses.pause("session", "nightly", by="ann", reason="", now=stage.clock.now())
    await stage.store.run(pause)

    assert await stage.replay(dead.id, after=30.0)

    alive = await stage.record(dead.id)
    assert (State.SUSPENDED, pauses.REASON, None) == (alive.state, alive.reason, alive.due)


async def test_two_nodes_that_replay_one_job_at_once_make_one_of_it(nodes: Nodes) -> None:
    """X13"""
    first, second = await nodes(2)
    job = (await first.enqueue([NewJob(1, "{}")]))[0].id
    await _cancelled(first, job)
    dead = await first.read(jobs.get(job))
    assert dead is not None
    transition = _replay(dead)

    answers = await asyncio.gather(
        *(
            store.run(jobs.revive(dead, transition, dead.stream, now=0.0))
            for store in (first, second, first, second)
        )
    )

    assert 1 == answers.count(True)
    assert (1, False) == await second.read(jobs.count(ALL, 0.0))


async def _cancelled(store: Store, job: int) -> None:
    move = Transition(job, 0, State.PENDING, Event.CANCEL, State.CANCELLED, 0)
    await store.apply([Change(move, 1)])


def _replay(dead: jobs.Record) -> Transition:
    return Transition(dead.id, dead.fence, dead.state, Event.REPLAY, State.PENDING, 0)


async def test_a_replayed_job_holds_its_unique_key_again(stage: Stage) -> None:
    """X2, X13"""
    dead = await stage.ended(key="page 7")
    assert await stage.replay(dead.id)

    (refused,) = await stage.store.enqueue([NewJob(dead.stream, "{}", key="page 7")])

    assert (dead.id, False) == refused
    await stage.claim(dead.id)
    await stage.end(dead.id, Event.SUCCEED)
    (accepted,) = await stage.store.enqueue([NewJob(dead.stream, "{}", key="page 7")])
    assert accepted.is_new


async def test_a_job_whose_key_another_one_holds_is_not_replayed(stage: Stage) -> None:
    """X2, X13"""
    dead = await stage.ended(key="page 7")
    other = await stage.put(key="page 7")

    assert not await stage.replay(dead.id)

    assert dead == await stage.record(dead.id)
    held = await stage.ask("select job from dure_key where key = 'page 7'")
    assert [other] == [row["job"] for row in held]


async def test_the_period_of_a_key_goes_on_over_a_replay(stage: Stage) -> None:
    """X2, X13"""
    until = stage.clock.now() + 3600.0
    dead = await stage.ended(key="hourly", key_until=until)

    assert await stage.replay(dead.id)

    held = await stage.ask("select job, until from dure_key where key = 'hourly'")
    assert [(dead.id, until)] == [(row["job"], row["until"]) for row in held]


async def test_a_key_whose_period_is_over_is_free_for_a_replay(stage: Stage) -> None:
    """X2, X13"""
    dead = await stage.ended(key="page 7")
    await stage.ended(key="page 7", key_until=stage.clock.now() + 60.0)
    assert not await stage.replay(dead.id)

    stage.clock.advance(60.0)

    assert await stage.replay(dead.id)
    held = await stage.ask("select job, until from dure_key where key = 'page 7'")
    assert [(dead.id, None)] == [(row["job"], row["until"]) for row in held]


@pytest.mark.parametrize(
    ("event", "column"),
    [(Event.FAIL, "failed"), (Event.STALE, "stale"), (Event.CANCEL, "cancelled")],
)
async def test_a_replay_takes_the_job_back_from_the_counts_of_its_batch(
    stage: Stage, event: Event, column: str
) -> None:
    """X13"""
    dead = await stage.ended(event, batch=42)
    total = f"select cast(sum({column}) as bigint) as ended, cast(sum(added) as bigint) as added"
    before = (await stage.ask(f"{total} from dure_tally where batch = 42"))[0]

    assert await stage.replay(dead.id)

    after = (await stage.ask(f"{total} from dure_tally where batch = 42"))[0]
    assert (1, 1) == (before["ended"], before["added"])
    assert (0, 1) == (after["ended"], after["added"])
