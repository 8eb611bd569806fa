"""A line: one connection with one purpose, opened when first used and again when it breaks.

Hot statements have one connection each for claiming, finishing and enqueueing, so that
they overlap and never wait behind a report. Settings on the hot lines leave the planner
no choice: rows are always found by index or by ctid, whatever statistics say.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import asyncpg

from dure.core.errors import (
    StoreCorrupt,
    StoreDenied,
    StoreError,
    StoreFull,
    StoreUnavailable,
    UrlInvalid,
)

HOT: Final[Mapping[str, str]] = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_bitmapscan": "off",
    "jit": "off",
}
CALM: Final[Mapping[str, str]] = {"jit": "off"}

_CONNECT_SECONDS: Final = 10.0
_UNAVAILABLE: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.InternalClientError,
    asyncpg.ReadOnlySQLTransactionError,  # this server has become a standby
    asyncpg.PostgresSystemError,
    OSError,
    asyncio.TimeoutError,
)
_FULL: Final = (asyncpg.DiskFullError,)
_DENIED: Final = (asyncpg.InsufficientPrivilegeError,)
_CORRUPT: Final = (asyncpg.DataCorruptedError, asyncpg.IndexCorruptedError)


def quoted(name: str) -> str:
    """A name as SQL writes it, so that capitals and signs keep their meaning."""
    return '"' + name.replace('"', '""') + '"'


class Line:
    """One lazily opened connection, used by one caller at a time."""

    def __init__(self, dsn: str, name: str, settings: Mapping[str, str], schema: str) -> None:
        self._dsn = dsn
        self._settings = {
            **settings,
            "application_name": f"dure {name}",
            "search_path": quoted(schema),
        }
        self._connection: asyncpg.Connection | None = None
        self._lock = asyncio.Lock()
        self._closed = False

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Any]:
        """The connection, for one caller. Foreign errors leave as StoreError."""
        async with self._lock:
            try:
                yield await self._ready()
            except _FULL as error:
                raise StoreFull(
                    f"PostgreSQL has no room left: {error}.",
                    "Free some space on its disk; nothing acknowledged is lost.",
                ) from error
            except _DENIED as error:
                raise StoreDenied(
                    f"PostgreSQL refuses a right: {error}.",
                    "Connect as the owner of Dure's tables, or have it grant the right.",
                ) from error
            except _CORRUPT as error:
                raise StoreCorrupt(
                    f"PostgreSQL found damaged data: {error}.",
                    "Stop every node, and see its log and your backups.",
                ) from error
            except _UNAVAILABLE as error:
                if isinstance(error, ValueError):  # a value that the driver cannot encode
                    raise
                await self._drop()
                raise StoreUnavailable(
                    f"PostgreSQL did not answer: {type(error).__name__}: {error}."
                ) from error
            except asyncio.CancelledError:
                await self._drop()
                raise

    async def _ready(self) -> asyncpg.Connection:
        if self._closed:
            raise StoreError("The store is closed.", "Open it before using it.")
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connect()
        return self._connection

    async def _connect(self) -> asyncpg.Connection:
        try:
            return await asyncpg.connect(
                self._dsn, server_settings=self._settings, timeout=_CONNECT_SECONDS
            )
        except asyncpg.ClientConfigurationError as error:
            raise UrlInvalid(
                f"The PostgreSQL address cannot be used: {error}.", "Correct the URL."
            ) from error
        except asyncpg.InsufficientResourcesError as error:
            raise StoreUnavailable(
                f"PostgreSQL takes no more connections: {error}.",
                "A node needs 8 of them: raise max_connections, or run fewer nodes.",
            ) from error
        except asyncpg.PostgresError as error:
            raise StoreUnavailable(
                f"PostgreSQL refused the connection: {error}.",
                "Check user, password and database.",
            ) from error

    async def _drop(self) -> None:
        """A connection in doubt is never used again."""
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed():
            connection.terminate()

    async def close(self) -> None:
        self._closed = True
        async with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None and not connection.is_closed():
                try:
                    await asyncio.wait_for(connection.close(), 5)
                except (TimeoutError, *_UNAVAILABLE):
                    connection.terminate()
