"""Applying transitions: every legal one from every state, none under a wrong fence or state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dure.core.state import FINAL, LIVE, Event, State
from dure.core.stream import pack
from dure.core.table import TABLE
from dure.ports.rows import Applied, Change

if TYPE_CHECKING:
    from tests.conformance.conftest import Yard

STREAM = pack(1, 1, 2)
CARRIES: dict[Event, dict[str, Any]] = {
    Event.RETRY: {"error": "503", "after": 40.0},
    Event.TIMEOUT: {"error": "20 s"},
    Event.LEASE_LOST: {"error": "worker 1 died"},
    Event.WAIT: {"reason": "quota", "after": 90.0},
    Event.SUSPEND: {"reason": "balance"},
    Event.RESUME: {"after": 5.0},
    Event.SKIP: {"reason": "holiday"},
    Event.FAIL: {"error": "400"},
    Event.STALE: {"reason": "epoch 5"},
    Event.CANCEL: {"reason": "by hand"},
}
LEGAL: list[tuple[State, Event]] = [
    (state, event)
    for state, event in TABLE
    if state is not None
    and state in LIVE
    and event is not Event.CLAIM  # claims have a verb of their own
]


def legal(test: Any) -> Any:
    return pytest.mark.parametrize(
        ("state", "event"), LEGAL, ids=[f"{state.name}-{event}" for state, event in LEGAL]
    )(test)


@legal
async def test_every_legal_transition_is_carried_out_as_decided(
    yard: Yard, state: State, event: Event
) -> None:
    """X1 A5"""
    job = await yard.stand(state)
    change = yard.change(job, event, **CARRIES.get(event, {}))

    applied = await yard.store.apply([change])

    t = change.transition
    ready = t.to is State.PENDING
    assert Applied(streams=[STREAM] if ready else []) == applied
    assert t.to is await yard.state(job.id)
    row = await yard.past(job.id) if t.to in FINAL else await yard.live(job.id)
    assert row is not None
    assert (t.fence, t.attempt) == (row["fence"], row["attempt"])
    first_reason = "first" if state is State.SUSPENDED and t.to in FINAL else None
    first_error = "first" if state is State.RETRY_WAIT else None
    assert (t.reason or first_reason) == row["reason"]
    assert (t.error or first_error) == row["error"]
    if t.to in LIVE:
        assert (t.due, ready) == (row["due"], row["ready"])
        assert (None, None) == (row["worker"], row["claimed_at"])


async def test_a_change_under_another_fence_is_refused(yard: Yard) -> None:
    """X3: whatever the change, and however many come together."""
    jobs = [(await yard.stand(state), event) for state, event in LEGAL]
    before = [await yard.live(job.id) for job, _ in jobs]
    changes = [yard.change(job._replace(fence=job.fence + 1), event) for job, event in jobs]

    applied = await yard.store.apply(changes)

    assert Applied(refused=frozenset(job.id for job, _ in jobs), streams=[]) == applied
    assert before == [await yard.live(job.id) for job, _ in jobs]
    assert await yard.ask("select id from dure_history") == []


@pytest.mark.parametrize("believed", sorted(LIVE))
async def test_a_change_from_another_state_is_refused(yard: Yard, believed: State) -> None:
    """X1"""
    jobs = [await yard.stand(state) for state in sorted(LIVE)]
    changes = [
        yard.change(job._replace(state=believed), Event.CANCEL, reason="by hand") for job in jobs
    ]

    applied = await yard.store.apply(changes)

    assert {job.id for job in jobs if job.state is not believed} == applied.refused
    for job in jobs:
        expected = State.CANCELLED if job.state is believed else job.state
        assert expected is await yard.state(job.id)


async def test_the_same_changes_applied_again_are_neither_refused_nor_applied_twice(
    yard: Yard,
) -> None:
    """X3: the answer to the first time was lost."""
    jobs = [
        (await yard.stand(state, key=f"k{n}", batch=1), event)
        for n, (state, event) in enumerate(LEGAL)
    ]
    changes = [yard.change(job, event, **CARRIES.get(event, {})) for job, event in jobs]
    await yard.store.apply(changes)
    tables = [f"select * from dure_{name} order by 1" for name in ("live", "history", "attempt")]
    before = [await yard.ask(table) for table in tables]
    tally = await yard.tally(1)

    applied = await yard.store.apply(changes)

    assert (frozenset(), frozenset(), {}) == (applied.refused, applied.stale, applied.broken)
    assert before == [await yard.ask(table) for table in tables]
    assert tally == await yard.tally(1)


@pytest.mark.parametrize("again", [Event.SUCCEED, Event.FAIL, Event.SKIP])
async def test_an_ending_other_than_the_one_that_happened_is_refused(
    yard: Yard, again: Event
) -> None:
    """X3: the same fence alone does not make it the same change."""
    claim = await yard.take_one()
    await yard.end(claim, Event.CANCEL, reason="by hand")

    applied = await yard.end(claim, again)

    assert {claim.id} == applied.refused
    assert State.CANCELLED is await yard.state(claim.id)


async def test_a_job_named_twice_in_a_group_changes_once(yard: Yard) -> None:
    """X3"""
    plain, rich = await yard.take_one(), await yard.take_one(batch=1)
    changes = [yard.change(job, Event.SUCCEED) for job in (plain, rich, plain, rich)]
    changes.append(yard.change(plain, Event.CANCEL))

    applied = await yard.store.apply(changes)

    assert not applied.broken
    assert State.SUCCESS is await yard.state(plain.id)
    assert State.SUCCESS is await yard.state(rich.id)
    assert [1, 1, 0, 0, 0, 0] == await yard.tally(1)


async def test_one_refused_job_leaves_the_others_of_its_group_alone(yard: Yard) -> None:
    """X3"""
    await yard.put(20)
    claims = await yard.take()
    changes = [yard.change(claim, Event.SUCCEED, result=f'"{claim.id}"') for claim in claims]
    wrong = claims[7]._replace(fence=9)
    changes[7] = yard.change(wrong, Event.SUCCEED)

    applied = await yard.store.apply(changes)

    assert {wrong.id} == applied.refused
    assert State.RUNNING is await yard.state(wrong.id)
    for claim in claims:
        row = await yard.past(claim.id)
        assert (row is None) is (claim.id == wrong.id)
        assert row is None or row["result"] == f'"{claim.id}"'


async def test_history_keeps_everything_about_a_job(yard: Yard) -> None:
    """X13"""
    fields: dict[str, Any] = {
        "stream": STREAM,
        "body": "[1]",
        "batch": 3,
        "parent": 4,
        "session": "crawl",
        "subject": "restaurant:9",
        "epoch": 5,
        "tokens": 600,
        "key": "kind:1",
    }
    enqueued = yard.clock.now()
    [job] = await yard.put(**fields)
    yard.clock.advance(2.0)
    claimed = yard.clock.now()
    [claim] = await yard.take(worker=11)
    yard.clock.advance(3.0)

    await yard.end(claim, Event.SUCCEED, result='{"n":1}')

    expected = {
        **fields,
        "id": job,
        "state": State.SUCCESS,
        "fence": 1,
        "attempt": 1,
        "worker": 11,
        "enqueued_at": enqueued,
        "claimed_at": claimed,
        "finished_at": yard.clock.now(),
        "reason": None,
        "error": None,
        "result": '{"n":1}',
    }
    assert expected == dict(await yard.past(job) or {})


async def test_a_success_keeps_no_trace_in_the_attempts(yard: Yard) -> None:
    done, skipped = await yard.take_one(), await yard.take_one()

    await yard.end(done, Event.SUCCEED)
    await yard.end(skipped, Event.SKIP, reason="holiday")

    assert [] == await yard.attempts(done.id)
    assert [] == await yard.attempts(skipped.id)


async def test_every_attempt_that_did_not_succeed_is_noted(yard: Yard) -> None:
    """X13"""
    [job] = await yard.put()
    for event in (Event.RETRY, Event.WAIT, Event.LEASE_LOST, Event.FAIL):
        [claim] = await yard.take(worker=5)
        yard.clock.advance(1.0)
        await yard.end(claim, event, **CARRIES[event])
        if event is not Event.FAIL:
            await yard.end(await yard.standing(job), Event.DUE)

    assert await yard.attempts(job) == [
        (1, "retry", "503"),
        (2, "wait", "quota"),
        (3, "lease_lost", "worker 1 died"),
        (4, "fail", "400"),
    ]
    rows = await yard.ask("select * from dure_attempt where fence = 2")
    assert (2, 5) == (rows[0]["attempt"], rows[0]["worker"])
    assert yard.clock.now() - 2.0 == rows[0]["ended_at"]
    assert rows[0]["ended_at"] - 1.0 == rows[0]["started_at"]


async def test_a_refused_change_notes_no_attempt(yard: Yard) -> None:
    claim = await yard.take_one()

    await yard.end(claim._replace(fence=9), Event.RETRY, error="late")

    assert [] == await yard.attempts(claim.id)


async def test_a_change_may_move_a_job_to_another_stream(yard: Yard) -> None:
    """C8: what is retried may run at another priority."""
    claim = await yard.take_one()
    urgent = pack(1, 1, 1)
    change: Change = yard.change(claim, Event.GIVE_BACK)._replace(stream=urgent)

    applied = await yard.store.apply([change])

    assert [urgent] == list(applied.streams)
    assert [claim.id] == [again.id for again in await yard.take(stream=urgent)]


async def test_the_counts_of_a_batch_are_those_of_its_jobs(yard: Yard) -> None:
    """X10"""
    await yard.put(7, batch=5)
    await yard.put(2, batch=6)
    claims = await yard.take()
    events = [
        *(Event.SUCCEED, Event.SUCCEED, Event.SKIP, Event.FAIL),
        *(Event.STALE, Event.CANCEL, Event.RETRY, Event.SUCCEED),
    ]
    changes = [yard.change(job, event) for job, event in zip(claims[:8], events, strict=True)]
    changes.append(yard.change(claims[8]._replace(fence=9), Event.SUCCEED))

    await yard.store.apply(changes)

    assert [7, 2, 1, 1, 1, 1] == await yard.tally(5)
    assert [2, 1, 0, 0, 0, 0] == await yard.tally(6)


async def test_applying_nothing_does_nothing(yard: Yard) -> None:
    applied = await yard.store.apply([])

    assert (frozenset(), frozenset(), {}) == (applied.refused, applied.stale, applied.broken)
