"""Chunk handlers: many items in one call, an outcome for each."""

from typing import Any

import pytest

import dure
from dure import Done, Fail, Retry, Skip, State
from dure.testing import in_virtual_time, running


def app_of(answer: Any, size: int = 10, **terms: Any) -> tuple[dure.App, list[list[int]]]:
    app, calls = dure.App(":memory:"), list[list[int]]()

    @app.chunk(size, name="add", **terms)
    async def add(items: list[int]) -> Any:
        calls.append(items)
        return answer(items) if callable(answer) else answer

    return app, calls


def add(item: object) -> dure.Job:
    return dure.Job("add", f'{{"item": {item}}}')


@in_virtual_time
async def test_waiting_items_of_a_lane_come_in_one_call_up_to_the_size() -> None:
    """D5"""
    app, calls = app_of(None)
    async with running(app) as t:
        await t.commands.pause("all", by="test")
        await t.enqueue_many([add(number) for number in range(25)])
        await t.enqueue_many([add(number) for number in (100, 101)], lane="other")
        await t.commands.resume("all", by="test")
        await t.run_until_idle()

        assert [[0, 9], [10, 19], [20, 24], [100, 101]] == sorted([c[0], c[-1]] for c in calls)
        assert 27 == len(await t.jobs("state:success"))


@in_virtual_time
async def test_each_item_has_its_own_outcome() -> None:
    """D5"""
    app, _ = app_of(lambda items: [Done("yes"), Fail("no"), Skip("none"), Retry("later")])
    async with running(app) as t:
        receipts = await t.enqueue_many([add(number) for number in range(4)])
        await t.run_until_idle()

        assert [State.SUCCESS, State.FAILED, State.SUCCESS, State.RETRY_WAIT] == [
            (await t.job(receipt.id)).state for receipt in receipts
        ]


@pytest.mark.parametrize(
    ("answer", "found"), [([1], "not 1"), ([1, 2, 3], "not 3"), ("two", "not str")]
)
@in_virtual_time
async def test_a_wrong_number_of_outcomes_fails_every_item_and_says_so(
    answer: object, found: str
) -> None:
    """D5"""
    app, _ = app_of(answer)
    async with running(app) as t:
        await t.enqueue_many([add(1), add(2)])
        await t.run_until_idle()

        errors = [job.error or "" for job in await t.jobs("state:failed")]
        assert 2 == len(errors)
        assert all(f"must return 2 outcomes or None, {found}" in error for error in errors)


@in_virtual_time
async def test_an_error_counts_for_every_item_of_the_call() -> None:
    """D5"""

    def fail(items: list[int]) -> None:
        raise ValueError("the whole call")

    app, _ = app_of(fail, retry=1)
    async with running(app) as t:
        await t.enqueue_many([add(1), add(2)])
        await t.run_until_idle()

        assert ["ValueError: the whole call"] * 2 == [
            job.error for job in await t.jobs("state:failed")
        ]


@in_virtual_time
async def test_an_item_that_does_not_fit_fails_alone() -> None:
    """D5"""
    app, calls = app_of(lambda items: [Done(item) for item in items])
    async with running(app) as t:
        await t.enqueue_many([add(1), add('"two"'), add(3)])
        await t.run_until_idle()

        assert [[1, 3]] == calls
        assert [("1", None), ("3", None)] == [
            (job.result, job.error) for job in await t.jobs("state:success")
        ]
        (broken,) = await t.jobs("state:failed")
        assert broken.args == {"item": "two"}


@in_virtual_time
async def test_a_timeout_stops_the_whole_call() -> None:
    """X6"""
    import asyncio

    app = dure.App(":memory:")

    @app.chunk(10, timeout="5s", retry=1)
    async def hang(items: list[int]) -> None:
        await asyncio.sleep(3600)

    async with running(app) as t:
        await t.enqueue_many([hang(1), hang(2)])
        await t.advance("1m")

        assert 2 == len(await t.jobs("state:failed error:TimeoutError"))
