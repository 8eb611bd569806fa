"""Claiming: who gets which job, in which order, under which fence."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dure.core.state import Event, State
from dure.core.stream import pack
from dure.ports.rows import Ask, Head, NewJob

if TYPE_CHECKING:
    from tests.conformance.conftest import Yard

STREAM = pack(1, 1, 2)
OTHER = pack(2, 1, 2)


async def test_jobs_of_one_stream_are_claimed_in_the_order_of_their_positions(yard: Yard) -> None:
    ids = await yard.put(20)

    first, second = await yard.take(7), await yard.take(100)

    assert ids == [claim.id for claim in (*first, *second)]
    assert ids == [claim.pos for claim in (*first, *second)]


async def test_a_claim_takes_no_more_than_its_quota(yard: Yard) -> None:
    await yard.put(5)

    assert 3 == len(await yard.take(3))
    assert 2 == len(await yard.take(3))
    assert [] == await yard.take(3)


async def test_a_quota_of_nothing_takes_nothing(yard: Yard) -> None:
    await yard.put(1)

    assert [] == await yard.take(0)


async def test_a_claim_begins_at_its_mark(yard: Yard) -> None:
    ids = await yard.put(5)

    claims = await yard.take(mark=ids[3])

    assert ids[3:] == [claim.id for claim in claims]
    assert ids[:3] == [claim.id for claim in await yard.take()]


async def test_claims_come_in_the_order_of_the_asks(yard: Yard) -> None:
    """X7: the order of the turns, or a round would not be even."""
    streams = [pack(lane, 1, 2) for lane in (3, 1, 4, 2)]
    for stream in sorted(streams):
        await yard.put(3, stream=stream)

    claims = await yard.store.claim(1, [Ask(stream, 2, 0) for stream in streams])

    assert [claim.stream for claim in claims] == [each for each in streams for _ in range(2)]
    assert all(a.pos < b.pos for a, b in zip(claims[::2], claims[1::2], strict=True))


async def test_each_stream_is_asked_for_by_itself(yard: Yard) -> None:
    """X7"""
    mine, theirs = await yard.put(3), await yard.put(3, stream=OTHER)
    asks = [Ask(OTHER, 1, 0), Ask(STREAM, 2, 0), Ask(pack(9, 9, 0), 5, 0)]

    claims = await yard.store.claim(1, asks)

    assert {STREAM: mine[:2], OTHER: theirs[:1]} == {
        stream: [claim.id for claim in claims if claim.stream == stream]
        for stream in (STREAM, OTHER)
    }


async def test_a_claim_marks_the_job_running_under_a_new_fence(yard: Yard) -> None:
    """X1"""
    [job] = await yard.put(body="[]", tokens=9)
    yard.clock.advance(5.0)

    [claim] = await yard.take(worker=42)

    row = await yard.live(job)
    assert row is not None
    assert (State.RUNNING, 1, 1, 42) == tuple(
        row[name] for name in ("state", "fence", "attempt", "worker")
    )
    assert yard.clock.now() == row["claimed_at"]
    assert (job, 1, 1) == (claim.id, claim.fence, claim.attempt)
    assert yard.clock.now() - 5.0 == claim.enqueued_at


@pytest.mark.parametrize("state", [State.RUNNING, State.RETRY_WAIT, State.SUSPENDED])
async def test_only_a_waiting_job_is_claimed(yard: Yard, state: State) -> None:
    """A4 X5"""
    await yard.stand(state)

    assert [] == await yard.take()
    assert [] == list(await yard.store.heads(0))


async def test_nothing_is_claimed_twice_by_two_nodes_at_once(yard: Yard) -> None:
    """A4 X21"""
    ids = await yard.put(400)
    other = await yard.neighbour()

    groups = await asyncio.gather(
        *(yard.store.claim(1, [Ask(STREAM, 20, 0)]) for _ in range(15)),
        *(other.claim(2, [Ask(STREAM, 20, 0)]) for _ in range(15)),
    )

    claimed = [claim.id for group in groups for claim in group]
    rest = [claim.id for claim in await yard.take(400)]
    assert ids == sorted(claimed + rest)


@pytest.mark.parametrize("event", [Event.GIVE_BACK, Event.RETRY, Event.WAIT, Event.SUSPEND])
async def test_the_fence_grows_with_every_claim_and_never_falls(yard: Yard, event: Event) -> None:
    """X3"""
    [job] = await yard.put()
    fences = []
    for _ in range(3):
        [claim] = await yard.take()
        fences.append(claim.fence)
        cause = {"after": 1.0} if event is Event.WAIT else {}
        await yard.end(claim, event, **cause)
        standing = await yard.standing(job)
        if standing.state is State.RETRY_WAIT:
            await yard.end(standing, Event.DUE)
        elif standing.state is State.SUSPENDED:
            await yard.end(standing, Event.RESUME)

    assert [1, 2, 3] == fences
    assert 3 == (await yard.standing(job)).fence


async def test_a_job_that_comes_back_goes_to_the_end_of_the_line(yard: Yard) -> None:
    """X2: so that a mark never hides it, and it overtakes nobody."""
    first, second = await yard.put(2)
    [claim] = await yard.take(1)

    applied = await yard.end(claim, Event.GIVE_BACK)

    assert [STREAM] == list(applied.streams)
    claims = await yard.take(mark=second)
    assert [second, first] == [claim.id for claim in claims]


async def test_heads_name_every_stream_with_waiting_work_and_where_it_begins(yard: Yard) -> None:
    streams = [pack(lane, 1, 2) for lane in (1, 2, 3, 70_000)]
    ids = [await yard.put(3, stream=stream) for stream in streams]
    await yard.take(3, stream=streams[1])
    await yard.take(1, stream=streams[2])

    heads = await yard.store.heads(0)

    expected = [
        Head(streams[0], ids[0][0]),
        Head(streams[2], ids[2][1]),
        Head(streams[3], ids[3][0]),
    ]
    assert expected == sorted(heads)


async def test_heads_with_a_floor_overlook_what_lies_below(yard: Yard) -> None:
    old = await yard.put(2)
    new = await yard.put(2, stream=OTHER)
    young = await yard.put(1)

    heads = await yard.store.heads(old[-1] + 1)

    assert [Head(STREAM, young[0]), Head(OTHER, new[0])] == sorted(heads)
    assert [] == list(await yard.store.heads(young[0] + 1))


async def test_an_empty_store_has_no_heads(yard: Yard) -> None:
    assert [] == list(await yard.store.heads(0))


async def test_the_largest_stream_and_the_longest_body_pass_unharmed(yard: Yard) -> None:
    stream = pack((1 << 46) - 1, (1 << 14) - 1, 3)
    body = '"' + "x" * (1 << 20) + '"'

    await yard.store.enqueue([NewJob(stream, body)])

    [claim] = await yard.take(stream=stream)
    assert body == claim.body
    assert stream == claim.stream
    await yard.end(claim, Event.SUCCEED, result=body)
    row = await yard.past(claim.id)
    assert row is not None
    assert (body, body) == (row["body"], row["result"])
