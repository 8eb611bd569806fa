"""Looking jobs up, walking over many, editing, and what the store knows of a wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dure.core.filter import JobFilter
from dure.core.state import Event, Priority, State
from dure.core.stream import kind_of, lane_of
from dure.scripts import jobs, lanes, pauses

if TYPE_CHECKING:
    from tests.scripts.conftest import SetClock, Stage


ALL = JobFilter()


async def test_a_job_is_found_with_its_names_whether_it_is_finished_or_not(stage: Stage) -> None:
    """X2"""
    stream = await stage.stream("fetch", "acme", Priority.HIGH)
    parent = await stage.put(stream, body='{"page": 7}', session="nightly")
    job = await stage.put(stream, parent=parent, subject="page", epoch=3, tokens=5, key="k")

    live = await stage.record(job)
    await stage.claim(job)
    done = await stage.end(job, Event.SUCCEED, result='{"ok": true}')

    assert ("fetch", "acme", Priority.HIGH) == (live.kind, live.lane, live.priority)
    assert (kind_of(stream), lane_of(stream)) == (live.kind_id, live.lane_id)
    assert (State.PENDING, 0, None) == (live.state, live.attempt, live.finished_at)
    assert (State.SUCCESS, 1, stage.clock.now()) == (done.state, done.attempt, done.finished_at)
    assert ('{"ok": true}', None) == (done.result, done.pos)
    for record in (live, done):
        assert (parent, "page", 3, 5, "k") == (
            *(record.parent, record.subject, record.epoch, record.tokens, record.key),
        )
    assert {"page": 7} == (await stage.record(parent)).args
    assert "nightly" == (await stage.record(parent)).session


async def test_a_job_that_does_not_exist_is_not_found(stage: Stage) -> None:
    assert None is await stage.store.read(jobs.get(17))
    assert None is await stage.store.read(jobs.waiting_facts(17, now=0.0))


async def test_every_failed_attempt_can_be_read_afterwards(stage: Stage) -> None:
    """X13"""
    job = (await stage.ended()).id
    stage.clock.advance(5.0)
    await stage.replay(job)
    await stage.claim(job, worker=2)
    await stage.end(job, Event.FAIL, error="again")

    found = await stage.store.read(jobs.attempts(job))

    assert [(1, 1, "boom"), (2, 2, "again")] == [(a.fence, a.worker, a.error) for a in found]
    assert {Event.FAIL} == {attempt.event for attempt in found}
    assert found[1:] == await stage.store.read(jobs.attempts(job, limit=1))


async def test_the_children_of_a_job_are_found_by_id(stage: Stage) -> None:
    """X2"""
    parent = await stage.put()
    other = await stage.put()
    first, _, third = [await stage.put(parent=each) for each in (parent, other, parent)]
    await stage.claim(first)
    await stage.end(first, Event.SUCCEED)

    found = await stage.store.read(jobs.children(parent, 10))

    assert [first, third] == [record.id for record in found]
    assert found[:1] == await stage.store.read(jobs.children(parent, 1))


async def test_pages_join_without_a_gap_or_a_repeat(stage: Stage) -> None:
    """X13"""
    made = [await stage.put() for _ in range(9)]
    for job in made[::2]:
        await stage.end(job, Event.CANCEL)

    for newest_first in (True, False):
        seen: list[int] = []
        while page := await stage.store.read(
            jobs.find(
                ALL,
                now=0.0,
                limit=4,
                after=seen[-1] if seen else None,
                newest_first=newest_first,
            )
        ):
            assert len(page) <= 4
            seen += [record.id for record in page]
        assert sorted(made, reverse=newest_first) == seen


async def test_a_page_can_end_at_the_newest_job_of_its_beginning(stage: Stage) -> None:
    made = [await stage.put() for _ in range(4)]

    upwards = jobs.find(ALL, now=0.0, limit=9, newest_first=False, upto=made[2], after=made[0])
    downwards = jobs.find(ALL, now=0.0, limit=9, upto=made[2])

    assert made[1:3] == [record.id for record in await stage.store.read(upwards)]
    assert made[2::-1] == [record.id for record in await stage.store.read(downwards)]


async def test_a_bulk_walk_ends_though_new_jobs_keep_arriving(stage: Stage) -> None:
    """X13"""
    made = [(await stage.ended()).id for _ in range(5)]
    wanted = JobFilter.parse("state:failed")
    seen: list[int] = []

    while step := await stage.store.read(
        jobs.ids(wanted, now=0.0, upto_id=made[-1], after=seen[-1] if seen else 0, limit=2)
    ):
        assert len(step) <= 2
        seen += step
        await stage.ended()

    assert made == seen


async def test_counting_stops_at_its_cap(stage: Stage) -> None:
    """X13"""
    for _ in range(2):
        await stage.put()
        await stage.ended()

    for cap, expected in ((5, (4, False)), (4, (4, False)), (3, (3, True))):
        assert expected == await stage.store.read(jobs.count(ALL, 0.0, cap))
    failed = JobFilter.parse("state:failed")
    assert (2, False) == await stage.store.read(jobs.count(failed, 0.0))


async def test_unfinished_jobs_are_counted_by_state_and_bad_ends_since_a_moment(
    stage: Stage,
) -> None:
    await stage.ended()
    stage.clock.advance(100.0)
    await stage.ended(Event.STALE)
    await stage.ended(Event.SUCCEED)
    await stage.end(await stage.put(), Event.SUSPEND, reason="QUOTA")
    await stage.put(due=stage.clock.now() + 9.0)

    live = {State.PENDING: 0, State.RUNNING: 0, State.RETRY_WAIT: 1, State.SUSPENDED: 1}
    lately = {State.FAILED: 0, State.STALE: 1, State.CANCELLED: 0}

    assert live == await stage.store.read(jobs.state_counts())
    assert live | lately == await stage.store.read(jobs.state_counts(stage.clock.now() - 1.0))


async def test_arguments_are_edited_only_while_the_job_stands_and_does_not_run(
    stage: Stage,
) -> None:
    """X13"""
    job = await stage.put(body='{"page": 1}')
    edit = jobs.edit_body

    assert not await stage.store.run(edit(job, 1, State.PENDING, "{}"))
    assert not await stage.store.run(edit(job, 0, State.SUSPENDED, "{}"))
    assert await stage.store.run(edit(job, 0, State.PENDING, '{"page": 2}'))
    assert '{"page": 2}' == (await stage.claim(job)).body
    assert not await stage.store.run(edit(job, 1, State.RUNNING, "{}"))
    assert '{"page": 2}' == (await stage.record(job)).body


async def test_a_worker_learns_which_jobs_are_still_its_own(stage: Stage) -> None:
    mine, other, ended = [await stage.put() for _ in range(3)]
    waiting = await stage.put(due=stage.clock.now() + 5.0)
    await stage.claim(ended, worker=1)
    await stage.ask(f"update dure_live set worker = 2 where id = {other}")
    await stage.end(ended, Event.SUCCEED)

    found = await stage.store.read(jobs.owned(1, [mine, other, ended, waiting, 999]))

    assert {mine: 1} == found
    assert {} == await stage.store.read(jobs.owned(1, []))


async def facts_of(stage: Stage, job: int) -> jobs.WaitingFacts:
    found = await stage.store.read(jobs.waiting_facts(job, now=stage.clock.now()))
    assert found is not None
    return found


async def test_the_store_says_how_many_jobs_of_its_stream_come_first(stage: Stage) -> None:
    """X19"""
    await stage.put(await stage.stream(lane="other"))
    running = await stage.put()
    await stage.claim(running)
    made = [await stage.put() for _ in range(3)]

    assert [0, 1, 2] == [(await facts_of(stage, job)).ahead for job in made]
    assert 0 == (await facts_of(stage, running)).ahead


async def test_the_store_says_which_pauses_hold_a_job_back(stage: Stage) -> None:
    """X19"""
    for scope, name in (
        *(("all", ""), ("kind", "fetch"), ("kind", "parse"), ("lane", "acme")),
        *(("lane", "fetch"), ("session", "nightly"), ("session", "daily")),
    ):
        script = pauses.pause(scope, name, by="ann", reason="why", now=stage.clock.now())
        await stage.store.run(script)
    with_session, without = await stage.put(session="nightly"), await stage.put()

    found = (await facts_of(stage, with_session)).pauses

    expected = [("all", ""), ("kind", "fetch"), ("lane", "acme"), ("session", "nightly")]
    assert expected == [(pause.scope, pause.name) for pause in found]
    assert found[:3] == (await facts_of(stage, without)).pauses
    assert {("ann", "why", stage.clock.now(), True)} == {
        (pause.by, pause.reason, pause.at, pause.drain) for pause in found
    }


async def test_the_store_says_who_could_run_a_job_and_who_does(
    stage: Stage, clock: SetClock
) -> None:
    """X19"""
    await stage.worker("fetch", lease=5.0)
    knowing, _ = await stage.worker("parse", "fetch"), await stage.worker("parse")
    clock.advance(5.0)
    job = await stage.put()

    waiting = await facts_of(stage, job)
    await stage.claim(job, worker=knowing)
    running = await facts_of(stage, job)

    assert (2, 1) == (waiting.workers_alive, waiting.workers_knowing_kind)
    assert None is waiting.worker
    assert running.worker is not None
    assert (knowing, ("fetch", "parse")) == (running.worker.id, running.worker.kinds)


async def test_the_store_says_how_full_a_lane_with_a_cap_is(stage: Stage) -> None:
    """X19"""
    job = await stage.put()
    for kind in ("fetch", "parse"):
        await stage.claim(await stage.put(await stage.stream(kind)))
    await stage.claim(await stage.put(await stage.stream(lane="other")))
    await stage.put()

    uncapped = await facts_of(stage, job)
    script = lanes.configure("acme", max_running=3, by="ann", reason="", now=stage.clock.now())
    await stage.store.run(script)
    capped = await facts_of(stage, job)

    assert None is uncapped.lane_running
    assert 3 == capped.lane_running
    assert capped.lane is not None
    assert ("acme", 3) == (capped.lane.name, capped.lane.max_running)
