"""Standing orders: an idle node asks in advance, and may get jobs in the commit that adds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dure.core.state import State
from dure.core.stream import pack
from dure.ports.rows import NewJob
from dure.ports.store import Standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.conformance.conftest import Yard

    from dure.ports.rows import Claim

STREAM = pack(1, 1, 2)
OTHER = pack(2, 1, 2)


class Node:
    """Leaves an order and takes what is delivered."""

    def __init__(self, yard: Yard, *, room: int, worker: int = 7) -> None:
        self.claims: list[Claim] = []
        self.deliveries = 0
        yard.store.stand(Standing(worker, frozenset({STREAM}), room, self.receive))

    def receive(self, claims: Sequence[Claim]) -> None:
        self.claims.extend(claims)
        self.deliveries += 1


async def test_a_job_is_delivered_or_waits_but_never_both(yard: Yard) -> None:
    """A4: whether the store can deliver or not."""
    node = Node(yard, room=3)

    ids = await yard.put(5)

    delivered = [claim.id for claim in node.claims]
    assert delivered in ([], ids[:3])
    for claim in node.claims:
        row = await yard.live(claim.id)
        assert row is not None
        assert (State.RUNNING, 7, 1) == (row["state"], row["worker"], row["fence"])
        assert (1, 1) == (claim.fence, claim.attempt)
    assert sorted(set(ids) - set(delivered)) == [claim.id for claim in await yard.take()]


async def test_an_order_is_used_up_by_one_enqueue(yard: Yard) -> None:
    node = Node(yard, room=10)
    await yard.put(1)
    delivered = len(node.claims)

    second = await yard.put(1)

    assert delivered == len(node.claims)
    assert node.deliveries <= 1
    assert second[0] in {claim.id for claim in await yard.take()}


async def test_an_order_takes_only_what_it_names_and_what_may_run(yard: Yard) -> None:
    """X7"""
    node = Node(yard, room=10)

    receipts = await yard.store.enqueue(
        [NewJob(OTHER, "{}"), NewJob(STREAM, "{}", delay=60.0), NewJob(STREAM, "{}")]
    )

    assert {claim.id for claim in node.claims} <= {receipts[2].id}
    assert [receipts[0].id] == [claim.id for claim in await yard.take(stream=OTHER)]


async def test_an_order_that_was_withdrawn_takes_nothing(yard: Yard) -> None:
    node = Node(yard, room=10)
    yard.store.stand(None)

    ids = await yard.put(2)

    assert [] == node.claims
    assert ids == [claim.id for claim in await yard.take()]
