"""Opening a store: the schema is made once, by whoever comes first, or refused."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
import pytest

from dure.core.errors import SchemaAhead, SchemaBehind, StoreError, StoreUnavailable, UrlInvalid
from dure.core.stream import pack
from dure.ports.rows import NewJob
from dure.stores.postgres import PostgresStore
from dure.stores.sqlite import SqliteStore
from dure.stores.statement import migrations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dure.ports.store import Store

STREAM = pack(1, 1, 2)


class Place:
    """An empty place for stores, and a way around them."""

    def __init__(self, where: Path | str, schema: str = "") -> None:
        self._where = where
        self._schema = schema

    def store(self) -> Store:
        if isinstance(self._where, str):
            return PostgresStore(f"{self._where}&schema={self._schema}")
        return SqliteStore(self._where)

    def execute(self, statement: str) -> None:
        if isinstance(self._where, str):
            path = f"-c search_path={self._schema}"
            with psycopg.connect(self._where, options=path, autocommit=True) as connection:
                connection.execute(statement.encode())
        else:
            with sqlite3.connect(self._where) as file:
                file.execute(statement)
            file.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, sqlite_path: Path) -> Iterator[Place]:
    """A file or a schema that nobody has used yet."""
    if request.param == "sqlite":
        yield Place(sqlite_path)
    else:
        schema = f"place_{uuid4().hex}"
        place = Place(request.getfixturevalue("migrated_url"), schema)
        yield place
        place.execute(f"drop schema if exists {schema} cascade")


async def opened(store: Store, *, migrate: bool = True) -> Store:
    await store.open(migrate=migrate)
    return store


async def test_what_is_stored_survives_closing_and_opening(place: Place) -> None:
    """X12"""
    first = await opened(place.store())
    [receipt] = await first.enqueue([NewJob(STREAM, "{}")])
    await first.close()

    second = await opened(place.store())
    third = await opened(place.store(), migrate=False)

    assert [(STREAM, receipt.id)] == list(await second.heads(0))
    assert [(STREAM, receipt.id)] == list(await third.heads(0))
    await second.close()
    await third.close()


async def test_opening_an_open_store_changes_nothing(place: Place) -> None:
    store = await opened(place.store())

    await store.open()

    assert [] == list(await store.heads(0))
    await store.close()


def test_five_nodes_may_open_an_empty_place_at_once(place: Place) -> None:
    """X21: each in a process of its own, so each with a loop of its own."""

    async def start(number: int) -> int:
        store = await opened(place.store())
        receipts = await store.enqueue([NewJob(STREAM, str(number))])
        await store.close()
        return receipts[0].id

    with ThreadPoolExecutor(5) as nodes:
        ids = list(nodes.map(lambda number: asyncio.run(start(number)), range(5)))

    assert 5 == len(set(ids))


async def test_a_schema_made_by_newer_code_is_refused(place: Place) -> None:
    await (await opened(place.store())).close()
    place.execute("insert into dure_migration values (99, 'future', 'abc')")
    store = place.store()

    with pytest.raises(SchemaAhead, match=r"version 99, .* Upgrade Dure"):
        await store.open()

    with pytest.raises(StoreError, match="not open"):
        await store.heads(0)


async def test_a_migration_that_was_edited_afterwards_is_refused(place: Place) -> None:
    await (await opened(place.store())).close()
    place.execute("update dure_migration set checksum = 'edited' where version = 1")

    with pytest.raises(SchemaAhead, match=r"Migration 1 \(engine\)"):
        await place.store().open()


async def test_an_empty_place_is_refused_when_it_may_not_be_migrated(place: Place) -> None:
    with pytest.raises(SchemaBehind, match=r"1 \(engine\).* Run `dure migrate`"):
        await place.store().open(migrate=False)

    await (await opened(place.store())).close()


async def test_a_migration_that_is_missing_is_run_or_asked_for(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await (await opened(place.store())).close()
    add_a_migration(monkeypatch, "create table dure_extra (n integer);\n")

    with pytest.raises(SchemaBehind, match=r"lacks migration 2 \(extra\)"):
        await place.store().open(migrate=False)
    store = await opened(place.store())
    await store.close()

    place.execute("insert into dure_extra values (1)")


async def test_a_migration_that_fails_leaves_nothing_behind(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        add_a_migration(broken, "create table dure_extra (n integer);\nnonsense;\n")
        with pytest.raises(Exception, match="nonsense"):
            await place.store().open()

    with pytest.raises(SchemaBehind):
        await place.store().open(migrate=False)
    await (await opened(place.store())).close()


def add_a_migration(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    def more(folder: str) -> list[tuple[int, str, str]]:
        return [*migrations(folder), (2, "extra", text)]

    for store in ("sqlite", "postgres"):
        monkeypatch.setattr(f"dure.stores.{store}.store.migrations", more)


async def test_an_empty_database_is_made_ready(bare_postgres_url: str) -> None:
    store = await opened(PostgresStore(bare_postgres_url))

    assert 1 == len(await store.enqueue([NewJob(STREAM, "{}")]))
    await store.close()


async def test_a_schema_of_ones_own_keeps_its_capitals(migrated_url: str) -> None:
    """Two installations in one database."""
    lower = await opened(PostgresStore(f"{migrated_url}&schema=my jobs"))
    upper = await opened(PostgresStore(f'{migrated_url}&schema=My "Jobs"'))

    await upper.enqueue([NewJob(STREAM, "{}")])

    assert [] == list(await lower.heads(0))
    assert 1 == len(await upper.heads(0))
    await lower.close()
    await upper.close()
    with psycopg.connect(migrated_url, autocommit=True) as connection:
        assert connection.execute('select id from "My ""Jobs""".dure_live').rowcount == 1
        connection.execute('drop schema "My ""Jobs""", "my jobs" cascade')


async def test_a_node_without_the_right_to_create_can_work(migrated_url: str) -> None:
    """Least privilege: one role migrates, others only use the tables."""
    with psycopg.connect(migrated_url, autocommit=True) as connection:
        connection.execute("create role clerk login")
        connection.execute(
            "grant select, insert, update, delete on all tables in schema public to clerk"
        )
        connection.execute("grant usage on all sequences in schema public to clerk")
        store = PostgresStore(migrated_url.replace("postgres@", "clerk@"))

        await store.open(migrate=False)

        assert 1 == len(await store.enqueue([NewJob(STREAM, "{}")]))
        await store.close()
        connection.execute("drop owned by clerk")
        connection.execute("drop role clerk")


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda path, _: SqliteStore(path / "no" / "folder.db"), UrlInvalid),
        (lambda path, _: SqliteStore(path), StoreUnavailable),
        (lambda path, _: SqliteStore(path / "x.db", durability="MAYBE"), UrlInvalid),
        (lambda _, url: PostgresStore(url.replace("/database_", "/nowhere_")), StoreUnavailable),
        (lambda path, _: PostgresStore(f"postgresql://u@/d?host={path}"), StoreUnavailable),
    ],
    ids=["no-folder", "a-folder", "durability", "no-database", "no-server"],
)
async def test_a_place_that_cannot_be_opened_is_explained(
    make: Callable[[Path, str], Store], error: type[Exception], tmp_path: Path, migrated_url: str
) -> None:
    store = make(tmp_path, migrated_url)

    with pytest.raises(error):
        await store.open()

    await store.close()


async def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader,\n" * 100)

    with pytest.raises(StoreUnavailable, match=r"letter\.txt"):
        await SqliteStore(path).open()

    assert "Dear reader,\n" * 100 == path.read_text()


def test_an_address_of_something_else_is_refused() -> None:
    with pytest.raises(UrlInvalid, match="postgresql://"):
        PostgresStore("mysql://localhost/jobs")


def test_a_url_is_shown_without_its_password() -> None:
    store = PostgresStore("postgresql://me:secret@db.example:6000/jobs?schema=x")

    assert store.url == "postgresql://db.example:6000/jobs"
