"""Where tests get a store from, and how long they try.

There is a PostgreSQL per test process, and a database that each test finds empty.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings
from tests.shared_database import SharedDatabase

from dure.stores.postgres import PostgresStore
from dure.testing.postgres import OwnServer

settings.register_profile("quick", max_examples=30, deadline=None)
settings.register_profile("thorough", max_examples=150, deadline=None)
settings.load_profile("quick")
"""`make test` asks for the thorough one."""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[OwnServer]:
    """One server per test process (so one per xdist worker), started when first asked for.

    Nothing here survives the machine, so nothing needs to reach its disk.
    """
    with OwnServer({"fsync": "off", "autovacuum": "off"}) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_desk(postgres_server: OwnServer) -> Iterator[psycopg.Connection]:
    """A connection to make databases with: `psql` would have to start for each of them."""
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        yield connection


_numbers = count(1)


@contextmanager
def _copy(desk: psycopg.Connection, template: str) -> Iterator[str]:
    """The name of a database that is there for a while. Copying files is a fifth of the work."""
    name = f"test_{next(_numbers)}"
    desk.execute(f"create database {name} template {template} strategy file_copy".encode())
    try:
        yield name
    finally:
        desk.execute(f"drop database {name} with (force)".encode())


@pytest.fixture(scope="session")
def postgres_template(postgres_server: OwnServer, postgres_desk: psycopg.Connection) -> str:
    """The name of a database with our tables, which others are copied from."""
    postgres_desk.execute(b"create database migrated")

    async def migrate() -> None:
        store = PostgresStore(postgres_server.url_of("migrated"))
        await store.open()
        await store.close()

    with ThreadPoolExecutor(1) as threads:  # who asks first may be in a running loop
        threads.submit(asyncio.run, migrate()).result()
    return "migrated"


@pytest.fixture(scope="session")
def shared_database(
    postgres_server: OwnServer, postgres_desk: psycopg.Connection, postgres_template: str
) -> Iterator[SharedDatabase]:
    """One database for all tests of this process that do not ask for one of their own."""
    shared = SharedDatabase(postgres_desk, postgres_server.url, postgres_template)
    yield shared
    shared.close()


@pytest.fixture
def postgres_url(shared_database: SharedDatabase) -> str:
    """The url of a database with our tables and nothing in them, and nobody else on it."""
    shared_database.empty()
    return shared_database.url


@pytest.fixture
def own_postgres_url(
    postgres_server: OwnServer, postgres_desk: psycopg.Connection, postgres_template: str
) -> Iterator[str]:
    """The same in a database of the test's own, for load that leaves much behind."""
    with _copy(postgres_desk, postgres_template) as name:
        yield postgres_server.url_of(name)


@pytest.fixture
def bare_postgres_url(
    postgres_server: OwnServer, postgres_desk: psycopg.Connection
) -> Iterator[str]:
    """The same without tables, for tests of how they come to be."""
    with _copy(postgres_desk, "template1") as name:
        yield postgres_server.url_of(name)


@pytest.fixture
def sqlite_path(tmp_path: Path) -> Path:
    """Where a test may make a SQLite database; nothing is there yet."""
    return tmp_path / "dure.db"
