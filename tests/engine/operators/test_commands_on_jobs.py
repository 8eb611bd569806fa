"""What operators do to single jobs and to many: retry, cancel, suspend, resume, edit."""

from typing import Any

import pytest

from dure.core.backoff import NEVER
from dure.core.decide import SUCCEEDED, Transition, decide
from dure.core.filter import JobFilter
from dure.core.state import Event, State
from dure.engine.desk import bulk
from dure.engine.desk.bulk import Count, Note, Result
from dure.engine.desk.commands import Commands
from dure.ports.rows import Change
from dure.ports.store import Hint

EVERYTHING = JobFilter()


async def test_retry_runs_a_waiting_job_now_and_keeps_its_attempts(yard: Any) -> None:
    """X13 X16"""
    job = await yard.put()
    await yard.claim(job)
    await yard.apply(job, Event.WAIT, after=600.0)
    before = await yard.insights.job(job)

    result = await yard.commands.retry([job], by="kim", reason="upstream is back")

    after = await yard.insights.job(job)
    assert Result(applied=1) == result
    assert (State.PENDING, None, before.attempt) == (after.state, after.due, after.attempt)
    assert [Hint("streams", [after.stream])] == yard.hints


@pytest.mark.parametrize("state", [State.FAILED, State.STALE, State.CANCELLED])
async def test_retry_replays_what_ended_without_success(yard: Any, state: State) -> None:
    """X13"""
    job = await yard.make(state)

    result = await yard.commands.retry([job], by="kim")

    after = await yard.insights.job(job)
    assert Result(applied=1) == result
    assert (State.PENDING, 0) == (after.state, after.attempt)
    assert [Hint("streams", [after.stream])] == yard.hints


async def test_retry_says_why_it_leaves_the_others_alone(yard: Any) -> None:
    """X13"""
    ids = await yard.one_of_each()

    result = await yard.commands.retry([*ids.values(), 10**6], by="kim")

    assert (4, 4, 0, (10**6,)) == (
        result.applied,
        result.skipped,
        result.refused,
        result.missing,
    )
    assert [
        (ids[State.PENDING], "it is PENDING already"),
        (ids[State.RUNNING], "it is RUNNING already"),
        (ids[State.SUSPENDED], "it is SUSPENDED; resume it instead"),
    ] == [(note.job, note.sentence) for note in result.notes if note.job != ids[State.SUCCESS]]
    assert "a successful one is enqueued anew" in dict(result.notes)[ids[State.SUCCESS]]


async def test_a_spread_retry_starts_jobs_one_after_another(yard: Any) -> None:
    """X13"""
    ids = [await yard.make(State.FAILED) for _ in range(4)]

    await yard.commands.retry(ids, by="kim", spread="40s")

    now = yard.clock.now()
    assert [None, now + 10, now + 20, now + 30] == [await yard.due(job) for job in ids]
    assert [State.PENDING, *[State.RETRY_WAIT] * 3] == await yard.states(ids)


async def test_a_spread_over_a_filter_is_even_over_all_chunks(
    yard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X13"""
    monkeypatch.setattr(bulk, "CHUNK", 2)
    ids = [await yard.make(State.FAILED) for _ in range(5)]

    await yard.commands.retry(JobFilter.parse("state:failed"), by="kim", spread=50.0)

    now = yard.clock.now()
    assert [None, *(now + 10.0 * n for n in range(1, 5))] == [await yard.due(job) for job in ids]


async def test_a_replay_that_lost_its_unique_key_is_refused(yard: Any) -> None:
    """X13 X2"""
    failed = await yard.make(State.FAILED, key="k")
    await yard.put(key="k")

    result = await yard.commands.retry([failed], by="kim")

    assert (
        Result(refused=1, notes=(Note(failed, "another job holds its unique key in the meantime"),))
        == result
    )
    assert State.FAILED is await yard.state(failed)


async def test_a_cancelled_running_job_is_over_at_once_and_its_worker_cannot_write(
    yard: Any,
) -> None:
    """X16 X3"""
    job = await yard.put()
    claim = await yard.claim(job)
    move = await _succeeding(yard, job)

    result = await yard.commands.cancel([job], by="kim", reason="wrong address")

    after = await yard.insights.job(job)
    assert Result(applied=1) == result
    assert (State.CANCELLED, "wrong address") == (after.state, after.reason)
    assert "jobs" in yard.topics()
    assert claim.fence == move.transition.fence
    assert frozenset({job}) == (await yard.store.apply([move])).refused
    assert State.CANCELLED is await yard.state(job)


async def _succeeding(yard: Any, job: int) -> Any:
    """What the worker is about to commit."""
    record = await yard.insights.job(job)
    move = decide(record, SUCCEEDED, NEVER, yard.clock.now(), 0.5)
    assert isinstance(move, Transition)
    return Change(move, record.stream)


async def test_cancel_ends_every_unfinished_job_and_no_other(yard: Any) -> None:
    """X16"""
    ids = await yard.one_of_each()

    result = await yard.commands.cancel(EVERYTHING, by="kim")

    assert Result(applied=4) == result
    assert [
        *[State.CANCELLED] * 4,
        State.SUCCESS,
        State.FAILED,
        State.STALE,
        State.CANCELLED,
    ] == await yard.states(list(ids.values()))
    assert "cancelled by kim" == (await yard.insights.job(ids[State.PENDING])).reason


async def test_a_bulk_command_is_frozen_at_its_start(
    yard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X16: jobs that arrive while it runs are not meant."""
    monkeypatch.setattr(bulk, "CHUNK", 2)
    old = [await yard.put() for _ in range(5)]
    late: list[int] = []
    seen: list[int] = []
    fetch = yard.store.apply

    async def apply_and_enqueue(changes: Any) -> Any:
        late.append(await yard.put())
        return await fetch(changes)

    monkeypatch.setattr(yard.store, "apply", apply_and_enqueue)

    result = await yard.commands.cancel(
        EVERYTHING, by="kim", watch=lambda done: seen.append(done.applied)
    )

    assert Result(applied=5) == result
    assert [2, 4, 5] == seen
    assert [State.CANCELLED] * 5 == await yard.states(old)
    assert [State.PENDING] * 3 == await yard.states(late)


async def test_ids_are_walked_in_chunks_too(yard: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "CHUNK", 2)
    ids = [await yard.put() for _ in range(5)]

    result = await yard.commands.cancel([*ids, *ids, 10**6], by="kim")

    assert Result(applied=5, missing=(10**6,)) == result


async def test_a_job_that_changes_in_the_meantime_is_refused(yard: Any, meddled: Commands) -> None:
    """X16"""
    job = await yard.put()

    result = await meddled.cancel([job], by="kim")

    assert Result(refused=1, notes=(Note(job, "it changed in the meantime"),)) == result
    assert State.RUNNING is await yard.state(job)


async def test_every_chunk_is_audited_with_actor_reason_and_target(
    yard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X17"""
    monkeypatch.setattr(bulk, "CHUNK", 2)
    for _ in range(3):
        await yard.put()

    await yard.commands.cancel(JobFilter.parse("kind:fetch"), by="kim", reason="over")

    assert [
        ("kim", "jobs.cancel", "jobs kind:fetch", "over", 1),
        ("kim", "jobs.cancel", "jobs kind:fetch", "over", 2),
    ] == [
        (entry.actor, entry.command, entry.target, entry.reason, entry.count)
        for entry in await yard.insights.audit()
    ]


async def test_the_audit_is_written_before_anything_is_done(
    yard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X17: what was done without leaving an entry could never be explained."""
    job = await yard.put()

    async def crash(_: object) -> Any:
        raise ConnectionError

    monkeypatch.setattr(yard.store, "apply", crash)
    with pytest.raises(ConnectionError):
        await yard.commands.cancel([job], by="kim")

    assert State.PENDING is await yard.state(job)
    assert ("jobs.cancel", f"job {job}") == ((await yard.audited()).command, f"job {job}")


async def test_suspended_jobs_keep_the_reason_by_which_they_are_resumed(yard: Any) -> None:
    """X5"""
    ids = await yard.one_of_each()

    suspended = await yard.commands.suspend(EVERYTHING, "QUOTA2", by="kim")
    resumed = await yard.commands.resume_jobs(JobFilter.parse("reason:QUOTA2"), by="kim")

    assert (3, 3) == (suspended.applied, resumed.applied)
    assert State.SUSPENDED is await yard.state(ids[State.SUSPENDED])
    for state in (State.PENDING, State.RUNNING, State.RETRY_WAIT):
        assert State.PENDING is await yard.state(ids[state])
    assert "jobs" in yard.topics()


async def test_a_suspension_is_audited_with_its_reason(yard: Any) -> None:
    job = await yard.put()

    await yard.commands.suspend([job], "LEGAL", by="kim")

    assert ("jobs.suspend", "LEGAL") == (
        (await yard.audited()).command,
        (await yard.audited()).reason,
    )


async def test_resume_by_kind_and_lane_leaves_others_suspended(yard: Any) -> None:
    """X5"""
    wanted = await yard.make(State.SUSPENDED, "fetch", lane="acme")
    other_kind = await yard.make(State.SUSPENDED, "parse", lane="acme")
    other_lane = await yard.make(State.SUSPENDED, "fetch", lane="corp")

    await yard.commands.resume_jobs(JobFilter.parse("kind:fetch lane:acme"), by="kim")

    assert [State.PENDING, State.SUSPENDED, State.SUSPENDED] == await yard.states(
        [wanted, other_kind, other_lane]
    )


async def test_nothing_wakes_the_jobs_of_a_paused_session(yard: Any) -> None:
    """X16"""
    waiting = await yard.make(State.RETRY_WAIT, session="nightly")
    held = await yard.make(State.SUSPENDED, session="nightly")
    failed = await yard.make(State.FAILED, "parse", session="nightly")
    await yard.commands.pause("session", "nightly", by="kim")

    resumed = await yard.commands.resume_jobs([held], by="kim")
    retried = await yard.commands.retry([waiting, failed], by="kim")

    sentence = "its session 'nightly' is paused: resume the session"
    assert Result(skipped=1, notes=(Note(held, sentence),)) == resumed
    assert Result(applied=1, skipped=1, notes=(Note(waiting, sentence),)) == retried
    assert [State.RETRY_WAIT, State.SUSPENDED, State.SUSPENDED] == await yard.states(
        [waiting, held, failed]
    )


async def test_a_preview_counts_by_state_and_changes_nothing(yard: Any) -> None:
    """X13"""
    ids = await yard.one_of_each()

    plan = await yard.commands.preview(bulk.RETRY, EVERYTHING)

    assert dict.fromkeys(State, Count(1, is_capped=False)) == plan.counts
    assert (Count(4, is_capped=False), Count(4, is_capped=False)) == (plan.affected, plan.skipped)
    assert list(ids) == await yard.states(list(ids.values()))
