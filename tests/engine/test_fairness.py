"""Lanes share the workers: in turn, by weight, under caps, and one that fails is set aside."""

import asyncio

import pytest

import dure
from dure import State
from dure.core.errors import NotFound
from dure.testing import Rig, in_virtual_time, running


def app_noting(order: list[str], seconds: float = 0.01, **terms: object) -> dure.App:
    app = dure.App(":memory:")

    async def work(lane: str) -> None:
        order.append(lane)
        await asyncio.sleep(seconds)
        if lane == "bad":
            raise ValueError("bad lane")

    app.kind(**{"name": "work", "retry": 1, **terms})(work)  # type: ignore[call-overload]
    return app


def work(lane: str) -> dure.Job:
    return dure.Job("work", f'{{"lane": "{lane}"}}').options(lane=lane)


async def fill(t: Rig, **counts: int) -> None:
    """Let every lane have its work before anything runs."""
    await t.commands.pause("all", by="test")
    for lane, count in counts.items():
        await t.enqueue_many([work(lane)] * count)
    await t.commands.resume("all", by="test")


@in_virtual_time
async def test_a_flood_in_one_lane_does_not_make_the_others_wait() -> None:
    """X7"""
    order: list[str] = []
    async with running(app_noting(order), slots=1, claim_max=4) as t:
        await fill(t, flood=200, small=5, tiny=5)
        await t.run_until_idle()

        assert max(order.index("small"), order.index("tiny")) < 12
        assert "small" not in order[30:]
        assert "tiny" not in order[30:]


@in_virtual_time
async def test_a_lane_of_twice_the_weight_gets_twice_the_turns() -> None:
    """X7"""
    order: list[str] = []
    async with running(app_noting(order), slots=1, claim_max=6) as t:
        await t.commands.configure_lane("heavy", by="test", weight=2.0)
        await fill(t, heavy=200, light=200)
        await t.run_until_idle()

        heavy = order[:150].count("heavy")
        assert abs(heavy - 100) <= 10


@in_virtual_time
async def test_a_lanes_cap_holds_over_two_nodes() -> None:
    """X7"""
    running_now, most = 0, 0
    app = dure.App(":memory:")

    @app.kind
    async def count() -> None:
        nonlocal running_now, most
        running_now += 1
        most = max(most, running_now)
        await asyncio.sleep(1)
        running_now -= 1

    async with running(app, nodes=2, slots=10) as t:
        await t.commands.configure_lane("acme", by="test", max_running=3)
        await t.enqueue_many([count() for _ in range(30)], lane="acme")
        await t.run_until_idle()

        assert 3 == most
        assert 30 == len(await t.jobs("state:success"))


@in_virtual_time
async def test_a_kinds_cap_holds_over_two_nodes() -> None:
    """X7"""
    running_now, most = 0, 0
    app = dure.App(":memory:")

    @app.kind(max_running=2)
    async def count() -> None:
        nonlocal running_now, most
        running_now += 1
        most = max(most, running_now)
        await asyncio.sleep(1)
        running_now -= 1

    async with running(app, nodes=2, slots=10) as t:
        for lane in "abcd":
            await t.enqueue_many([count() for _ in range(5)], lane=lane)
        await t.run_until_idle()

        assert 2 == most
        assert 20 == len(await t.jobs("state:success"))


@in_virtual_time
async def test_a_nodes_resource_bounds_what_runs_on_it() -> None:
    """X14"""
    running_now, most = 0, 0
    app = dure.App(":memory:")

    @app.kind(uses="memory")
    async def count() -> None:
        nonlocal running_now, most
        running_now += 1
        most = max(most, running_now)
        await asyncio.sleep(1)
        running_now -= 1

    async with running(app, slots=10, resources={"memory": 2}) as t:
        await t.enqueue_many([count() for _ in range(10)])
        await t.run_until_idle()

        assert 2 == most
        assert 10 == len(await t.jobs("state:success"))


@in_virtual_time
async def test_a_lane_that_fails_in_a_row_is_disabled_and_its_work_waits() -> None:
    """X7"""
    order: list[str] = []
    async with running(app_noting(order, seconds=1.0), slots=1, claim_max=1) as t:
        await t.commands.configure_lane("bad", by="test", failures_max=3)
        await fill(t, bad=50, good=5)
        await t.advance("10m")

        assert (await t.insights.lane("bad")).lane.is_disabled
        assert 5 == len(await t.jobs("lane:good state:success"))
        waiting = await t.jobs("lane:bad state:pending")
        assert len(waiting) >= 45
        assert "disabled" in (await t.why(waiting[0].id)).code


@in_virtual_time
async def test_a_reset_lets_a_disabled_lane_work_again() -> None:
    """X7"""
    order: list[str] = []
    async with running(app_noting(order, seconds=1.0), slots=1, claim_max=1) as t:
        await t.commands.configure_lane("bad", by="test", failures_max=3)
        await fill(t, bad=20)
        await t.advance("1m")
        before = len(order)
        await t.commands.reset_lane("bad", by="test")
        await t.advance("1m")

        assert before < len(order) < 20


@in_virtual_time
async def test_a_disabled_lane_is_tried_again_by_itself_after_a_while() -> None:
    """X7"""
    order: list[str] = []
    app = app_noting(order, seconds=1.0)
    async with running(app, slots=1, claim_max=1, recover_after=300.0) as t:
        await t.commands.configure_lane("bad", by="test", failures_max=3)
        await fill(t, bad=20)
        await t.advance("4m")
        before = len(order)
        await t.advance("2m")

        assert 3 <= before < len(order)


@in_virtual_time
async def test_a_success_in_between_forgets_the_failures() -> None:
    """X7"""
    app = dure.App(":memory:")

    @app.kind(retry=1)
    async def flip(fails: bool) -> None:
        await asyncio.sleep(1)
        if fails:
            raise ValueError("no")

    async with running(app, slots=1, claim_max=1) as t:
        await t.commands.configure_lane("odd", by="test", failures_max=3)
        await t.enqueue_many([flip(number % 3 != 2) for number in range(12)], lane="odd")
        await t.run_until_idle()

        assert 12 == len(await t.jobs("state:success,failed"))
        assert not (await t.insights.lane("odd")).lane.is_disabled


@in_virtual_time
async def test_a_failing_lane_leaves_the_others_on_time() -> None:
    """X7 D7"""
    order: list[str] = []
    async with running(app_noting(order, seconds=1.0), slots=2, claim_max=2) as t:
        await t.commands.configure_lane("bad", by="test", failures_max=3)
        await fill(t, bad=1000, good=20)
        await t.advance("30s")

        assert 20 == len(await t.jobs("lane:good state:success"))


@in_virtual_time
async def test_a_lane_nobody_has_named_is_not_found() -> None:
    async with running(app_noting([])) as t:
        with pytest.raises(NotFound, match="nowhere"):
            await t.commands.reset_lane("nowhere", by="test")


@in_virtual_time
async def test_jobs_of_a_lane_keep_their_order_on_one_slot() -> None:
    """X2"""
    ran: list[int] = []
    app = dure.App(":memory:")

    @app.kind
    async def note(number: int) -> None:
        ran.append(number)

    async with running(app, slots=1) as t:
        await t.enqueue_many([note(number) for number in range(300)])
        await t.run_until_idle()

        assert list(range(300)) == ran
        assert {State.SUCCESS} == {job.state for job in await t.jobs()}
