"""Where tests get a store from: a PostgreSQL per test process, a database per test."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from dure.testing.postgres import OwnServer


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[OwnServer]:
    """One server per test process (so one per xdist worker), started when first asked for.

    Nothing here survives the machine, so nothing needs to reach its disk.
    """
    with OwnServer({"fsync": "off"}) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_desk(postgres_server: OwnServer) -> Iterator[psycopg.Connection]:
    """A connection to make databases with: `psql` would have to start for each of them."""
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        yield connection


_numbers = count(1)


@pytest.fixture
def postgres_url(postgres_server: OwnServer, postgres_desk: psycopg.Connection) -> Iterator[str]:
    """The url of an empty database of the test's own, dropped afterwards."""
    name = f"test_{next(_numbers)}"
    postgres_desk.execute(f"create database {name}".encode())
    try:
        yield postgres_server.url_of(name)
    finally:
        postgres_desk.execute(f"drop database {name} with (force)".encode())


@pytest.fixture
def sqlite_path(tmp_path: Path) -> Path:
    """Where a test may make a SQLite database; nothing is there yet."""
    return tmp_path / "dure.db"
