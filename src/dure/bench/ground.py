"""Where measurements take place: fresh, empty stores on the disk or the server that was named.

Nothing that is already there is touched: on SQLite a new folder beside the named file, on
PostgreSQL schemas of their own in the named database. All of it is removed at the end.
Besides stores a ground has what no engine offers: rows loaded behind the engine's back,
a transaction held open, and plain questions.
"""

import asyncio
import itertools
import os
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from dure.core.errors import UrlInvalid

_numbers = itertools.count(1)
_UNFINISHED = "select id from dure_live where ready order by stream, pos limit 1"


class Ground(Protocol):
    """A place that hands out empty stores, one at a time."""

    dialect: str
    url: str
    """Of what was named: another ground can be opened beside this one."""
    folder: Path
    """For the files of a measurement itself."""

    async def fresh(self) -> str:
        """The url of a new, empty store; the one before is gone."""
        ...

    async def ask(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query on the present store."""
        ...

    async def load(
        self,
        table: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        *,
        analyze: bool = False,
    ) -> None:
        """Insert rows in one transaction; with `analyze` the planner knows of them at once."""
        ...

    async def reserve(self, count: int) -> int:
        """Take so many ids from the engine's counter; the first of them."""
        ...

    async def analyze(self, *, vacuum: bool = False) -> None:
        """Let the planner know what is there. Does nothing on SQLite."""
        ...

    def held(self) -> Any:
        """An async context in which a transaction with an old snapshot stays open."""
        ...

    async def close(self) -> None: ...


async def is_served(ground: Ground) -> bool:
    """Whether nothing is left that waits for its turn or runs."""
    return not await ground.ask(_UNFINISHED)


async def open_ground(url: str) -> Ground:
    """The ground that a store's url stands for. Raises UrlInvalid."""
    if url.startswith(("postgresql:", "postgres:")):
        ground = PostgresGround(url)
        await ground.open()
        return ground
    return SqliteGround(url)


def _folder(beside: Path | None = None) -> Path:
    return Path(tempfile.mkdtemp(prefix="dure-bench-", dir=beside))


class SqliteGround:
    """Files in a folder of its own beside the file that was named."""

    dialect = "sqlite"

    def __init__(self, url: str) -> None:
        path, mark, options = url.removeprefix("sqlite:").partition("?")
        if not path or path == ":memory:" or "://" in path:
            raise UrlInvalid(
                f"{url!r} cannot be measured.",
                "Name a file: its folder is where the stores are made, itself stays as it is.",
            )
        if not Path(path).resolve().parent.is_dir():
            raise UrlInvalid(f"There is no folder for {path!r}.", "Create it first.")
        self.url = url
        self._options = mark + options
        self.folder = _folder(Path(path).resolve().parent)
        self._number = 0
        self._asking: sqlite3.Connection | None = None

    @property
    def _path(self) -> Path:
        return self.folder / f"{self._number}.db"

    async def fresh(self) -> str:
        self._leave()
        self._number += 1
        return f"sqlite:{self._path}{self._options}"

    def _leave(self) -> None:
        if self._asking is not None:
            self._asking.close()
            self._asking = None
        for ending in ("", "-wal", "-shm"):
            Path(f"{self._path}{ending}").unlink(missing_ok=True)

    def _connection(self) -> sqlite3.Connection:
        if self._asking is None:
            self._asking = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        return self._asking

    async def ask(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection().execute(query).fetchall()

    async def load(
        self,
        table: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        *,
        analyze: bool = False,
    ) -> None:
        del analyze  # the engine's statements on SQLite do not depend on statistics
        places = ", ".join("?" * len(columns))
        statement = f"insert into {table} ({', '.join(columns)}) values ({places})"
        connection = self._connection()
        connection.execute("begin immediate")
        connection.executemany(statement, rows)
        connection.execute("commit")

    async def reserve(self, count: int) -> int:
        statement = "update dure_seq set value = value + ? returning value"
        last: int = self._connection().execute(statement, (count,)).fetchall()[0][0]
        return last - count + 1

    async def analyze(self, *, vacuum: bool = False) -> None:
        """Nothing: see `load`."""

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        connection = sqlite3.connect(self._path, isolation_level=None)
        connection.execute("begin")
        connection.execute(_UNFINISHED).fetchall()
        try:
            yield
        finally:
            connection.close()

    async def close(self) -> None:
        self._leave()
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)


class PostgresGround:
    """Schemas of its own in the database that was named."""

    dialect = "postgres"

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        pairs = parse_qsl(parts.query)
        self.url = url
        self._parts = parts
        self._pairs = [(key, value) for key, value in pairs if key != "schema"]
        self._prefix = dict(pairs).get("schema", "dure_bench")
        self._number = 0
        self._ground = next(_numbers)
        self._asking: Any = None
        self.folder = _folder()

    @property
    def _schema(self) -> str:
        return f"{self._prefix}_{os.getpid()}_{self._ground}_{self._number}"

    def _url(self, *extra: tuple[str, str]) -> str:
        return urlunsplit(self._parts._replace(query=urlencode([*self._pairs, *extra])))

    async def _connect(self) -> Any:
        import asyncpg

        try:
            return await asyncpg.connect(self._url())
        except (OSError, ValueError, asyncpg.PostgresError) as error:
            raise UrlInvalid(
                f"PostgreSQL cannot be reached: {error}.", "Check the address, user and password."
            ) from error

    async def open(self) -> None:
        """Connect. Raises UrlInvalid."""
        try:
            self._asking = await self._connect()
        except BaseException:
            await self.close()
            raise

    async def fresh(self) -> str:
        await self._leave()
        self._number += 1
        await self._asking.execute(f'set search_path to "{self._schema}"')
        return self._url(("schema", self._schema))

    async def _leave(self) -> None:
        await self._asking.execute("set client_min_messages to warning")
        await self._asking.execute(f'drop schema if exists "{self._schema}" cascade')

    async def ask(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self._asking.fetch(query)]

    async def load(
        self,
        table: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        *,
        analyze: bool = False,
    ) -> None:
        async with self._asking.transaction():
            await self._asking.copy_records_to_table(table, columns=list(columns), records=rows)
            if analyze:
                await self._asking.execute(f"analyze {table}")

    async def reserve(self, count: int) -> int:
        ((first,),) = await self.ask("select nextval('dure_seq')")
        await self.ask(f"select setval('dure_seq', {first + count - 1})")
        return int(first)

    async def analyze(self, *, vacuum: bool = False) -> None:
        for table in ("dure_live", "dure_history"):
            await self._asking.execute(f"{'vacuum ' if vacuum else ''}analyze {table}")

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        connection = await self._connect()
        try:
            await connection.execute("begin isolation level repeatable read")
            await connection.execute("select count(*) from pg_class")
            yield
        finally:
            await connection.close()

    async def close(self) -> None:
        if self._asking is not None:
            await self._leave()
            await self._asking.close()
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)
