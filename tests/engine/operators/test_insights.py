"""What operators can see: jobs, why they wait, batches and sessions with their end, the fleet."""

from typing import Any

import pytest

from dure.core.batch import BatchState, Overlap
from dure.core.errors import NotFound
from dure.core.filter import JobFilter
from dure.core.limit import Limit, Window
from dure.core.state import Event, State
from dure.engine.declare import Declarations
from dure.engine.desk.checkup import Verdict
from dure.engine.desk.insights import Insights
from dure.scripts import batches, lanes, limits, slots
from dure.scripts.limits import Request


async def test_a_filter_pages_through_jobs_in_both_directions(yard: Any) -> None:
    ids = [await yard.put() for _ in range(5)]
    await yard.put("parse")
    wanted = JobFilter.parse("kind:fetch")

    newest = await yard.insights.jobs(wanted, limit=2)
    older = await yard.insights.jobs(wanted, limit=9, after=newest[-1].id)
    oldest = await yard.insights.jobs(wanted, limit=2, newest_first=False)

    assert [ids[4], ids[3]] == [job.id for job in newest]
    assert [ids[2], ids[1], ids[0]] == [job.id for job in older]
    assert [ids[0], ids[1]] == [job.id for job in oldest]
    assert (5, False) == await yard.insights.count(wanted)
    assert (3, True) == await yard.insights.count(wanted, cap=3)


async def test_attempts_tell_how_a_job_came_to_fail(yard: Any) -> None:
    """X13"""
    job = await yard.make(State.FAILED)

    (attempt,) = await yard.insights.attempts(job)

    assert (1, Event.FAIL, "boom") == (attempt.attempt, attempt.event, attempt.error)


async def test_nobody_can_look_at_what_does_not_exist(yard: Any) -> None:
    for question in (
        yard.insights.job(7),
        yard.insights.why(7),
        yard.insights.lane("acme"),
        yard.insights.batch(7),
        yard.insights.session("nightly"),
        yard.insights.schedule("hourly"),
    ):
        with pytest.raises(NotFound):
            await question


async def _why(yard: Any, job: int, insights: Insights | None = None) -> tuple[str, float | None]:
    found = await (insights or yard.insights).why(job)
    return found.reason.code, found.reason.until


async def test_every_state_has_its_why(yard: Any) -> None:
    """X19"""
    ids = await yard.one_of_each()

    codes = {state: (await _why(yard, job))[0] for state, job in ids.items()}

    assert {
        State.PENDING: "no_worker",
        State.RUNNING: "running",
        State.RETRY_WAIT: "delayed",
        State.SUSPENDED: "suspended",
        State.SUCCESS: "success",
        State.FAILED: "failed",
        State.STALE: "stale",
        State.CANCELLED: "cancelled",
    } == codes


async def test_why_tells_what_the_fleet_is_missing(yard: Any) -> None:
    """X19"""
    job = await yard.put()
    alone = await _why(yard, job)
    await yard.worker("parse")
    ignorant = await _why(yard, job)
    await yard.worker("fetch")
    served = await _why(yard, job)

    assert ["no_worker", "kind_unknown", "turn"] == [alone[0], ignorant[0], served[0]]


@pytest.mark.parametrize(("scope", "name"), [("all", ""), ("kind", "fetch"), ("lane", "acme")])
async def test_why_names_the_pause_that_bars_the_way(yard: Any, scope: str, name: str) -> None:
    """X19 X16"""
    job = await yard.put()
    await yard.commands.pause(scope, name, by="kim", reason="deploy")

    reason = (await yard.insights.why(job)).reason

    assert ("everything" if scope == "all" else scope) + "_paused" == reason.code
    assert "by kim (deploy)" in reason.sentence


async def test_why_names_the_pause_of_a_session_that_a_due_job_will_meet(yard: Any) -> None:
    """X19 X16"""
    job = await yard.make(State.RETRY_WAIT, session="nightly")
    await yard.commands.pause("session", "nightly", by="kim")

    reason = (await yard.insights.why(job)).reason

    assert "due in 10m, but session 'nightly' was paused" in reason.sentence
    assert reason.until is None


async def test_why_tells_until_when_a_limit_is_used_up(yard: Any) -> None:
    """X19 X8: limits of the lane are known to the store, those of the kind to its program."""
    for name in ("of-lane", "of-kind"):
        await yard.commands.define_limit(Limit(name, (Window.parse("1/m"),)), by="kim")
    await yard.worker("fetch", lease=300.0)
    job = await yard.put()
    program = Insights(yard.store, _kinds(limits="of-kind"))
    await yard.store.run(limits.acquire([Request("of-kind")], yard.clock.now()))
    of_kind = await program.why(job)
    unknown = await yard.insights.why(job)
    await yard.commands.configure_lane("acme", by="kim", limits=["of-lane"])
    yard.clock.advance(30)
    await yard.store.run(limits.acquire([Request("of-lane")], yard.clock.now()))
    of_lane = await yard.insights.why(job)

    assert ("limit", True) == (of_kind.reason.code, of_kind.is_complete)
    assert yard.clock.now() < of_lane.reason.until
    assert of_kind.reason.until < of_lane.reason.until
    assert ("turn", False) == (unknown.reason.code, unknown.is_complete)
    assert "'of-lane'" in of_lane.reason.sentence


async def test_why_tells_when_a_blocked_limit_opens(yard: Any) -> None:
    """X19"""
    await yard.worker("fetch")
    await yard.commands.define_limit(Limit("kis", (Window.parse("20/s"),)), by="kim")
    await yard.commands.configure_lane("acme", by="kim", limits=["kis"])
    await yard.commands.block_limit("kis", "5m", by="kim")

    code, until = await _why(yard, await yard.put())

    assert ("limit", yard.clock.now() + 300) == (code, until)


async def test_why_tells_until_when_a_breaker_is_open(yard: Any) -> None:
    """X19 X9"""
    await yard.worker("fetch")
    program = Insights(yard.store, _kinds(breaker="naver"))
    job = await yard.put()

    closed = await _why(yard, job, program)
    await yard.commands.force_breaker("naver", "open", by="kim", span=60)
    opened = await _why(yard, job, program)
    await yard.commands.force_breaker("naver", "open", by="kim")
    held = await program.why(job)

    assert ["turn", "breaker_open"] == [closed[0], opened[0]]
    assert yard.clock.now() + 60 == opened[1]
    assert ("breaker_open", None) == (held.reason.code, held.reason.until)
    assert "until somebody closes it" in held.reason.sentence


async def test_why_tells_that_a_cap_is_reached(yard: Any) -> None:
    """X19 X7"""
    await yard.worker("fetch")
    first = await yard.put()
    second = await yard.put()
    now = yard.clock.now()

    await yard.commands.configure_lane("acme", by="kim", max_running=2)
    await yard.claim(second)
    third = await yard.put()
    of_lane = await _why(yard, third)
    await yard.commands.configure_lane("acme", by="kim", max_running=None)
    await yard.store.run(slots.take({"kind:fetch": slots.Need(0, 1)}, 1, want=1, now=now))
    of_kind = await _why(yard, third, Insights(yard.store, _kinds(max_running=1)))
    await yard.commands.set_setting("lane.cap_default", "1", by="kim")
    await yard.store.run(slots.take({"lane:acme": slots.Need(0, 1)}, 1, want=1, now=now))
    by_default = await _why(yard, third)

    assert State.RUNNING is await yard.state(first)
    assert ["lane_cap", "cap", "cap"] == [of_lane[0], of_kind[0], by_default[0]]


async def test_why_of_a_running_job_names_its_worker_and_its_timeout(yard: Any) -> None:
    """X19"""
    worker = await yard.worker("fetch", lease=30.0)
    job = await yard.put()
    await yard.claim(job, worker)
    yard.clock.advance(5)

    known = await Insights(yard.store, _kinds(timeout=60)).why(job)
    unknown = await yard.insights.why(job)

    assert (
        "RUNNING on worker 'worker-1' for 5s, attempt 1 of 5; it is stopped in 55s."
        == known.reason.sentence
    )
    assert yard.clock.now() + 55 == known.reason.until
    assert "RUNNING on worker 'worker-1' for 5s, attempt 1." == unknown.reason.sentence


def _kinds(**terms: Any) -> Any:
    declared = Declarations()

    @declared.kind(name="fetch", **terms)
    async def fetch() -> None:
        """Never called."""

    return declared.kinds


async def test_a_batch_shows_counts_nobody_has_folded_yet_and_when_it_will_be_over(
    yard: Any,
) -> None:
    """X20 X10"""
    batch = await yard.store.run(batches.open_("NIGHT", Overlap.ALLOW, now=yard.clock.now()))
    ids = [await yard.put(batch=batch) for _ in range(90)]
    fresh = await yard.insights.batch(batch)
    await yard.claim(ids[-1])
    for job in ids[:60]:
        yard.clock.advance(2)
        await yard.apply(job, Event.SUCCEED)

    view = await yard.insights.batch(batch)

    now = yard.clock.now()
    assert (90, 0, None) == (fresh.tally.added, fresh.tally.success, fresh.eta)
    assert (90, 60, 30) == (view.tally.added, view.tally.success, view.tally.remaining)
    assert view.eta.low <= now + 60 <= view.eta.high
    assert abs(view.eta.likely - (now + 60)) < 6
    assert [view] == await yard.insights.batches(state=BatchState.OPEN)
    assert [] == await yard.insights.batches(state=BatchState.DONE)


async def test_a_batch_that_is_over_has_no_end_to_come(yard: Any) -> None:
    """X20"""
    batch = await yard.store.run(batches.open_("NIGHT", Overlap.ALLOW, now=yard.clock.now()))
    await yard.put(batch=batch)
    await yard.commands.interrupt_batch(batch, by="kim")

    assert (await yard.insights.batch(batch)).eta is None


async def test_a_session_shows_its_jobs_its_pause_and_its_end(yard: Any) -> None:
    """X20 X16"""
    ids = [await yard.put(session="nightly") for _ in range(40)]
    await yard.claim(ids[-1])
    for job in ids[:20]:
        yard.clock.advance(3)
        await yard.apply(job, Event.SUCCEED)

    view = await yard.insights.session("nightly")
    await yard.commands.pause("session", "nightly", by="kim")
    yard.clock.advance(300)
    paused = await yard.insights.session("nightly")

    assert {State.RUNNING: 20, State.SUCCESS: 20} == view.counts
    assert (20, None) == (view.remaining, view.pause)
    assert abs(view.eta.likely - (yard.clock.now() - 300 + 60)) < 8
    assert "kim" == paused.pause.by
    assert paused.eta.paused == 300
    assert abs(paused.eta.likely - (yard.clock.now() + 60)) < 8


async def test_kinds_show_who_serves_them_and_who_declares_them(yard: Any) -> None:
    await yard.put("fetch")
    await yard.put("parse")
    await yard.worker("parse", "save")
    await yard.commands.pause("kind", "parse", by="kim")

    found = await Insights(yard.store, _kinds()).kinds()

    assert [("fetch", 0, True, False), ("parse", 1, False, True)] == [
        (kind.name, kind.workers, kind.is_declared, kind.pause is not None) for kind in found
    ]


async def test_a_lane_counts_what_waits_and_what_runs(yard: Any) -> None:
    """X7"""
    first = await yard.put(lane="acme")
    await yard.claim(first)
    await yard.put("parse", lane="acme")
    await yard.put(lane="zeta")

    one = await yard.insights.lane("acme")

    assert (1, 1) == (one.waiting, one.running)
    assert [one, await yard.insights.lane("zeta")] == await yard.insights.lanes()
    assert [await yard.insights.lane("zeta")] == await yard.insights.lanes(after="acme")


async def test_the_overview_sees_everything_at_a_glance(yard: Any) -> None:
    await yard.make(State.FAILED)
    await yard.make(State.SUSPENDED)
    yard.clock.advance(4000)
    await yard.make(State.FAILED)
    await yard.put()
    yard.clock.advance(60)
    await yard.worker("fetch", lease=10.0)
    yard.clock.advance(20)
    await yard.worker("fetch")
    await yard.commands.pause("all", by="kim")

    seen = await yard.insights.overview()

    assert (1, 1, 1) == (
        seen.counts[State.PENDING],
        seen.counts[State.SUSPENDED],
        seen.counts[State.FAILED],
    )
    assert (80.0, 1, 1) == (seen.oldest_ready, seen.workers_alive, seen.workers_gone)
    assert ["everything"] == [pause.target for pause in seen.pauses]


async def _verdicts(yard: Any) -> dict[str, Verdict]:
    return {finding.component: finding.verdict for finding in await yard.insights.health()}


async def test_an_idle_store_is_healthy(yard: Any) -> None:
    """X18"""
    assert {Verdict.GOOD} == set((await _verdicts(yard)).values())


async def test_work_that_nobody_does_is_a_problem_with_a_fix(yard: Any) -> None:
    """X18"""
    await yard.put()
    alone = await _verdicts(yard)
    await yard.worker("parse")
    ignorant = {each.component: each for each in await yard.insights.health()}
    await yard.worker("fetch")
    served = await _verdicts(yard)

    assert (Verdict.BAD, Verdict.GOOD) == (alone["workers"], alone["kinds"])
    assert (Verdict.GOOD, Verdict.BAD) == (
        ignorant["workers"].verdict,
        ignorant["kinds"].verdict,
    )
    assert "'fetch'" in ignorant["kinds"].sentence
    assert ignorant["kinds"].fix
    assert {Verdict.GOOD} == set(served.values())


async def test_a_worker_that_died_with_jobs_is_a_problem_until_they_are_taken_back(
    yard: Any,
) -> None:
    """X18"""
    dead = await yard.worker("fetch", lease=10.0)
    job = await yard.put()
    await yard.claim(job, dead)
    yard.clock.advance(100)
    before = await _verdicts(yard)
    await yard.apply(job, Event.LEASE_LOST)
    after = await _verdicts(yard)

    assert (Verdict.BAD, Verdict.GOOD) == (before["workers"], after["workers"])


async def test_what_people_and_failures_switched_off_is_told(yard: Any) -> None:
    """X18"""
    await yard.put(lane="acme")
    lane = (await yard.insights.lane("acme")).lane
    await yard.store.run(
        lanes.record_outcomes(
            {lane.id: (9, False)}, now=yard.clock.now(), default_failures_max=1, recover_after=None
        )
    )
    await yard.commands.pause("lane", "zeta", by="kim", reason="audit")
    await yard.commands.force_breaker("naver", "open", by="kim")
    await yard.worker("fetch")

    found = {each.component: each for each in await yard.insights.health()}

    assert [Verdict.WARNING] * 3 == [found[c].verdict for c in ("pauses", "lanes", "breakers")]
    assert "lane 'zeta' since 0s by kim (audit)" in found["pauses"].sentence
    assert "'acme'" in found["lanes"].sentence
    assert "'naver'" in found["breakers"].sentence
