"""A store that refuses: the caller hears what is wrong, and no job is blamed for it."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import psycopg
import pytest

from dure.core.decide import Transition
from dure.core.errors import StoreCorrupt, StoreDenied, StoreUnavailable
from dure.core.state import Event, State
from dure.core.stream import pack
from dure.ports.rows import Ask, Change, Claim, NewJob
from dure.stores.postgres import PostgresStore
from dure.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

STREAM = pack(1, 1, 2)
PAGE = 4096


def change(claim: Claim, event: Event, to: State) -> Change:
    moved = Transition(claim.id, claim.fence, State.RUNNING, event, to, claim.attempt)
    return Change(moved, claim.stream)


def damage(path: Path) -> None:
    """Spoil every page but the first, which says that this is a database."""
    with path.open("r+b") as file:
        for place in range(PAGE, path.stat().st_size, PAGE):
            file.seek(place)
            file.write(b"\x99" * PAGE)


async def test_a_damaged_file_is_called_damaged(sqlite_path: Path) -> None:
    store = SqliteStore(sqlite_path)
    await store.open()
    await store.enqueue([NewJob(STREAM, "{}")] * 2000)
    await store.close()
    with sqlite3.connect(sqlite_path) as file:
        file.execute("pragma wal_checkpoint(truncate)")
    file.close()
    damage(sqlite_path)

    with pytest.raises(StoreCorrupt, match="restore a backup"):
        await SqliteStore(sqlite_path).open()


async def test_a_file_that_may_only_be_read_can_be_made_writable_while_work_waits(
    sqlite_path: Path,
) -> None:
    """X12: the caller may try again, and the job is not called broken."""
    store = SqliteStore(sqlite_path)
    await store.open()
    await store.enqueue([NewJob(STREAM, "{}")])
    [claim] = await store.claim(1, [Ask(STREAM, 1, 0)])
    finish = [change(claim, Event.SUCCEED, State.SUCCESS)]
    connection = await store._submit(lambda connection: connection)
    connection.execute("pragma query_only = on").close()

    with pytest.raises(StoreDenied) as raised:
        await store.apply(finish)
    connection.execute("pragma query_only = off").close()

    assert raised.value.retryable
    assert not (await store.apply(finish)).refused
    await store.close()


@pytest.fixture
def weak_url(postgres_url: str) -> str:
    """The url of a database for a user who may connect and nothing else."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            """
            do $$ begin
              if not exists (select from pg_roles where rolname = 'weak') then
                create role weak login;
              end if;
            end $$"""
        )
    return postgres_url.replace("postgres@", "weak@")


async def test_a_user_without_rights_is_told_which_one_is_missing(weak_url: str) -> None:
    with pytest.raises(
        StoreDenied, match=r"permission denied for table \w+\. Connect as the owner"
    ):
        await PostgresStore(weak_url).open()


async def test_a_right_that_is_taken_away_is_no_fault_of_the_jobs(
    postgres_url: str, weak_url: str
) -> None:
    """X12: what ended is committed when the right is back."""
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute("grant all on all tables in schema public to weak")
        owner.execute("grant all on all sequences in schema public to weak")
        store = PostgresStore(weak_url)
        await store.open()
        await store.enqueue([NewJob(STREAM, "{}")] * 3)
        claims = await store.claim(1, [Ask(STREAM, 3, 0)])
        ended = [
            change(claims[0], Event.SUCCEED, State.SUCCESS),
            change(claims[1], Event.FAIL, State.FAILED),
            change(claims[2], Event.GIVE_BACK, State.PENDING),
        ]
        owner.execute("revoke all on dure_live from weak")
        for each in ended:
            with pytest.raises(StoreDenied) as raised:
                await store.apply([each])
            assert raised.value.retryable
        owner.execute("grant all on dure_live to weak")

        applied = await store.apply(ended)

        assert (frozenset(), {}) == (applied.refused, applied.broken)
        await store.close()
        owner.execute("drop owned by weak")


async def test_a_server_that_became_a_standby_is_left_for_another(postgres_url: str) -> None:
    """X12: the next call connects anew, where the address may lead elsewhere by then."""
    name = postgres_url.partition("@/")[2].partition("?")[0]
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        store = PostgresStore(postgres_url)
        await store.open()
        owner.execute(f"alter database {name} set default_transaction_read_only = on".encode())
        with pytest.raises(StoreUnavailable, match="read-only"):
            await store.enqueue([NewJob(STREAM, "{}")])
        owner.execute("set default_transaction_read_only = off")
        owner.execute(f"alter database {name} reset all".encode())

        [receipt] = await store.enqueue([NewJob(STREAM, "{}")])

        assert receipt.is_new
        await store.close()
