"""Enqueueing inside the caller's own transaction, and from code without an event loop."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

import dure
from dure.core.errors import ConfigError, Refused
from dure.core.filter import JobFilter
from dure.engine.desk.insights import Insights


def declare(app: dure.App) -> Callable[[str], dure.Job]:
    @app.kind
    async def note(name: str) -> None:
        pass

    return note


async def names(app: dure.App) -> list[object]:
    found = await Insights(app.store).jobs(JobFilter.parse(""), newest_first=False)
    return [job.args["name"] for job in found]


async def test_with_sqlite3_a_job_exists_when_the_caller_commits(sqlite_path: Path) -> None:
    """X2"""
    app = dure.App(sqlite_path)
    note = declare(app)
    async with app:
        connection = sqlite3.connect(sqlite_path)
        connection.row_factory = sqlite3.Row
        connection.execute("create table own (name text)")
        connection.commit()
        connection.execute("insert into own values ('rolled back')")
        await app.enqueue_within(connection, note("rolled back"))
        connection.rollback()
        connection.execute("insert into own values ('kept')")
        (first, second) = await app.enqueue_within(
            connection, [note("kept"), note("too")], lane="default"
        )
        before = await names(app)
        connection.commit()

        assert [] == before
        assert ["kept", "too"] == await names(app)
        assert first.id < second.id
        assert [("kept",)] == [tuple(row) for row in connection.execute("select * from own")]
        connection.close()


@pytest.fixture
async def postgres_app(postgres_url: str) -> AsyncIterator[dure.App]:
    app = dure.App(postgres_url)
    declare(app)
    async with app:
        yield app


def note(name: str) -> dure.Job:
    return dure.Job("note", f'{{"name": "{name}"}}')


async def test_with_asyncpg_a_job_exists_when_the_caller_commits(
    postgres_app: dure.App, postgres_url: str
) -> None:
    """X2"""
    import asyncpg

    connection = await asyncpg.connect(postgres_url)
    transaction = connection.transaction()
    await transaction.start()
    await postgres_app.enqueue_within(connection, note("rolled back"))
    await transaction.rollback()
    async with connection.transaction():
        await postgres_app.enqueue_within(connection, [note("kept"), note("too")])
        before = await names(postgres_app)
    await connection.close()

    assert [] == before
    assert ["kept", "too"] == await names(postgres_app)


async def test_with_async_psycopg_a_job_exists_when_the_caller_commits(
    postgres_app: dure.App, postgres_url: str
) -> None:
    """X2"""
    async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
        await postgres_app.enqueue_within(connection, note("rolled back"))
        await connection.rollback()
        await postgres_app.enqueue_within(connection, note("kept"), unique="k", delay="1h")
        before = await names(postgres_app)

    assert [] == before
    assert ["kept"] == await names(postgres_app)


async def test_with_plain_psycopg_a_job_exists_when_the_caller_commits(
    postgres_app: dure.App, postgres_url: str
) -> None:
    """X2"""
    with psycopg.connect(postgres_url, row_factory=psycopg.rows.dict_row) as connection:
        await postgres_app.enqueue_within(connection, note("rolled back"))
        connection.rollback()
        await postgres_app.enqueue_within(connection, note("kept"))
        before = await names(postgres_app)

    assert [] == before
    assert ["kept"] == await names(postgres_app)


async def test_a_connection_to_another_kind_of_database_is_refused(sqlite_path: Path) -> None:
    app = dure.App(sqlite_path)
    declare(app)
    async with app:
        with pytest.raises(Refused, match="Pass a sqlite3 connection"):
            await app.enqueue_within(object(), note("x"))


def test_the_sync_side_enqueues_from_any_thread(sqlite_path: Path) -> None:
    """X2"""
    app = dure.App(sqlite_path)
    make = declare(app)
    receipts: list[dure.Receipt] = []
    threads = [
        threading.Thread(target=lambda n=n: receipts.append(app.sync.enqueue(make(str(n)))))
        for n in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    receipts += app.sync.enqueue_many([make("a"), make("b")], lane="other")
    app.sync.close()
    departure = app.run(until_idle=True)

    assert 7 == len({receipt.id for receipt in receipts})
    assert departure.is_clean


def test_the_sync_side_joins_the_callers_transaction(sqlite_path: Path) -> None:
    """X2"""
    app = dure.App(sqlite_path)
    make = declare(app)
    app.sync.enqueue(make("first"))
    connection = sqlite3.connect(sqlite_path, check_same_thread=False)
    connection.execute("begin")
    app.sync.enqueue_within(connection, make("rolled back"))
    connection.rollback()
    app.sync.enqueue_within(connection, make("kept"))
    connection.commit()
    connection.close()
    app.sync.close()

    async def found() -> list[object]:
        async with app:
            return await names(app)

    assert ["first", "kept"] == asyncio.run(found())


def test_an_error_reaches_the_synchronous_caller_and_the_next_call_works(
    sqlite_path: Path,
) -> None:
    app = dure.App(sqlite_path)
    make = declare(app)
    with pytest.raises(ConfigError, match="No kind 'other'"):
        app.sync.enqueue(dure.Job("other", "{}"))
    receipt: Any = app.sync.enqueue(make("x"))
    app.sync.close()
    app.sync.close()

    assert receipt.is_new


def test_an_app_in_memory_has_no_synchronous_side() -> None:
    app = dure.App(":memory:")
    make = declare(app)
    with pytest.raises(ConfigError, match="no synchronous side"):
        app.sync.enqueue(make("x"))
