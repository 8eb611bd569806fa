"""What the engine did is told to whoever listens, and no listener can do it harm."""

import asyncio
import json
import logging
from typing import Any

import dure
from dure import Event, State
from dure.core.notice import (
    Claimed,
    ClaimFailed,
    Enqueued,
    LaneDisabled,
    LeaseLost,
    Moved,
    Notice,
    Promoted,
    Refused,
    Started,
    SweepBegan,
    Swept,
)
from dure.engine.journal import JsonLines, tell
from dure.testing import in_virtual_time, running

EVERYTHING = (
    *(Claimed, ClaimFailed, Enqueued, LaneDisabled, LeaseLost, Moved, Promoted, Refused),
    *(Started, SweepBegan, Swept),
)


def app_heard() -> tuple[dure.App, list[Any]]:
    app, heard = dure.App(":memory:"), list[Notice]()
    app.notices.listen(heard.append, *EVERYTHING)

    @app.kind(retry=dure.RetryPolicy.of(2, base="30s", lost="1m"), timeout="1h")
    async def work(how: str, seconds: float = 0.5) -> dure.Outcome:
        await asyncio.sleep(seconds)
        match how:
            case "fails":
                raise ValueError("broken")
            case "suspends":
                return dure.Suspend("QUOTA", "no money")
            case "follows":
                assert dure.current().priority is dure.Priority.HIGH
                jobs = [work_of("plain"), work_of("plain", lane="other")]
                return dure.Done({"made": 2}, then=jobs)
            case _:
                return dure.Done()

    return app, heard


def work_of(how: str, lane: str = "default", **args: object) -> dure.Job:
    return dure.Job("work", json.dumps({"how": how, **args})).options(lane=lane)


def of(heard: list[Any], kind: type[Any]) -> list[Any]:
    return [notice for notice in heard if isinstance(notice, kind)]


@in_virtual_time
async def test_a_jobs_way_is_told_from_enqueueing_to_its_end() -> None:
    app, heard = app_heard()
    async with running(app) as t:
        job = (await t.enqueue(work_of("plain"))).id
        await t.run_until_idle()

    put, taken, begun, moved = (of(heard, k)[0] for k in (Enqueued, Claimed, Started, Moved))
    assert ("work", "default", 1, 0) == (put.kind, put.lane, put.jobs, put.doubles)
    assert ("work", "default", 1) == (taken.kind, taken.lane, taken.jobs)
    assert (job, 1) == (begun.job, begun.attempt)
    assert (job, Event.SUCCEED, State.RUNNING, State.SUCCESS) == moved[:1] + moved[3:6]
    assert 0.5 == round(moved.seconds, 2)


@in_virtual_time
async def test_what_a_schedule_puts_in_is_told_too() -> None:
    app, heard = app_heard()
    app.schedule("often", "every 10s", work_of("plain"))
    async with running(app) as t:
        await t.advance("31s")
        await app.fire("often")
        await t.run_until_idle()

    assert 4 == sum(notice.jobs for notice in of(heard, Enqueued))


@in_virtual_time
async def test_each_transition_carries_its_reason_error_and_due_time() -> None:
    app, heard = app_heard()
    async with running(app) as t:
        await t.enqueue_many([work_of("fails"), work_of("suspends")])
        await t.run_until_idle()
        await t.advance("31s")
        await t.commands.resume_jobs(dure_filter("reason:QUOTA"), by="test")

    moves = of(heard, Moved)
    first, last = (next(m for m in moves if m.to is to) for to in (State.RETRY_WAIT, State.FAILED))
    held = next(move for move in moves if move.to is State.SUSPENDED)
    resumed = next(move for move in moves if move.event is Event.RESUME)
    assert "ValueError: broken" == first.error == last.error
    assert first.due is not None
    assert ("QUOTA", "no money") == (held.reason, held.error)
    assert (State.SUSPENDED, State.PENDING) == (resumed.source, resumed.to)
    assert [("work", "default", 1)] == of(heard, Promoted)


def dure_filter(text: str) -> Any:
    from dure.core.filter import JobFilter

    return JobFilter.parse(text)


@in_virtual_time
async def test_doubles_and_follow_ups_are_told_apart() -> None:
    app, heard = app_heard()
    async with running(app) as t:
        await t.enqueue_many(
            [work_of("follows").options(unique="one", priority=dure.Priority.HIGH)] * 2
        )
        await t.run_until_idle()

    put = of(heard, Enqueued)
    assert [(1, 1, False)] == [(n.jobs, n.doubles, n.is_follow_up) for n in put if n.doubles]
    assert {"default", "other"} == {n.lane for n in put if n.is_follow_up}
    assert ['{"made":2}'] == [n.result for n in of(heard, Moved) if n.result]


@in_virtual_time
async def test_the_sweeper_tells_what_it_took_back_and_it_waits_as_the_policy_says() -> None:
    """A8 X3"""
    app, heard = app_heard()
    async with running(app, lease=15, sweep=60) as t:
        await t.enqueue(work_of("plain", seconds=600.0))
        await t.advance("1s")
        await t.kill_node()
        await t.start_node(lease=15, sweep=60)
        await t.advance("30s")
        assert [] == lost_ones(heard)
        await t.until(lambda: bool(lost_ones(heard)))
        now = t.clock.now()
        await t.advance("3s")

    (lost,) = lost_ones(heard)
    assert (State.RUNNING, State.RETRY_WAIT) == (lost.source, lost.to)
    assert lost.due is not None
    assert abs(lost.due - now - 60) < 0.1
    assert 1 == sum(n.recovered for n in of(heard, Swept))
    assert len(of(heard, SweepBegan)) >= len(of(heard, Swept))


def lost_ones(heard: list[Any]) -> list[Moved]:
    return [notice for notice in of(heard, Moved) if notice.event is Event.LEASE_LOST]


@in_virtual_time
async def test_a_store_that_is_away_is_told_as_a_claim_that_failed() -> None:
    app, heard = app_heard()
    async with running(app) as t:
        t.fail_store("claim", times=1)
        await t.enqueue_many([work_of("plain"), work_of("plain")])
        await t.run_until_idle()

    assert 1 == len(of(heard, ClaimFailed))


@in_virtual_time
async def test_a_result_that_comes_too_late_is_told() -> None:
    app, heard = app_heard()
    async with running(app) as t:
        job = (await t.enqueue(work_of("plain", seconds=5.0))).id
        await t.advance("1s")
        await t.commands.cancel([job], by="test")
        await t.advance("10s")

    assert [job] == [n.job for n in of(heard, Refused)]


@in_virtual_time
async def test_a_listener_that_raises_stops_neither_the_engine_nor_other_listeners() -> None:
    app, heard = app_heard()
    calls: list[Notice] = []

    def broken(notice: Notice) -> None:
        calls.append(notice)
        raise RuntimeError("a listener's own fault")

    stop = app.notices.listen(broken, *EVERYTHING)
    app.notices.listen(heard.append, Moved)
    async with running(app) as t:
        await t.enqueue_many([work_of("plain")] * 50)
        await t.run_until_idle()
        assert 50 == len(await t.jobs("state:success"))
        stop()
        seen = len(calls)
        await t.enqueue(work_of("plain"))
        await t.run_until_idle()

    assert 102 == len(of(heard, Moved))
    assert len(calls) == seen == app.notices.failures


@in_virtual_time
async def test_a_lane_that_is_disabled_is_told() -> None:
    """X7"""
    app, heard = app_heard()
    async with running(app) as t:
        await t.commands.configure_lane("bad", by="test", failures_max=1)
        await t.enqueue(work_of("fails", lane="bad"))
        await t.advance("5s")

    assert [("bad", 1)] == of(heard, LaneDisabled)


def test_a_line_of_the_log_is_one_json_object_with_its_event_type() -> None:
    lines: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    log = logging.getLogger("press")
    log.setLevel(logging.INFO)
    kept = Kept()
    kept.setFormatter(JsonLines())
    log.addHandler(kept)
    tell("paper_printed", log=log, copies=3, where=State.SUCCESS, note="한글\nline")
    log.warning("plain %s", "words")

    first, second = (json.loads(line) for line in lines)
    assert ("paper_printed", 3) == (first["event_type"], first["copies"])
    assert "한글\nline" == first["note"]
    assert ("log", "warning") == (second["event_type"], second["level"])
    assert "plain words" == second["message"]
