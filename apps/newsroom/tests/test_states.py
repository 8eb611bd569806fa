"""Every line of the document's table of states, and its times, in virtual time (A5, A7, A8)."""

import pytest

from dure import State
from dure.core.notice import Moved
from dure.testing import in_virtual_time
from dure_sandbox import Fault
from newsroom.prompts import KINDS
from newsroom.rehearsal import Stage, at_work

pytestmark = pytest.mark.slow

MINUTE = 60.0


class Moves(list[Moved]):
    """What AI jobs did, and when."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.at: list[float] = []
        self._clock = stage.t.clock
        stage.newsroom.app.notices.listen(self._hear, Moved)

    def _hear(self, moved: Moved) -> None:
        if moved.kind in KINDS:
            self.append(moved)
            self.at.append(self._clock.now())


def ai(kind: str, **how: object) -> Fault:
    return Fault(kind=kind, site="ai", **how)  # type: ignore[arg-type]


@in_virtual_time
async def test_a_job_is_pending_then_running_then_success() -> None:
    """A5: (none) → PENDING → RUNNING → SUCCESS"""
    async with at_work(ai("slow_start", seconds=5)) as stage:
        await stage.t.commands.pause("all", by="test")
        job = await stage.summary()
        assert State.PENDING is (await stage.t.job(job)).state
        await stage.t.commands.resume("all", by="test")
        await stage.t.advance("2s")
        assert State.RUNNING is (await stage.t.job(job)).state
        await stage.t.advance("5s")
        assert State.SUCCESS is (await stage.t.job(job)).state


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("insufficient_quota", "QUOTA"),
        ("insufficient_balance", "QUOTA"),
        ("credit_exhausted", "QUOTA"),
        ("unauthorized", "AUTH"),
    ],
)
@in_virtual_time
async def test_what_only_people_can_cure_is_suspended_with_its_reason_and_resumed(
    kind: str, reason: str
) -> None:
    """A5 A7: RUNNING → SUSPENDED → PENDING"""
    async with at_work(ai(kind, count=1)) as stage:
        heard = Moves(stage)
        job = await stage.summary()
        await stage.t.advance("1h")
        held = await stage.t.job(job)
        done = await stage.newsroom.desk.resume(reason, by="anna")
        await stage.t.run_until_idle()

        assert (State.SUSPENDED, reason) == (held.state, held.reason)
        assert 1 == done.applied
        states = [(each.source, each.to) for each in heard if each.job == job]
        assert (State.RUNNING, State.SUSPENDED) == states[0]
        assert (State.SUSPENDED, State.PENDING) in states
        assert State.SUCCESS is (await stage.t.job(job)).state


@pytest.mark.parametrize(
    "fault",
    [
        ai("throttle"),
        ai("status", status=500),
        ai("status", status=503),
        ai("stall", seconds=30),
        ai("reset"),
    ],
    ids=lambda fault: f"{fault.kind} {fault.status}",
)
@in_virtual_time
async def test_what_may_pass_is_tried_again_at_30_s_times_2_to_the_n_and_then_failed(
    fault: Fault,
) -> None:
    """A5 A7: RUNNING → RETRY_WAIT → PENDING → ... → FAILED"""
    async with at_work(fault) as stage:
        heard = Moves(stage)
        job = await stage.summary()
        await stage.t.advance("1h")
        record = await stage.t.job(job)

    waits = [m.due - at for m, at in zip(heard, heard.at, strict=True) if m.due is not None]
    assert [30, 60, 120, 240] == [round(wait) for wait in waits]
    assert (State.FAILED, 5) == (record.state, record.attempt)
    assert [State.RETRY_WAIT] * 4 + [State.FAILED] == [move.to for move in heard]


@in_virtual_time
async def test_a_longer_retry_after_is_kept() -> None:
    """A7"""
    async with at_work(ai("throttle", count=1, retry_after=100)) as stage:
        job = await stage.summary()
        await stage.t.advance("1s")
        record, now = await stage.t.job(job), stage.t.clock.now()
        await stage.t.advance("3m")

        assert State.RETRY_WAIT is record.state
        assert record.due is not None
        assert 98 < record.due - now <= 100
        assert State.SUCCESS is (await stage.t.job(job)).state


@in_virtual_time
async def test_a_wrong_request_fails_at_once() -> None:
    """A5 A7: 400 → FAILED"""
    async with at_work(ai("bad_request")) as stage:
        job = await stage.summary()
        await stage.t.advance("1s")
        record = await stage.t.job(job)

        assert (State.FAILED, 1, 1) == (record.state, record.attempt, stage.calls())


@in_virtual_time
async def test_a_due_retry_becomes_pending() -> None:
    """A5 A8: RETRY_WAIT → PENDING"""
    async with at_work(ai("status", status=500, count=1)) as stage:
        job = await stage.summary()
        await stage.t.advance("5s")
        await stage.t.commands.pause("all", by="test")
        assert State.RETRY_WAIT is (await stage.t.job(job)).state
        await stage.t.advance("27s")

        assert State.PENDING is (await stage.t.job(job)).state


@pytest.mark.parametrize(("attempts", "to"), [(5, State.RETRY_WAIT), (1, State.FAILED)])
@in_virtual_time
async def test_a_job_without_a_sign_of_life_for_ten_minutes_is_taken_back(
    attempts: int, to: State
) -> None:
    """A5 A8: RUNNING → RETRY_WAIT in a minute, or FAILED when its attempts are spent"""
    async with at_work(ai("slow_start", seconds=10, count=1), attempts_max=attempts) as stage:
        heard = Moves(stage)
        job = await stage.summary()
        await stage.t.advance("2s")
        await stage.t.kill_node()
        killed = stage.t.clock.now()
        await stage.t.start_node(**stage.newsroom.terms)
        await stage.t.advance("9m")
        assert State.RUNNING is (await stage.t.job(job)).state
        await stage.t.until(lambda: bool(heard), within="5m")
        found = stage.t.clock.now()

        assert 9 * MINUTE < found - killed < 12 * MINUTE
        assert (State.RUNNING, to) == (heard[0].source, heard[0].to)
        if heard[0].due is not None:
            assert MINUTE == round(heard[0].due - found)
            await stage.t.advance("70s")
            assert State.SUCCESS is (await stage.t.job(job)).state


@in_virtual_time
async def test_what_waits_survives_a_restart() -> None:
    """A5 X12: PENDING jobs are worked on by whoever comes next"""
    async with at_work() as stage:
        await stage.t.kill_node()
        job = await stage.summary()
        await stage.t.start_node(**stage.newsroom.terms)
        await stage.t.run_until_idle()

        assert State.SUCCESS is (await stage.t.job(job)).state
