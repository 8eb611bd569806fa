"""Unique keys: of all that ask, one gets in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dure.core.state import Event, State
from dure.core.stream import pack
from dure.ports.rows import Effects, NewJob, Receipt

if TYPE_CHECKING:
    from tests.conformance.conftest import Yard

STREAM = pack(1, 1, 2)


async def test_a_key_that_is_held_admits_no_second_job(yard: Yard) -> None:
    """X2"""
    first = await yard.enqueue(key="kind:page:1")

    second = await yard.enqueue(key="kind:page:1", body="other")

    assert Receipt(first.id, is_new=True) == first
    assert Receipt(first.id, is_new=False) == second
    assert [first.id] == [claim.id for claim in await yard.take()]


async def test_keys_differ_by_their_whole_text(yard: Yard) -> None:
    """X2: the scope is a part of the text."""
    keys = ["kind:1:a", "lane:1:a", "global:a", "global:A", "global:a ", "global:가"]

    receipts = [await yard.enqueue(key=key) for key in keys]

    assert all(receipt.is_new for receipt in receipts)


async def test_of_equal_keys_in_one_group_the_first_wins(yard: Yard) -> None:
    """X2"""
    jobs = [NewJob(STREAM, body, key=key) for body, key in (("a", "x"), ("b", "y"), ("c", "x"))]

    first, second, third = await yard.store.enqueue(jobs)

    assert (True, True, False) == (first.is_new, second.is_new, third.is_new)
    assert first.id == third.id
    assert ["a", "b"] == [claim.body for claim in await yard.take()]


@pytest.mark.parametrize(
    "event", [Event.SUCCEED, Event.SKIP, Event.FAIL, Event.STALE, Event.CANCEL]
)
async def test_a_key_is_free_when_its_job_is_finished(yard: Yard, event: Event) -> None:
    """X2"""
    claim = await yard.take_one(key="k")
    await yard.end(claim, event)

    again = await yard.enqueue(key="k")

    assert again.is_new
    assert again.id > claim.id


@pytest.mark.parametrize("event", [Event.RETRY, Event.WAIT, Event.SUSPEND, Event.GIVE_BACK])
async def test_a_job_that_comes_back_keeps_its_key(yard: Yard, event: Event) -> None:
    claim = await yard.take_one(key="k")
    await yard.end(claim, event)

    again = await yard.enqueue(key="k")

    assert Receipt(claim.id, is_new=False) == again


async def test_a_key_with_a_period_stays_taken_until_the_period_is_over(yard: Yard) -> None:
    """X2"""
    until = yard.clock.now() + 100.0
    claim = await yard.take_one(key="k", key_until=until)
    await yard.end(claim, Event.SUCCEED)

    yard.clock.advance(99.0)
    early = await yard.enqueue(key="k", key_until=until + 100.0)
    yard.clock.advance(1.0)
    late = await yard.enqueue(key="k", key_until=until + 100.0)

    assert Receipt(claim.id, is_new=False) == early
    assert late.is_new


async def test_a_job_that_outlived_its_period_does_not_free_its_successors_key(yard: Yard) -> None:
    """X2"""
    late = await yard.take_one(key="k", key_until=yard.clock.now() + 10.0)
    yard.clock.advance(11.0)
    successor = await yard.enqueue(key="k")

    await yard.end(late, Event.SUCCEED)

    assert Receipt(successor.id, is_new=False) == await yard.enqueue(key="k")


async def test_a_finished_job_may_enqueue_its_successor_under_its_own_key(yard: Yard) -> None:
    """X2 X3: a crawl that goes on under one key, page by page."""
    claim = await yard.take_one(key="crawl", body="page 1")
    then = [NewJob(STREAM, "page 2", key="crawl")]

    await yard.end(claim, Event.SUCCEED, effects=Effects(then=then))

    assert await yard.state(claim.id) is State.SUCCESS
    [successor] = await yard.take()
    assert "page 2" == successor.body
    assert Receipt(successor.id, is_new=False) == await yard.enqueue(key="crawl")


async def test_of_two_enqueuers_at_once_exactly_one_gets_the_key(yard: Yard) -> None:
    """X2 X21"""
    other = await yard.neighbour()
    groups = [
        [NewJob(STREAM, f"{side}", key=f"k{n}") for n in order]
        for side, order in (("mine", range(40)), ("theirs", reversed(range(40))))
    ]

    mine, theirs = await asyncio.gather(yard.store.enqueue(groups[0]), other.enqueue(groups[1]))

    for ours, their in zip(mine, reversed(theirs), strict=True):
        assert ours.id == their.id
        assert {True, False} == {ours.is_new, their.is_new}
    rows = await yard.ask("select count(*) as n from dure_live")
    assert rows[0]["n"] == 40


async def test_a_refused_duplicate_is_not_counted_in_its_batch(yard: Yard) -> None:
    """X10"""
    await yard.enqueue(key="k", batch=1)
    await yard.enqueue(key="k", batch=1)

    assert [1, 0, 0, 0, 0, 0] == await yard.tally(1)
