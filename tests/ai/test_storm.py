"""The storm guard: an empty wallet with a full queue costs a handful of calls."""

from tests.ai.desk import GOOD, Summary, bench, start_at
from tests.ai.wire import Said, Sent, fault, said

from dure import State
from dure.ai import Prompt, Reason
from dure.testing import in_virtual_time, running


class Wallet:
    """Answers as long as there is money."""

    def __init__(self) -> None:
        self.is_empty = True
        self.fault = fault(429, "insufficient_quota", Retry_After="5")

    def __call__(self, _: Sent) -> Said:
        return self.fault if self.is_empty else said(GOOD)


@in_virtual_time
async def test_an_empty_wallet_costs_a_handful_of_calls_and_resume_brings_all_back() -> None:
    """A7, A9, X5"""
    wallet = Wallet()
    b = bench(wallet, max_running=4)
    async with running(b.app, nodes=2) as t:
        await t.enqueue_many([b.kind(str(n)) for n in range(1200)])
        await t.advance("30s")

        assert len(b.wire.sent) <= 8
        jobs = await t.jobs("state:suspended")
        assert ({"QUOTA"}, 1200) == ({job.reason for job in jobs}, len(jobs))
        assert {0} == {job.attempt for job in jobs}

        late = await t.enqueue(b.kind("late"))
        await t.advance("5s")
        assert State.SUCCESS is not (await t.job(late.id)).state
        assert len(b.wire.sent) <= 8

        wallet.is_empty = False
        b.wire.latency = 0.01
        before = t.clock.now()
        done = await b.desk.resume("QUOTA", by="kim", spread="60s")
        await t.advance("30s")
        halfway = len(b.wire.sent)
        await t.advance("45s")

        assert 1200 <= done.applied <= 1201
        assert 1201 == len(await t.jobs("state:success"))
        assert 400 < halfway < 800, (halfway, t.clock.now() - before)
        assert {} == await b.desk.suspensions()


@in_virtual_time
async def test_a_resume_too_early_costs_a_handful_again() -> None:
    """A9"""
    b = bench(Wallet(), max_running=4)
    async with running(b.app) as t:
        await t.enqueue_many([b.kind(str(n)) for n in range(200)])
        await t.advance("5s")
        await b.desk.resume("QUOTA", by="kim")
        await t.advance("10s")

        assert len(b.wire.sent) <= 8
        assert 200 == len(await t.jobs("state:suspended reason:QUOTA"))


@in_virtual_time
async def test_five_inputs_refused_alike_suspend_their_kind_only() -> None:
    """A7"""
    bad = fault(400, kind="invalid_request_error", message="schema")
    b = bench(lambda sent: bad if sent.text.isdigit() else said(GOOD), max_running=1)

    async def other(text: str) -> None:
        await b.desk.ask(asked, text)

    asked = Prompt("OTHER", version=1, answer=Summary)
    kind = b.app.kind(name="other", **b.desk.terms())(other)
    async with running(b.app) as t:
        await t.enqueue_many([b.kind(str(n)) for n in range(100)])
        await t.advance("20s")
        await t.enqueue(kind("fine"))
        await t.advance("10s")

        assert 4 == len(await t.jobs("state:failed"))
        assert 96 == len(await t.jobs("state:suspended reason:CONFIG kind:summarise"))
        assert 1 == len(await t.jobs("state:success kind:other"))

        await b.desk.resume("CONFIG", by="kim")
        await t.advance("2s")
        assert len(b.wire.sent) > 6


@in_virtual_time
async def test_a_days_quota_comes_back_by_itself_at_the_providers_midnight() -> None:
    """A7"""
    wallet = Wallet()
    details = [{"violations": [{"quotaId": "RequestsPerDay"}]}]
    error = {"error": {"status": "RESOURCE_EXHAUSTED", "details": details}}
    wallet.fault = Said(429, error)
    b = bench(wallet, url="https://generativelanguage.googleapis.com/v1", day="Asia/Seoul")
    async with running(b.app, nodes=0) as t:
        await start_at(t, 15 * 3600 - 30)  # virtual time begins at 09:00 in Seoul
        job = await t.enqueue(b.kind("text"))
        await t.advance("10s")
        assert (State.SUSPENDED, Reason.DAILY_QUOTA) == (
            (await t.job(job.id)).state,
            (await t.job(job.id)).reason,
        )
        wallet.is_empty = False
        await t.advance("40s")

        assert State.SUCCESS is (await t.job(job.id)).state


@in_virtual_time
async def test_a_ramp_that_is_too_steep_halves_the_rate_and_it_grows_back() -> None:
    """X8"""
    b = bench(lambda _: fault(429, "slow_down", Retry_After="5"), limits="100/m")
    async with running(b.app) as t:
        await t.enqueue(b.kind("text"))
        await t.advance("3s")
        limits = await t.insights.limits()

        assert 0.5 == limits[b.desk.name].limit.rate_factor
