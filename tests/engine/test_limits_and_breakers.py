"""Limits and breakers hold work back before it is claimed, over all nodes."""

import asyncio

import pytest

import dure
from dure import Done, State
from dure.core.errors import ConfigError, NotFound
from dure.testing import Rig, in_virtual_time, running


def app_stamping(stamps: list[float], **terms: object) -> dure.App:
    app = dure.App(":memory:")
    app.limit("api", "10/m")

    async def call() -> None:
        stamps.append(asyncio.get_running_loop().time())

    app.kind(**{"name": "call", "limits": "api", **terms})(call)  # type: ignore[call-overload]
    return app


def call() -> dure.Job:
    return dure.Job("call", "{}")


def most_within(stamps: list[float], seconds: float) -> int:
    return max(sum(start <= at < start + seconds for at in stamps) for start in stamps)


@in_virtual_time
async def test_a_limit_is_never_overrun_by_two_nodes_and_is_used_up() -> None:
    """X8"""
    stamps: list[float] = []
    async with running(app_stamping(stamps), nodes=2, slots=10) as t:
        await t.enqueue_many([call() for _ in range(60)])
        await t.advance("5m 30s")

        assert most_within(stamps, 60.0) <= 10
        assert len(stamps) >= 45


@in_virtual_time
async def test_what_a_limit_holds_back_is_not_claimed_and_spends_no_attempt() -> None:
    """X8"""
    async with running(app_stamping([])) as t:
        await t.enqueue_many([call() for _ in range(30)])
        await t.run_until_idle()

        waiting = await t.jobs("state:pending")
        assert 20 == len(waiting)
        assert {(0, 0)} == {(job.attempt, job.fence) for job in waiting}
        assert "limit" in (await t.why(waiting[0].id)).code


@in_virtual_time
async def test_jobs_that_come_one_by_one_get_all_that_a_limit_allows() -> None:
    """X8: permits that were booked for more jobs than there were come back."""
    stamps: list[float] = []
    async with running(app_stamping(stamps)) as t:
        for _ in range(10):
            await t.enqueue(call())
            await t.advance("2s")

        assert 10 == len(stamps)
        await t.advance("2s")
        assert [10] == [use.used for use in (await t.insights.limits())["api"].windows]


@in_virtual_time
async def test_a_limit_that_is_gone_holds_only_its_own_jobs_until_it_is_back() -> None:
    """X8 X19: an operator may remove a limit under work that draws on it."""
    stamps: list[float] = []
    app = app_stamping(stamps)
    app.limit("other", "10/m")

    @app.kind(limits="other")
    async def other() -> None:
        pass

    async with running(app) as t:
        await t.commands.remove_limit("api", by="kim")
        held = (await t.enqueue(call())).id
        await t.advance("20s")
        free = (await t.enqueue(other())).id
        await t.advance("2s")
        reason = await t.why(held)
        ran_before = list(stamps)
        await t.commands.define_limit(dure.App(":memory:").limit("api", "10/m"), by="kim")
        await t.advance("10s")

        assert State.SUCCESS is (await t.job(free)).state
        assert [] == ran_before
        assert "limit_missing" == reason.code
        assert "limit 'api' is not defined" in reason.sentence
        assert State.SUCCESS is (await t.job(held)).state


@in_virtual_time
async def test_a_limited_kind_leaves_the_others_alone() -> None:
    """X8"""
    app = app_stamping([])

    @app.kind
    async def free() -> None:
        pass

    async with running(app, slots=1) as t:
        await t.enqueue_many([call() for _ in range(100)])
        await t.enqueue_many([free() for _ in range(20)])
        await t.run_until_idle()

        assert 20 == len(await t.jobs("kind:free state:success"))


@pytest.mark.parametrize(("used", "more_run"), [(100, True), (None, False)])
@in_virtual_time
async def test_tokens_that_were_not_used_come_back(used: int | None, more_run: bool) -> None:
    """X8"""
    app = dure.App(":memory:")
    app.limit("model", "100/m", "1000 tokens/m")

    @app.kind(limits="model", tokens=500)
    async def ask() -> dure.Outcome:
        return Done(used=None if used is None else {"tokens": used})

    async with running(app) as t:
        await t.enqueue_many([ask() for _ in range(8)])
        await t.advance("30s")

        assert more_run is (len(await t.jobs("state:success")) > 2)


@in_virtual_time
async def test_a_job_that_asks_for_more_than_a_window_holds_says_why_it_never_runs() -> None:
    """X8"""
    app = dure.App(":memory:")
    app.limit("model", "1000 tokens/m")

    @app.kind(limits="model", tokens=5000)
    async def ask() -> None:
        raise AssertionError("must not run")

    async with running(app) as t:
        await t.enqueue(ask())
        await t.advance("3m")

        (gate,) = t.node.pacer.permits.values()
        assert "5000" in gate.refusal
        assert 1 == len(await t.jobs("state:pending"))


@pytest.mark.parametrize("window", ["15", "15/fortnight", "0/m"])
def test_a_limit_that_cannot_be_read_is_refused_at_once(window: str) -> None:
    with pytest.raises(ConfigError, match="The limit 'api' cannot be declared"):
        dure.App(":memory:").limit("api", window)


@in_virtual_time
async def test_a_lane_can_have_a_limit_of_its_own() -> None:
    """X8"""
    app = dure.App(":memory:")
    app.limit("acme", "5/m")

    @app.kind
    async def work() -> None:
        pass

    async with running(app) as t:
        await t.commands.configure_lane("acme", by="test", limits=["acme"])
        with pytest.raises(NotFound, match="no limit 'nowhere'"):
            await t.commands.configure_lane("acme", by="test", limits=["nowhere"])
        await t.enqueue_many([work() for _ in range(20)], lane="acme")
        await t.enqueue_many([work() for _ in range(20)], lane="other")
        await t.run_until_idle()

        assert 5 == len(await t.jobs("lane:acme state:success"))
        assert 20 == len(await t.jobs("lane:other state:success"))


class Source:
    """An outside service that can be down."""

    def __init__(self) -> None:
        self.is_down = True
        self.calls = 0

    def app(self, **terms: object) -> dure.App:
        app = dure.App(":memory:")

        async def fetch() -> None:
            self.calls += 1
            await asyncio.sleep(0.1)
            if self.is_down:
                raise ConnectionError("down")

        policy = dure.RetryPolicy.of(1000, base="5s", factor=1.0)
        given = {"name": "fetch", "breaker": "source", "retry": policy, **terms}
        app.kind(**given)(fetch)  # type: ignore[call-overload]
        return app


def fetch() -> dure.Job:
    return dure.Job("fetch", "{}")


async def phase(t: Rig) -> str:
    return (await t.insights.breakers())["source"].phase.value


@in_virtual_time
async def test_a_breaker_opens_probes_and_closes() -> None:
    """X9"""
    source = Source()
    async with running(source.app(), slots=5) as t:
        await t.enqueue_many([fetch() for _ in range(40)])
        await t.advance("25s")
        opened, before = await phase(t), source.calls
        await t.advance("10s")
        held = source.calls - before
        await t.advance("5m")
        probes = source.calls - before - held
        source.is_down = False
        await t.advance("15m")

        assert "open" == opened
        assert held <= 3
        assert 0 < probes <= 20
        assert "closed" == await phase(t)
        assert 40 == len(await t.jobs("state:success"))


@in_virtual_time
async def test_an_open_breaker_holds_two_nodes_back_and_jobs_spend_no_attempt() -> None:
    """X9"""
    source = Source()
    async with running(source.app(), nodes=2) as t:
        await t.commands.force_breaker("source", "open", by="test")
        await t.advance("2s")
        await t.enqueue_many([fetch() for _ in range(40)])
        await t.advance("10m")
        spent = source.calls
        source.is_down = False
        await t.commands.force_breaker("source", "closed", by="test")
        await t.advance("1m")

        assert 0 == spent
        assert 40 == len(await t.jobs("state:success"))


@in_virtual_time
async def test_an_answer_that_blames_the_request_proves_that_the_source_works() -> None:
    """X9"""
    app = dure.App(":memory:")

    @app.kind(breaker="source", errors={ValueError: dure.Fail()})
    async def fetch() -> None:
        raise ValueError("400")

    async with running(app) as t:
        await t.enqueue_many([fetch() for _ in range(50)])
        await t.run_until_idle()

        assert 50 == len(await t.jobs("state:failed"))


@in_virtual_time
async def test_a_breaker_per_lane_opens_for_its_lane_only() -> None:
    """X9"""
    app = dure.App(":memory:")

    @app.kind(breaker=dure.PER_LANE, retry=1)
    async def fetch(is_down: bool) -> None:
        await asyncio.sleep(0.1)
        if is_down:
            raise ConnectionError("down")

    async with running(app, slots=2, claim_max=2) as t:
        await t.enqueue_many([fetch(True) for _ in range(60)], lane="bad")
        await t.enqueue_many([fetch(False) for _ in range(60)], lane="good")
        await t.advance("20s")

        states = await t.insights.breakers()
        assert "open" == states["fetch:bad"].phase.value
        assert 60 == len(await t.jobs("lane:good state:success"))
        assert len(await t.jobs("lane:bad state:pending")) > 20
        assert {State.PENDING, State.FAILED} == {j.state for j in await t.jobs("lane:bad")}
