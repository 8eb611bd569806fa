"""What FAILED for good makes itself heard and can be replayed (A12); one empty wallet, one call."""

import pytest

import dure
from dure import State
from dure.testing import in_virtual_time
from dure_sandbox import Fault
from newsroom.alerts import ALERT
from newsroom.rehearsal import ALERTS, at_work

pytestmark = pytest.mark.slow

WRONG = Fault(kind="bad_request", site="ai", count=3)


@in_virtual_time
async def test_dead_letters_are_alerted_once_in_a_while_with_what_is_known() -> None:
    """A12"""
    async with at_work(WRONG, alert_url=ALERTS) as stage:
        for number in (1, 2, 3):
            await stage.summary(number)
        await stage.t.advance("4m")
        alerts = stage.sent(ALERTS)
        await stage.t.advance("30m")

        assert len(alerts) <= 2
        assert ("SUMMARY", 3) == (alerts[-1]["kind"], alerts[-1]["count"])
        assert all("400" in each["error"] for each in alerts[-1]["newest"])
        assert len(stage.sent(ALERTS)) <= 4


@in_virtual_time
async def test_an_alert_that_cannot_be_sent_is_tried_again() -> None:
    """A12"""
    async with at_work(WRONG, alert_url="http://nowhere.test/hook") as stage:
        await stage.summary()
        await stage.t.advance("2m")
        (alert,) = await stage.t.jobs(f"kind:{ALERT}")

        assert State.RETRY_WAIT is alert.state
        assert alert.attempt > 1


@in_virtual_time
async def test_a_replayed_dead_letter_is_worked_on_as_if_it_were_new() -> None:
    """A12 X13"""
    async with at_work(Fault(kind="bad_request", site="ai", count=1)) as stage:
        job = await stage.summary()
        await stage.t.run_until_idle()
        assert State.FAILED is (await stage.t.job(job)).state
        await stage.t.commands.retry([job], by="anna")
        await stage.t.run_until_idle()

        assert State.SUCCESS is (await stage.t.job(job)).state
        assert 5 == len(await stage.rows("select * from newsroom_result"))


@in_virtual_time
async def test_a_breaker_keeps_calls_from_a_model_that_is_down() -> None:
    """A12"""
    async with at_work(Fault(kind="status", site="ai", status=500, lasts=600)) as stage:
        for number in range(1, 201):
            await stage.summary(number)
        await stage.t.advance("10m")
        while_down = stage.calls()
        breakers = await stage.t.insights.breakers()
        await stage.t.advance("2h")
        summaries = await stage.t.jobs("kind:SUMMARY")

    assert while_down < 120
    assert len(breakers) == 1
    assert {State.SUCCESS} == {job.state for job in summaries}


@pytest.mark.slow
@in_virtual_time
async def test_an_empty_wallet_costs_41_000_jobs_a_handful_of_calls() -> None:
    """A7 A9 Z4"""
    wallet = Fault(kind="insufficient_quota", site="ai")
    async with at_work(wallet, ai_limits=("100000/m",)) as stage:
        await stage.article()
        kind = stage.newsroom.app.kinds["TERM_CARDS"]
        job = dure.Job(kind.name, '{"article": "001-0000000001", "version": 1}')
        await stage.t.commands.pause("all", by="test")
        await stage.t.enqueue_many([job] * 41_000)
        await stage.t.commands.resume("all", by="test")
        await stage.t.advance("1m")
        held = await stage.t.insights.kind_counts()
        calls = stage.calls()
        await stage.t.advance("2h")

        assert {("TERM_CARDS", State.SUSPENDED): 41_000} == held
        assert calls == stage.calls() <= 20

        stage.sandbox.faults.clear()
        resumed = await stage.newsroom.desk.resume("QUOTA", by="anna", spread="10h")
        await stage.t.advance("15m")
        left = await stage.t.insights.kind_counts()

        assert 41_000 == resumed.applied
        assert ("TERM_CARDS", State.SUSPENDED) not in left
        assert 900 < 41_000 - sum(left.values()) < 1200
