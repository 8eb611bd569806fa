"""Kinds of one lane go in the order of their ranks, each within the slots that load allows it."""

import asyncio

import pytest

import dure
from dure.core.errors import KindInvalid
from dure.testing import Rig, in_virtual_time, running


def app_of(order: list[str], *, seconds: float, slots: tuple[int, int] | None) -> dure.App:
    app = dure.App(":memory:")
    for rank, name in enumerate(("first", "second", "third")):

        @app.kind(name=name, rank=rank, slots=slots)
        async def work(name: str = name) -> None:
            order.append(name)
            await asyncio.sleep(seconds)

    return app


async def fill(t: Rig, *jobs: dure.Job) -> None:
    await t.commands.pause("all", by="test")
    await t.enqueue_many(jobs)
    await t.commands.resume("all", by="test")
    await t.run_until_idle()


def job(name: str, **options: object) -> dure.Job:
    return dure.Job(name, "{}").options(**options)  # type: ignore[arg-type]


@in_virtual_time
async def test_a_lower_rank_goes_first_and_a_higher_priority_before_it() -> None:
    """A3 A12"""
    order: list[str] = []
    async with running(app_of(order, seconds=0.1, slots=None), slots=1, claim_max=1) as t:
        urgent = job("third", priority=dure.Priority.HIGH)
        await fill(t, job("third"), job("second"), job("first"), urgent, job("first"))

    assert ["third", "first", "first", "second", "third"] == order


@in_virtual_time
async def test_a_kind_with_a_range_of_slots_leaves_the_rest_to_the_next_ones() -> None:
    """A3"""
    order: list[str] = []
    async with running(app_of(order, seconds=3, slots=(2, 2)), slots=100) as t:
        await fill(t, *[job(n) for n in ("third", "second", "first") for _ in range(4)])

    assert ["first"] * 2 + ["second"] * 2 + ["third"] * 2 == order[:6]
    assert 12 == len(order)


@in_virtual_time
async def test_a_kinds_slots_grow_while_it_is_busy_and_well_and_shrink_when_idle() -> None:
    """A12 X15"""
    app = app_of([], seconds=1, slots=(2, 10))
    async with running(app, slots=100) as t:
        await t.enqueue_many([job("first")] * 400)
        await t.advance("3s")
        share = t.node.pacer.shares["first"]
        early = share.size
        await t.advance("40s")
        busy = share.size
        await t.run_until_idle()
        await t.advance("2m")

        assert 2 <= early < 5
        assert 10 == busy
        assert 2 == share.size


def test_a_range_of_slots_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(KindInvalid, match=r"low <= high"):
        app_of([], seconds=1, slots=(5, 2))
