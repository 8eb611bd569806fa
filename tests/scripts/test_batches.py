"""Batches: one after another, counted exactly, closed once, reported whatever happens."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from dure.core.batch import (
    BatchState,
    Overlap,
    RefuseBecause,
    SkipBecause,
    Tally,
    WaitFor,
)
from dure.core.errors import IllegalTransition, NotFound
from dure.core.stream import pack
from dure.ports.rows import NewJob
from dure.ports.store import Store
from dure.scripts import batches
from dure.scripts.batches import Batch
from dure.stores.postgres.line import CALM
from dure.stores.postgres.store import PostgresStore
from dure.stores.sqlite.store import SqliteStore
from dure.stores.statement import read

if TYPE_CHECKING:
    from tests.scripts.conftest import Nodes

NOW = 1000.0
COLUMNS = ("added", "success", "failed", "skipped", "stale", "cancelled")


async def opened(store: Store, name: str = "daily", lease: float | None = None) -> int:
    answer = await store.run(batches.open_(name, Overlap.ALLOW, now=NOW, lease=lease))
    assert isinstance(answer, int)
    return answer


async def tallied(store: Store, batch: int, **counts: int) -> None:
    """Leave a tally by the very statement that enqueueing and finishing jobs use."""
    numbers = [counts.get(column, 0) for column in COLUMNS]
    match store:
        case SqliteStore():
            await store._submit(
                lambda c: c.execute(read("sqlite", "tally"), (batch, NOW, *numbers))
            )
        case PostgresStore():
            async with store._line("desk", CALM).use() as connection:
                lists = [[number] for number in (batch, *numbers)]
                await connection.execute(read("postgres", "tally"), *lists, NOW)


async def fold(store: Store, limit: int = 100) -> list[int]:
    return [batch.id for batch in await store.run(batches.fold(NOW + 60, limit))]


async def test_a_batch_begins_when_the_previous_one_of_its_name_is_over(store: Store) -> None:
    """X10 B9"""
    first = await opened(store)

    answers = [
        await store.run(batches.open_("daily", overlap, now=NOW + 90))
        for overlap in (Overlap.WAIT, Overlap.SKIP, Overlap.REFUSE)
    ]

    assert [WaitFor, SkipBecause, RefuseBecause] == [type(answer) for answer in answers]
    assert {first} == {getattr(answer, "batch", None) for answer in answers}
    assert isinstance(await store.run(batches.open_("weekly", Overlap.REFUSE, now=NOW)), int)
    await store.run(batches.interrupt(first, "", NOW))
    assert isinstance(await store.run(batches.open_("daily", Overlap.REFUSE, now=NOW)), int)


async def test_of_many_nodes_that_open_a_batch_at_once_one_does(nodes: Nodes) -> None:
    """X10 X21"""
    stores = await nodes(5)

    answers = await asyncio.gather(
        *(store.run(batches.open_("daily", Overlap.SKIP, now=NOW)) for store in stores)
    )

    assert 1 == sum(isinstance(answer, int) for answer in answers)


async def test_a_new_batch_is_open_and_knows_what_it_recovered(store: Store) -> None:
    """X10"""
    number = await store.run(
        batches.open_("daily", Overlap.WAIT, now=NOW, lease=30.0, orphans=4, note="by hand")
    )
    assert isinstance(number, int)

    expected = Batch(
        id=number,
        name="daily",
        state=BatchState.OPEN,
        opened_at=NOW,
        sealed_at=None,
        ended_at=None,
        lease_until=NOW + 30.0,
        tally=Tally(),
        orphans=4,
        report=None,
        note="by hand",
    )
    assert expected == await store.read(batches.get(number))


async def test_an_open_batch_is_not_closed_however_complete_its_counts_are(store: Store) -> None:
    """X10"""
    batch = await opened(store)
    await tallied(store, batch, added=2, success=2)

    assert [] == await fold(store)

    await store.run(batches.seal(batch, NOW + 5))
    assert [batch] == await fold(store)


async def test_a_sealed_batch_is_counted_and_closed_exactly_once(store: Store) -> None:
    """X10"""
    batch, other = await opened(store), await opened(store)
    await tallied(store, batch, added=9)
    await tallied(store, other, added=3)
    await store.run(batches.seal(batch, NOW + 5))
    for each in ("success", "failed", "skipped", "stale", "cancelled"):
        assert [] == await fold(store)
        await tallied(store, batch, **{each: 1})
    await tallied(store, batch, success=4)

    (closed,) = await store.run(batches.fold(NOW + 60))

    tally = Tally(added=9, success=5, failed=1, skipped=1, stale=1, cancelled=1)
    assert (BatchState.DONE, NOW + 60, tally) == (closed.state, closed.ended_at, closed.tally)
    assert closed == await store.read(batches.get(batch))
    assert [] == await fold(store)
    assert Tally(added=3) == (await store.read(batches.get(other))).tally


async def test_an_empty_batch_ends_when_it_is_sealed(store: Store) -> None:
    """X10"""
    batch = await opened(store)
    await store.run(batches.seal(batch, NOW))

    assert [batch] == await fold(store)


async def test_a_batch_is_not_closed_while_a_tally_of_it_is_not_counted_yet(store: Store) -> None:
    """X10: a fold that saw only a part of the tallies must not end the batch."""
    batch = await opened(store)
    await tallied(store, batch, added=1, success=1)
    await tallied(store, batch, added=1)
    await store.run(batches.seal(batch, NOW))

    first, second = await fold(store, limit=1), await fold(store, limit=1)
    await tallied(store, batch, failed=1)

    assert ([], []) == (first, second)
    assert [batch] == await fold(store)


async def test_enqueued_jobs_are_counted_in_their_batch(store: Store) -> None:
    """X10 X2"""
    batch = await opened(store)
    await store.enqueue([NewJob(pack(1, 1, 2), "{}", batch=batch)] * 3)

    await fold(store)

    assert 3 == (await store.read(batches.get(batch))).tally.added


async def test_many_nodes_that_fold_at_once_count_each_tally_once_and_close_once(
    nodes: Nodes,
) -> None:
    """X10 X21"""
    stores = await nodes(4)
    made = [await opened(stores[0]) for _ in range(6)]
    for batch in made:
        await tallied(stores[0], batch, added=5)
        await stores[0].run(batches.seal(batch, NOW))
    for _ in range(5):
        for batch in made:
            await tallied(stores[0], batch, success=1)

    closed = await asyncio.gather(*(fold(store, 4) for store in stores for _ in range(4)))
    last = await fold(stores[0])

    assert made == sorted([number for each in [*closed, last] for number in each])
    assert {Tally(added=5, success=5)} == {
        (await stores[0].read(batches.get(batch))).tally for batch in made
    }


async def test_an_interrupted_batch_counts_what_ended_before_and_needs_a_report(
    store: Store,
) -> None:
    """X10 B10"""
    batch = await opened(store, lease=30.0)
    await tallied(store, batch, added=5, success=2)

    ended = await store.run(batches.interrupt(batch, "shutdown", NOW + 9))

    assert (BatchState.INTERRUPTED, NOW + 9, None, "shutdown", Tally(added=5, success=2)) == (
        ended.state,
        ended.ended_at,
        ended.lease_until,
        ended.note,
        ended.tally,
    )
    assert ended == await store.read(batches.get(batch))
    assert [ended] == await store.read(batches.unreported(9))
    assert [] == await fold(store)


async def test_what_is_over_or_sealed_cannot_be_sealed_again(store: Store) -> None:
    """X10"""
    batch = await opened(store)
    await store.run(batches.seal(batch, NOW))

    with pytest.raises(IllegalTransition, match=rf"Cannot seal batch {batch} \(daily\): .*sealed"):
        await store.run(batches.seal(batch, NOW))
    await fold(store)
    with pytest.raises(IllegalTransition, match=r"Cannot interrupt .*over"):
        await store.run(batches.interrupt(batch, "", NOW))
    with pytest.raises(NotFound, match="no batch 99"):
        await store.run(batches.interrupt(99, "", NOW))


async def test_a_report_is_owed_until_it_is_stored_and_the_first_one_stays(store: Store) -> None:
    """X10: a crash between the end of a batch and its report loses no report."""
    batch, running = await opened(store), await opened(store)
    await tallied(store, batch, added=1, failed=1)
    await store.run(batches.seal(batch, NOW))
    await fold(store)
    assert [batch] == [each.id for each in await store.read(batches.unreported(9))]

    await store.run(batches.reported(batch, NOW + 61))
    stored = (await store.read(batches.get(batch))).report
    await tallied(store, batch, cancelled=1)
    await fold(store)
    await store.run(batches.reported(batch, NOW + 99))
    await store.run(batches.reported(running, NOW + 99))

    assert [] == await store.read(batches.unreported(9))
    assert stored == (await store.read(batches.get(batch))).report
    report = json.loads(stored or "{}")
    assert (batch, "DONE", 60.0, 1) == (
        report["id"],
        report["state"],
        report["duration"],
        report["tally"]["failed"],
    )
    assert (await store.read(batches.get(running))).report is None


async def test_a_batch_whose_opener_died_is_an_orphan_until_it_is_sealed(store: Store) -> None:
    """X10 B9"""
    batch, sealed = await opened(store, lease=30.0), await opened(store, lease=30.0)
    await opened(store)
    other = await opened(store, "weekly", lease=30.0)
    await store.run(batches.seal(sealed, NOW))

    assert [] == await store.read(batches.orphans("daily", NOW + 29))
    assert [batch] == [b.id for b in await store.read(batches.orphans("daily", NOW + 30))]
    assert [batch, other] == [b.id for b in await store.read(batches.orphans(None, NOW + 30))]


async def test_an_opener_that_renews_keeps_its_batch_until_it_is_sealed(store: Store) -> None:
    """X10"""
    batch = await opened(store, lease=30.0)

    assert await store.run(batches.renew(batch, 30.0, NOW + 20))
    assert [] == await store.read(batches.orphans("daily", NOW + 49))

    await store.run(batches.seal(batch, NOW + 49))
    assert not await store.run(batches.renew(batch, 30.0, NOW + 49))


async def test_batches_are_listed_newest_first_by_name_and_state(store: Store) -> None:
    """B2"""
    made = [await opened(store, name) for name in ("daily", "weekly", "daily", "daily")]
    await store.run(batches.interrupt(made[2], "", NOW))

    async def listed(
        name: str | None = None, state: BatchState | None = None, before: int | None = None
    ) -> list[int]:
        script = batches.listing(name, state, limit=2, before_id=before)
        return [batch.id for batch in await store.read(script)]

    assert [made[3], made[2]] == await listed()
    assert [made[1], made[0]] == await listed(before=made[2])
    assert [made[3], made[0]] == await listed("daily", BatchState.OPEN)
    assert [made[1]] == await listed("weekly")
