"""Enqueueing inside the caller's own transaction, on the caller's own connection.

The job exists when the caller commits and never did when the caller rolls back. Spoken
are sqlite3 connections on SQLite; asyncpg and psycopg connections on PostgreSQL.
"""

import re
import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from dure.core.errors import Refused
from dure.ports.rows import NewJob, Receipt
from dure.ports.store import Store

_NUMBERED: Final = re.compile(r"\$(\d+)")


async def enqueue_within(store: Store, connection: object, rows: Sequence[NewJob]) -> list[Receipt]:
    """Insert rows through `connection`. Raises Refused when it does not fit the store."""
    inner: Any = store
    module = type(connection).__module__.partition(".")[0]
    if store.dialect == "sqlite" and isinstance(connection, sqlite3.Connection):
        return list(inner.enqueue_within(_Plain(connection), rows))
    if store.dialect == "postgres" and module == "asyncpg":
        return list(await inner.enqueue_within(connection, rows))
    if store.dialect == "postgres" and module == "psycopg":
        return list(await inner.enqueue_within(_Psycopg(connection), rows))
    fitting = "a sqlite3" if store.dialect == "sqlite" else "an asyncpg or psycopg"
    raise Refused(
        f"Cannot enqueue on {store.url} through a {type(connection).__qualname__}.",
        f"Pass {fitting} connection that is in the transaction.",
    )


class _Plain:
    """A caller's sqlite3 connection, without its row factory."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def _cursor(self) -> sqlite3.Cursor:
        cursor = self._connection.cursor()
        cursor.row_factory = None
        return cursor

    def execute(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._cursor().execute(sql, values)

    def executemany(self, sql: str, rows: Sequence[Any]) -> sqlite3.Cursor:
        return self._cursor().executemany(sql, rows)


class _Psycopg:
    """A psycopg connection, async or not, with the few calls our statements need."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def _run(self, sql: str, values: Sequence[Any]) -> tuple[Any, list[str]]:
        text = _NUMBERED.sub(r"%(p\1)s", sql.replace("%", "%%"))
        named = {f"p{place}": value for place, value in enumerate(values, 1)}
        cursor: Any = self._connection.cursor(row_factory=None)
        answer = cursor.execute(text, named)
        if hasattr(answer, "__await__"):
            await answer
        return cursor, [column.name for column in cursor.description or ()]

    async def fetch(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        cursor, names = await self._run(sql, values)
        rows = cursor.fetchall()
        if hasattr(rows, "__await__"):
            rows = await rows
        return [dict(zip(names, row, strict=True)) for row in rows]

    async def fetchrow(self, sql: str, *values: Any) -> dict[str, Any] | None:
        rows = await self.fetch(sql, *values)
        return rows[0] if rows else None

    async def execute(self, sql: str, *values: Any) -> None:
        await self._run(sql, values)
