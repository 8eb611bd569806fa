"""A worker that was declared dead and does not know it: it cannot write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dure.core.outcome import Write
from dure.core.state import Event, State
from dure.core.stream import pack
from dure.ports.rows import Effects, NewJob

if TYPE_CHECKING:
    from tests.conformance.conftest import Yard

    from dure.ports.rows import Claim

NEXT = pack(1, 2, 2)


def traces(name: str) -> Effects:
    """Effects that would be seen."""
    write = Write("insert into note (name, value) values (:name, 1)", {"name": name})
    return Effects([write], [NewJob(NEXT, name)])


async def lose_the_lease(yard: Yard, claim: Claim) -> None:
    """What the sweeper decides about a job of a dead worker, until it is due again."""
    await yard.end(claim, Event.LEASE_LOST, error="worker 1 died")
    await yard.end(await yard.standing(claim.id), Event.DUE)


async def test_a_worker_declared_dead_cannot_write(yard: Yard) -> None:
    """X3 A4"""
    dead = await yard.take_one(batch=1)
    await lose_the_lease(yard, dead)
    [alive] = await yard.take(worker=2)

    applied = await yard.end(dead, Event.SUCCEED, effects=traces("dead"))

    assert {dead.id} == applied.refused
    assert {} == await yard.notes()
    assert State.RUNNING is await yard.state(dead.id)
    assert [1, 0, 0, 0, 0, 0] == await yard.tally(1)

    await yard.end(alive, Event.SUCCEED, effects=traces("alive"))

    assert {"alive": 1} == await yard.notes()
    assert ["alive"] == [job.body for job in await yard.take(stream=NEXT)]


@pytest.mark.parametrize("event", [Event.SUCCEED, Event.RETRY, Event.FAIL, Event.GIVE_BACK])
async def test_it_cannot_write_before_the_job_is_claimed_again_either(
    yard: Yard, event: Event
) -> None:
    """X3: the fence is still its own, but the state is not."""
    dead = await yard.take_one()
    await lose_the_lease(yard, dead)
    before = await yard.live(dead.id)

    applied = await yard.end(dead, event, effects=traces("dead"))

    assert {dead.id} == applied.refused
    assert before == await yard.live(dead.id)
    assert {} == await yard.notes()


async def test_it_cannot_write_after_another_worker_has_finished(yard: Yard) -> None:
    """X3"""
    dead = await yard.take_one(batch=1)
    await lose_the_lease(yard, dead)
    [alive] = await yard.take(worker=2)
    await yard.end(alive, Event.SUCCEED, result='"alive"')

    applied = await yard.end(dead, Event.SUCCEED, result='"dead"', effects=traces("dead"))

    assert {dead.id} == applied.refused
    assert '"alive"' == (await yard.past(dead.id) or {})["result"]
    assert [1, 1, 0, 0, 0, 0] == await yard.tally(1)


async def test_it_cannot_finish_a_job_that_was_cancelled_meanwhile(yard: Yard) -> None:
    """X16"""
    claim = await yard.take_one(key="k", batch=1)
    await yard.end(claim, Event.CANCEL, reason="by hand")
    holder = await yard.enqueue(key="k")

    applied = await yard.end(claim, Event.SUCCEED, effects=traces("late"))

    assert {claim.id} == applied.refused
    assert {} == await yard.notes()
    assert [1, 0, 0, 0, 0, 1] == await yard.tally(1)
    assert not (await yard.enqueue(key="k")).is_new
    assert State.PENDING is await yard.state(holder.id)


async def test_a_refused_job_in_a_group_takes_nobody_with_it(yard: Yard) -> None:
    """X3"""
    await yard.put(10)
    claims = await yard.take()
    await lose_the_lease(yard, claims[4])
    await yard.take(worker=2)
    changes = [yard.change(claim, Event.SUCCEED, effects=traces(str(claim.id))) for claim in claims]

    applied = await yard.store.apply(changes)

    assert {claims[4].id} == applied.refused
    assert {str(claim.id) for claim in claims} - {str(claims[4].id)} == set(await yard.notes())
