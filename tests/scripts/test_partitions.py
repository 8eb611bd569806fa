"""History on PostgreSQL comes and goes by whole days, and vacuum's horizon can be seen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from dure.core.decide import Transition
from dure.core.state import Event, State
from dure.ports.rows import Change, NewJob
from dure.scripts import upkeep
from dure.stores.postgres.store import PostgresStore

if TYPE_CHECKING:
    from tests.scripts.conftest import SetClock

DAY = 86_400.0
TODAY = 19_675
"""The day that the clock of these tests begins in, counted from 1970."""


@pytest.fixture
async def store(postgres_url: str, clock: SetClock) -> AsyncIterator[PostgresStore]:
    clock.moment = TODAY * DAY + 3600.0
    made = PostgresStore(postgres_url, clock=clock)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def aside(postgres_url: str) -> AsyncIterator[Any]:
    """A connection beside the store's own."""
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


async def finish(store: PostgresStore) -> int:
    job = (await store.enqueue([NewJob(1, "{}")]))[0].id
    move = Transition(job, 0, State.PENDING, Event.CANCEL, State.CANCELLED, 0)
    await store.apply([Change(move, 1)])
    return job


async def days(aside: Any, table: str = "dure_history") -> list[int]:
    """Days near the clock's that have a partition; the migration makes those of the real now."""
    rows = await aside.fetch(
        "select substring(relname from '[0-9]+$')::integer as day from pg_class "
        "where relname ~ $1 order by 1",
        f"^{table}_[0-9]+$",
    )
    return [row["day"] for row in rows if abs(row["day"] - TODAY) < 100]


async def test_a_week_of_partitions_exists_ahead(
    store: PostgresStore, clock: SetClock, aside: Any
) -> None:
    for _ in range(2):
        await store.run(upkeep.prune(0.0, 10, now=clock.now()))

        assert list(range(TODAY, TODAY + 8)) == await days(aside)
        assert list(range(TODAY, TODAY + 8)) == await days(aside, "dure_attempt")

    clock.advance(DAY)
    await store.run(upkeep.prune(0.0, 10, now=clock.now()))

    assert list(range(TODAY, TODAY + 9)) == await days(aside)


async def test_two_nodes_may_look_after_partitions_at_once(
    store: PostgresStore, postgres_url: str, clock: SetClock, aside: Any
) -> None:
    other = PostgresStore(postgres_url, clock=clock)
    await other.open()

    await asyncio.gather(
        *(each.run(upkeep.prune(0.0, 10, now=clock.now())) for each in (store, other) * 3)
    )

    await other.close()
    assert list(range(TODAY, TODAY + 8)) == await days(aside)


async def test_a_day_that_began_without_a_partition_does_not_keep_others_from_theirs(
    store: PostgresStore, clock: SetClock, aside: Any
) -> None:
    job = await finish(store)

    await store.run(upkeep.prune(0.0, 10, now=clock.now()))

    assert list(range(TODAY + 1, TODAY + 8)) == await days(aside)
    assert [job] == [row["id"] for row in await aside.fetch("select id from dure_history")]


async def test_days_that_ended_before_the_retention_are_dropped_whole(
    store: PostgresStore, clock: SetClock, aside: Any
) -> None:
    await store.run(upkeep.prune(0.0, 10, now=clock.now()))
    await finish(store)
    clock.advance(DAY)
    kept = await finish(store)
    clock.advance(DAY)

    gone = await store.run(upkeep.prune((TODAY + 1) * DAY + 1.0, 10, now=clock.now()))

    assert 0 == gone
    assert list(range(TODAY + 1, TODAY + 10)) == await days(aside)
    assert [kept] == [row["id"] for row in await aside.fetch("select id from dure_history")]


async def test_a_long_report_holds_removal_up_for_a_moment_only(
    store: PostgresStore, clock: SetClock, aside: Any
) -> None:
    await store.run(upkeep.prune(0.0, 10, now=clock.now()))
    async with aside.transaction():
        await aside.fetch("select * from dure_history")

        with pytest.raises(asyncpg.LockNotAvailableError):
            await store.run(upkeep.prune((TODAY + 3) * DAY, 10, now=clock.now()))

    await store.run(upkeep.prune((TODAY + 3) * DAY, 10, now=clock.now()))
    assert list(range(TODAY + 3, TODAY + 8)) == await days(aside)


async def test_the_oldest_transaction_in_the_way_of_vacuum_is_named(
    store: PostgresStore, aside: Any
) -> None:
    async with aside.transaction(isolation="repeatable_read"):
        await aside.fetch("select 1")

        found = await store.read(upkeep.stuck_horizon())

    assert found is not None
    assert aside.get_server_pid() == found.pid
    assert found.seconds is not None
    assert 0.0 <= found.seconds < 60.0
