"""PostgreSQL alone: what a statement does after it waited for somebody else's row lock."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from dure.core.state import Event, State
from dure.core.stream import pack
from dure.ports.rows import NewJob

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.conformance.conftest import Yard

pytestmark = pytest.mark.parametrize("connect", ["postgres"], indirect=True)

STREAM = pack(1, 1, 2)
EDIT = "update dure_live set tokens = tokens + 1"
WAITING = "select count(*) from pg_locks where not granted"


class Operator:
    """Another transaction, which holds row locks until it is told to commit."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._transaction = connection.transaction()

    async def begin(self, statement: str) -> None:
        await self._transaction.start()
        await self._connection.execute(statement)

    async def commit_when_waited_for(self) -> None:
        while not await self._connection.fetchval(WAITING):
            pass
        await self._transaction.commit()


@pytest.fixture
async def operator(yard: Yard, migrated_url: str) -> AsyncIterator[Operator]:
    connection = await asyncpg.connect(migrated_url)
    yield Operator(connection)
    await connection.close()


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        (Event.SUCCEED, {}),
        (Event.SUCCEED, {"batch": 1}),
        (Event.FAIL, {"key": "k"}),
        (Event.RETRY, {}),
        (Event.GIVE_BACK, {}),
    ],
)
async def test_a_job_that_an_operator_edits_while_it_ends_is_in_one_place(
    yard: Yard, operator: Operator, event: Event, fields: dict[str, object]
) -> None:
    """X3 X13: nor is its worker told that it was fenced off."""
    claim = await yard.take_one(**fields)
    change = yard.change(claim, event)
    await operator.begin(EDIT)

    applied, _ = await asyncio.gather(yard.store.apply([change]), operator.commit_when_waited_for())

    assert (frozenset(), {}) == (applied.refused, applied.broken)
    assert change.transition.to is await yard.state(claim.id)
    row = await yard.live(claim.id) or await yard.past(claim.id)
    assert row is not None
    assert row["tokens"] == 1


async def test_of_two_who_end_one_attempt_only_the_first_is_noted(
    yard: Yard, operator: Operator
) -> None:
    """X3: the sweeper was faster by the length of a transaction."""
    claim = await yard.take_one()
    change = yard.change(claim, Event.RETRY, error="503")
    await operator.begin(
        f"with n as (insert into dure_attempt (job, fence, attempt, ended_at, event)"
        f" values ({claim.id}, 1, 1, 0, 'lease_lost'))"
        " update dure_live set state = 2, ready = false, due = 1"
    )

    applied, _ = await asyncio.gather(yard.store.apply([change]), operator.commit_when_waited_for())

    assert {claim.id} == applied.refused
    assert [(1, "lease_lost", None)] == await yard.attempts(claim.id)


async def test_a_key_that_is_being_freed_is_waited_for(yard: Yard, operator: Operator) -> None:
    """X2"""
    first = await yard.enqueue(key="k")
    await operator.begin("delete from dure_key")

    receipts, _ = await asyncio.gather(
        yard.store.enqueue([NewJob(STREAM, "{}", key="k")]), operator.commit_when_waited_for()
    )

    assert receipts[0].is_new
    assert receipts[0].id > first.id


async def test_a_claim_steps_over_jobs_that_others_hold(yard: Yard, operator: Operator) -> None:
    """X21: it never waits."""
    first, second = await yard.put(2)
    await operator.begin(f"{EDIT} where id = {first}")

    claims = await yard.take()

    assert [second] == [claim.id for claim in claims]
    assert State.PENDING is await yard.state(first)
