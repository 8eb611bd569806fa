"""Where tests get a store from: a PostgreSQL per test process, a database per test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dure.testing.postgres import OwnServer


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[OwnServer]:
    """One server per test process (so one per xdist worker), started when first asked for."""
    with OwnServer() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: OwnServer) -> Iterator[str]:
    """The url of an empty database of the test's own, dropped afterwards."""
    with postgres_server.database() as url:
        yield url


@pytest.fixture
def sqlite_path(tmp_path: Path) -> Path:
    """Where a test may make a SQLite database; nothing is there yet."""
    return tmp_path / "dure.db"
