"""What operators do to lanes, limits, breakers, settings, schedules, sessions and batches."""

from typing import Any

import pytest

from dure.core.batch import BatchState, Overlap
from dure.core.breaker import Phase
from dure.core.errors import ConfigError, IllegalTransition, NotFound, Refused, SettingInvalid
from dure.core.limit import Limit, Window
from dure.core.state import Event, State
from dure.scripts import batches, lanes, schedules
from dure.scripts.schedules import Declared

HOURLY = Declared("hourly", "0 * * * *", "UTC", "once", "{}", 1_700_001_000.0)


@pytest.mark.parametrize(
    ("scope", "name", "target"),
    [("all", "", "everything"), ("kind", "fetch", "kind 'fetch'"), ("lane", "acme", "lane 'acme'")],
)
async def test_a_pause_is_kept_told_audited_and_ended(
    yard: Any, scope: str, name: str, target: str
) -> None:
    """X16"""
    paused = await yard.commands.pause(scope, name, by="kim", reason="deploy", drain=False)
    told = yard.topics()
    entry = await yard.audited()
    active = await yard.insights.pauses()
    await yard.commands.resume(scope, name, by="lee")

    assert (target, "kim", "deploy", False) == (
        paused.target,
        paused.by,
        paused.reason,
        paused.drain,
    )
    assert [paused] == active
    assert ["control"] == told
    assert ("pause", target, "kim", "deploy") == (
        entry.command,
        entry.target,
        entry.actor,
        entry.reason,
    )
    assert [] == await yard.insights.pauses()
    assert ("resume", "lee") == ((await yard.audited()).command, (await yard.audited()).actor)


async def test_what_is_not_paused_cannot_be_resumed(yard: Any) -> None:
    with pytest.raises(NotFound, match="not paused"):
        await yard.commands.resume("lane", "acme", by="kim")

    assert [] == yard.hints


async def test_a_session_pause_suspends_what_waits_and_lets_running_jobs_end(yard: Any) -> None:
    """X16: jobs with a due time keep it, so that a resume does not run them early."""
    pending = await yard.put("fetch", session="nightly")
    running = await yard.make(State.RUNNING, "parse", session="nightly")
    waiting = await yard.make(State.RETRY_WAIT, "save", session="nightly")
    other = await yard.put("fetch", session="daily")
    due = await yard.due(waiting)

    await yard.commands.pause("session", "nightly", by="kim")

    paused = await yard.insights.job(pending)
    assert (State.SUSPENDED, "paused") == (paused.state, paused.reason)
    assert [State.RUNNING, State.RETRY_WAIT, State.PENDING] == await yard.states(
        [running, waiting, other]
    )
    assert due == await yard.due(waiting)


async def test_an_interrupting_session_pause_takes_running_jobs_away(yard: Any) -> None:
    """X16"""
    running = await yard.make(State.RUNNING, session="nightly")

    await yard.commands.pause("session", "nightly", by="kim", drain=False)

    assert State.SUSPENDED is await yard.state(running)
    assert "jobs" in yard.topics()


async def test_a_session_pause_goes_on_until_nothing_waits(yard: Any, meddled: Any) -> None:
    """X16: what a worker had just claimed comes back and is found by the next look."""
    job = await yard.put(session="nightly")

    await meddled.pause("session", "nightly", by="kim", drain=False)

    assert State.SUSPENDED is await yard.state(job)


async def test_a_session_resume_runs_what_the_pause_suspended_and_nothing_else(yard: Any) -> None:
    """X16 X5"""
    paused = await yard.put(session="nightly")
    quota = await yard.make(State.SUSPENDED, "parse", session="nightly")
    await yard.commands.pause("session", "nightly", by="kim")

    await yard.commands.resume("session", "nightly", by="kim")

    assert [State.PENDING, State.SUSPENDED] == await yard.states([paused, quota])


async def test_a_lane_gets_a_share_a_cap_and_limits_that_exist(yard: Any) -> None:
    """X7 X17"""
    await yard.commands.define_limit(Limit("kis", (Window.parse("20/s"),)), by="kim")

    with pytest.raises(NotFound, match="no limit 'dart'"):
        await yard.commands.configure_lane("acme", by="kim", limits=["kis", "dart"])
    await yard.commands.configure_lane("acme", by="kim", weight=2.0, max_running=3)
    lane = await yard.commands.configure_lane("acme", by="kim", limits=["kis"], failures_max=4)

    assert (2.0, 3, ("kis",), 4) == (lane.weight, lane.max_running, lane.limits, lane.failures_max)
    assert lane == (await yard.insights.lane("acme")).lane
    assert ["control"] * 3 == yard.topics()
    assert "lane.configure" == (await yard.audited()).command


async def test_a_lane_needs_a_name_that_can_be_typed(yard: Any) -> None:
    with pytest.raises(ConfigError):
        await yard.commands.configure_lane("a\nb", by="kim", weight=2.0)


async def test_a_reset_enables_a_disabled_lane(yard: Any) -> None:
    """X7"""
    await yard.put(lane="acme")
    lane = (await yard.insights.lane("acme")).lane
    await yard.store.run(
        lanes.record_outcomes(
            {lane.id: (3, False)},
            now=yard.clock.now(),
            default_failures_max=3,
            recover_after=None,
        )
    )
    assert (await yard.insights.lane("acme")).lane.is_disabled

    await yard.commands.reset_lane("acme", by="kim")

    assert not (await yard.insights.lane("acme")).lane.is_disabled
    assert ("lane.reset", ["control"]) == ((await yard.audited()).command, yard.topics())


async def test_limits_are_defined_blocked_and_removed(yard: Any) -> None:
    """X8 X17"""
    limit = Limit("kis", (Window.parse("20/s"),))

    first = await yard.commands.define_limit(limit, by="kim", reason="contract")
    again = await yard.commands.define_limit(limit, by="kim")
    until = await yard.commands.block_limit("kis", "5m", by="kim", reason="asked to")
    blocked = (await yard.insights.limits())["kis"].blocked_until
    entry = await yard.audited()
    lifted = await yard.commands.block_limit("kis", None, by="kim")
    open_again = (await yard.insights.limits())["kis"].blocked_until
    await yard.commands.remove_limit("kis", by="kim")

    assert (True, False) == (first, again)
    assert yard.clock.now() + 300 == until == blocked
    assert ("limit.block", "kis", "asked to") == (entry.command, entry.target, entry.reason)
    assert (None, None) == (lifted, open_again)
    assert {} == await yard.insights.limits()
    assert set(yard.topics()) == {"control"}


async def test_a_limit_nobody_defined_cannot_be_blocked(yard: Any) -> None:
    with pytest.raises(NotFound):
        await yard.commands.block_limit("kis", 5, by="kim")

    assert [] == await yard.insights.audit()


async def test_a_breaker_is_opened_for_some_time_and_closed_by_hand(yard: Any) -> None:
    """X9"""
    opened = await yard.commands.force_breaker("naver", "open", by="kim", span="10m")
    seen = (await yard.insights.breakers())["naver"]
    closed = await yard.commands.force_breaker("naver", "closed", by="kim")

    assert (Phase.OPEN, yard.clock.now() + 600) == (opened.phase, opened.until)
    assert opened == seen
    assert Phase.CLOSED is closed.phase
    assert ("breaker.force", ["control"] * 2) == ((await yard.audited()).command, yard.topics())


async def test_settings_are_changed_everywhere_and_show_who_did(yard: Any) -> None:
    """X17"""
    value = await yard.commands.set_setting("worker.slots", "7", by="kim", reason="small box")
    view = _setting(await yard.insights.settings())
    await yard.commands.unset_setting("worker.slots", by="kim")

    assert 7 == value
    assert (7, "kim", yard.clock.now()) == (view.value, view.by, view.at)
    assert (100, None) == (
        _setting(await yard.insights.settings()).value,
        _setting(await yard.insights.settings()).by,
    )
    assert ["control"] * 2 == yard.topics()
    with pytest.raises(SettingInvalid):
        await yard.commands.set_setting("worker.slots", "0", by="kim")


def _setting(views: Any) -> Any:
    return next(view for view in views if view.setting.key == "worker.slots")


async def test_a_schedule_is_held_and_let_go(yard: Any) -> None:
    """X11"""
    await yard.store.run(schedules.declare([HOURLY]))

    held = await yard.commands.pause_schedule("hourly", by="kim")
    go = await yard.commands.resume_schedule("hourly", by="kim")

    assert (True, False) == (held.paused, go.paused)
    assert "schedule.resume" == (await yard.audited()).command


async def test_a_schedule_fired_by_hand_is_due_now_and_only_once(yard: Any) -> None:
    """X11"""
    await yard.store.run(schedules.declare([HOURLY]))
    now = yard.clock.now()

    await yard.commands.fire_schedule("hourly", by="kim", reason="catch up")

    assert ["hourly"] == [each.name for each in await yard.store.run(schedules.due(now))]
    fires = [
        await yard.store.run(schedules.fire("hourly", now, next_at=now + 60, last_at=now))
        for _ in range(2)
    ]
    assert [True, False] == fires
    assert ("schedule.fire", "catch up") == (
        (await yard.audited()).command,
        (await yard.audited()).reason,
    )
    assert ["control"] == yard.topics()


async def test_a_paused_schedule_does_not_fire_by_hand_either(yard: Any) -> None:
    """X11"""
    await yard.store.run(schedules.declare([HOURLY]))
    await yard.commands.pause_schedule("hourly", by="kim")

    with pytest.raises(Refused, match="is paused"):
        await yard.commands.fire_schedule("hourly", by="kim")
    with pytest.raises(NotFound):
        await yard.commands.fire_schedule("daily", by="kim")


async def test_a_batch_is_interrupted_and_its_jobs_go_on(yard: Any) -> None:
    """X10"""
    batch = await _opened(yard)
    job = await yard.put(batch=batch)

    ended, _ = await yard.commands.interrupt_batch(batch, by="kim", reason="too late")

    assert (BatchState.INTERRUPTED, "interrupted by kim: too late") == (ended.state, ended.note)
    assert State.PENDING is await yard.state(job)
    assert ("batch.interrupt", f"batch {batch}") == (
        (await yard.audited()).command,
        (await yard.audited()).target,
    )


async def test_a_batch_is_interrupted_together_with_its_jobs(yard: Any) -> None:
    """X10"""
    batch = await _opened(yard)
    mine = [await yard.put(batch=batch) for _ in range(2)]
    other = await yard.put()

    ended, done = await yard.commands.interrupt_batch(batch, by="kim", cancel=True)

    assert (2, 2) == (ended.tally.cancelled, done.applied)
    assert [State.CANCELLED, State.CANCELLED, State.PENDING] == await yard.states([*mine, other])


async def test_a_batch_that_is_over_is_left_alone_with_all_its_jobs(yard: Any) -> None:
    """X10"""
    batch = await _opened(yard)
    job = await yard.put(batch=batch)
    await yard.commands.interrupt_batch(batch, by="kim")

    with pytest.raises(IllegalTransition, match="is over"):
        await yard.commands.interrupt_batch(batch, by="kim", cancel=True)

    assert State.PENDING is await yard.state(job)


async def _opened(yard: Any) -> int:
    opened = await yard.store.run(batches.open_("NIGHT", Overlap.ALLOW, now=yard.clock.now()))
    assert isinstance(opened, int)
    return opened


async def test_replay_takes_a_job_back_from_its_batch(yard: Any) -> None:
    """X10 X13"""
    batch = await _opened(yard)
    job = await yard.put(batch=batch)
    await yard.claim(job)
    await yard.apply(job, Event.FAIL, error="boom")
    failed = (await yard.insights.batch(batch)).tally.failed

    await yard.commands.retry([job], by="kim")

    assert (1, 0) == (failed, (await yard.insights.batch(batch)).tally.failed)
