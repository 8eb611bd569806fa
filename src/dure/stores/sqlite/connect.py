"""Opening SQLite for one purpose each: the writer, and readers."""

import sqlite3
from pathlib import Path
from typing import Final

from dure.core.errors import StoreUnavailable, UrlInvalid

MEMORY: Final = ":memory:"
_BUSY_MS: Final = 30_000
_CACHE_KIB: Final = 4_096
"""Memory of a node must not follow the size of its file; the system caches the rest. Measured,
a larger cache or a mapped file costs no less time."""
_WAL_LIMIT_BYTES: Final = 64 << 20
_STATEMENTS: Final = 256
_DURABILITY: Final = frozenset({"FULL", "NORMAL"})
VERSION_MIN: Final = (3, 38, 0)
"""RETURNING, STRICT tables and json_each with the planner's support."""


def open_writer(path: str, durability: str = "FULL") -> sqlite3.Connection:
    """The one connection that writes. FULL survives power loss, NORMAL a process crash."""
    if durability not in _DURABILITY:
        raise UrlInvalid(
            f"Unknown durability {durability!r}.",
            "Use FULL (survives power loss) or NORMAL (survives a process crash).",
        )
    if sqlite3.sqlite_version_info < VERSION_MIN:
        raise StoreUnavailable(
            f"SQLite {sqlite3.sqlite_version} is too old; Dure needs 3.38 or newer.",
            "Use a Python built with a newer SQLite.",
        )
    connection = _connect(path)
    run = connection.execute
    if path != MEMORY:
        run("pragma journal_mode = wal").fetchall()
        run(f"pragma synchronous = {durability}")
        run(f"pragma journal_size_limit = {_WAL_LIMIT_BYTES}").fetchall()
        run("pragma wal_autocheckpoint = 4000").fetchall()
    run(f"pragma cache_size = -{_CACHE_KIB}")
    run("pragma temp_store = memory")
    return connection


def open_reader(path: str) -> sqlite3.Connection:
    """A connection for reports; it cannot write."""
    connection = _connect(path)
    connection.execute("pragma query_only = on")
    connection.row_factory = sqlite3.Row
    return connection


def _connect(path: str) -> sqlite3.Connection:
    if path != MEMORY and not Path(path).resolve().parent.is_dir():
        raise UrlInvalid(
            f"There is no folder {str(Path(path).resolve().parent)!r} for the database {path!r}.",
            "Create the folder first.",
        )
    try:
        connection = sqlite3.connect(
            path,
            timeout=_BUSY_MS / 1000,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_STATEMENTS,
        )
        connection.execute("pragma user_version").fetchone()
    except sqlite3.Error as error:
        raise StoreUnavailable(
            f"Cannot open the SQLite database {path!r}: {error}.",
            "Check the path, its permissions and that it is a database.",
        ) from error
    return connection
