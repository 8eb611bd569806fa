"""Enqueueing inside the caller's own transaction: the jobs exist when it commits."""

from __future__ import annotations

import sqlite3
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from dure.core.state import State
from dure.core.stream import pack
from dure.ports.rows import NewJob, Query
from dure.stores.postgres import PostgresStore
from dure.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from tests.conformance.conftest import Yard

    from dure.ports.rows import Receipt
    from dure.ports.store import Script

pytestmark = pytest.mark.parametrize("connect", ["file", "postgres"], indirect=True)

STREAM = pack(1, 1, 2)
JOBS = [
    NewJob(STREAM, "plain"),
    NewJob(STREAM, "later", delay=60.0, batch=1),
    NewJob(STREAM, "once", key="k"),
]
INSERT = "insert into note (name, value) values ('order', 1)"


class Caller:
    """An application with a connection of its own."""

    def __init__(self, yard: Yard, path: Path, url: str) -> None:
        self._yard, self._path, self._url = yard, path, url

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        """A connection in a transaction that writes; it commits unless an error leaves it."""
        if isinstance(self._yard.store, SqliteStore):
            with sqlite3.connect(self._path) as connection:
                connection.execute(INSERT)
                yield connection
            connection.close()
        else:
            other = await asyncpg.connect(self._url)
            try:
                async with other.transaction():
                    await other.execute(INSERT)
                    yield other
            finally:
                await other.close()

    async def enqueue(self, connection: Any, jobs: Sequence[NewJob]) -> Sequence[Receipt]:
        store = self._yard.store
        if isinstance(store, SqliteStore):
            return store.enqueue_within(connection, jobs)
        assert isinstance(store, PostgresStore)
        return await store.enqueue_within(connection, jobs)


def count() -> Script[int]:
    rows = yield Query("select count(*) as n from dure_live")
    found: int = rows[0]["n"]
    return found


@pytest.fixture
def caller(yard: Yard, sqlite_path: Path, migrated_url: str) -> Caller:
    return Caller(yard, sqlite_path, migrated_url)


async def test_jobs_exist_when_the_caller_commits(yard: Yard, caller: Caller) -> None:
    """X2"""
    async with caller.transaction() as connection:
        receipts = await caller.enqueue(connection, JOBS)
        assert 0 == await yard.store.read(count())

    assert all(receipt.is_new for receipt in receipts)
    assert ["plain", "once"] == [claim.body for claim in await yard.take()]
    assert State.RETRY_WAIT is await yard.state(receipts[1].id)
    assert [1, 0, 0, 0, 0, 0] == await yard.tally(1)
    assert {"order": 1} == await yard.notes()
    assert not (await yard.enqueue(key="k")).is_new


async def test_jobs_never_existed_when_the_caller_rolls_back(yard: Yard, caller: Caller) -> None:
    """X2"""

    async def change_its_mind() -> None:
        async with caller.transaction() as connection:
            await caller.enqueue(connection, JOBS)
            raise LookupError

    with pytest.raises(LookupError):
        await change_its_mind()

    assert [] == await yard.ask("select id from dure_live")
    assert [0] * 6 == await yard.tally(1)
    assert {} == await yard.notes()
    assert (await yard.enqueue(key="k")).is_new


async def test_ids_given_in_a_transaction_are_never_given_again(yard: Yard, caller: Caller) -> None:
    [before] = await yard.put()
    async with caller.transaction() as connection:
        receipts = await caller.enqueue(connection, [NewJob(STREAM, "{}")] * 3)
    [after] = await yard.put()

    ids = [before, *(receipt.id for receipt in receipts), after]
    assert sorted(set(ids)) == ids
