"""The PostgreSQL store: the hot verbs on lines of their own, scripts on a calm one."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from dure.core.errors import StoreError, StoreUnavailable, UrlInvalid
from dure.ports.clock import Clock
from dure.ports.rows import (
    Applied,
    Ask,
    Change,
    Claim,
    Head,
    Migration,
    NewJob,
    Query,
    Receipt,
)
from dure.ports.store import Hint, Script, Standing
from dure.stores import schema as schemas
from dure.stores.postgres import changes as changing, ear, jobs as inserting
from dure.stores.postgres.line import CALM, HOT, Line, quoted
from dure.stores.statement import for_postgres, migrations, read, shared

T = TypeVar("T")

_CLAIM: Final = read("postgres", "claim")
_HEADS: Final = read("postgres", "heads")
_BEAT: Final = read("postgres", "beat")
_NOW: Final = "select extract(epoch from clock_timestamp())::float8"
_HAS_SCHEMA: Final = "select to_regclass('dure_migration') is not null"
_HAS_PARTS: Final = "select to_regclass('dure_part') is not null"
_MIGRATION_LOCK: Final = 0x64757265
_VERSION_MIN: Final = 150000
_HEADS_SETTINGS: Final = {**HOT, "statement_timeout": "30s"}


class PostgresStore:
    """Jobs in a PostgreSQL database, 15 or newer; any number of nodes."""

    dialect = "postgres"

    def __init__(self, url: str, *, clock: Clock | None = None) -> None:
        self._dsn, self._schema = _split(url)
        self._clock = clock
        self._lines: dict[str, Line] = {}
        self._is_open = False
        self._may_migrate = True

    @property
    def url(self) -> str:
        parts = urlsplit(self._dsn)
        where = parts.hostname or parse_host(parts.query)
        port = f":{parts.port}" if parts.port else ""
        return f"postgresql://{where}{port}{parts.path}"

    @property
    def _now(self) -> float | None:
        """A test's own time; None lets the database's clock decide."""
        return None if self._clock is None else self._clock.now()

    def _line(self, name: str, settings: Mapping[str, str]) -> Line:
        if not self._is_open:
            raise StoreError(f"The store {self.url} is not open.", "Use `async with app:`.")
        if name not in self._lines:
            self._lines[name] = Line(self._dsn, name, settings, self._schema)
        return self._lines[name]

    async def open(self, *, migrate: bool = True) -> None:
        if self._is_open:
            return
        self._is_open = True
        self._may_migrate = migrate
        try:
            async with self._line("desk", CALM).use() as connection:
                await self._migrate(connection, migrate=migrate)
        except BaseException:
            await self.close()
            raise

    async def _migrate(self, connection: Any, *, migrate: bool) -> None:
        version = int(await connection.fetchval("show server_version_num"))
        if version < _VERSION_MIN:
            raise StoreUnavailable(
                f"PostgreSQL {version // 10000} at {self.url} is too old; Dure needs 15 or newer."
            )
        async with connection.transaction():
            await connection.execute("select pg_advisory_xact_lock($1)", _MIGRATION_LOCK)
            if self._schema != "public" and migrate:
                await connection.execute(f"create schema if not exists {quoted(self._schema)}")
            if migrate:
                await connection.execute(schemas.CREATE)
            elif not await connection.fetchval(_HAS_SCHEMA):
                raise schemas.behind(migrations("postgres"), self.url)
            rows = await connection.fetch("select version, checksum from dure_migration")
            done = {row["version"]: row["checksum"] for row in rows}
            missing = schemas.pending(migrations("postgres"), done, self.url)
            if missing and not migrate:
                raise schemas.behind(missing, self.url)
            for number, name, text in missing:
                await connection.execute(text)
                await connection.execute(
                    "insert into dure_migration values ($1, $2, $3)",
                    number,
                    name,
                    schemas.checksum(text),
                )

    async def migrate(self, owner: str, steps: Sequence[Migration]) -> None:
        async with self._line("desk", CALM).use() as connection, connection.transaction():
            await connection.execute("select pg_advisory_xact_lock($1)", _MIGRATION_LOCK)
            if self._may_migrate:
                await connection.execute(schemas.CREATE_PARTS)
            elif not await connection.fetchval(_HAS_PARTS):
                raise schemas.behind(steps, self.url)
            rows = await connection.fetch(
                "select version, checksum from dure_part where owner = $1", owner
            )
            done = {row["version"]: row["checksum"] for row in rows}
            missing = schemas.pending(steps, done, self.url, owner)
            if missing and not self._may_migrate:
                raise schemas.behind(missing, self.url)
            for number, name, text in missing:
                await connection.execute(text)
                await connection.execute(
                    "insert into dure_part values ($1, $2, $3, $4)",
                    owner,
                    number,
                    name,
                    schemas.checksum(text),
                )

    async def close(self) -> None:
        lines, self._lines = self._lines, {}
        self._is_open = False
        await asyncio.gather(*(line.close() for line in lines.values()))

    async def now(self) -> float:
        if self._clock is not None:
            return self._clock.now()
        async with self._line("desk", CALM).use() as connection:
            now: float = await connection.fetchval(_NOW)
            return now

    async def enqueue(self, jobs: Sequence[NewJob]) -> Sequence[Receipt]:
        if not jobs:
            return []
        hint = inserting.hint_of(jobs)
        async with self._line("enqueue", HOT).use() as connection:
            if inserting.is_single(jobs):
                return await inserting.enqueue(connection, jobs, self._now, hint)
            async with connection.transaction():
                return await inserting.enqueue(connection, jobs, self._now, hint)

    async def enqueue_within(self, connection: Any, jobs: Sequence[NewJob]) -> Sequence[Receipt]:
        """Insert jobs in the caller's own transaction; they exist when the caller commits."""
        return await inserting.enqueue(connection, jobs, self._now, inserting.hint_of(jobs))

    async def claim(self, worker: int, asks: Sequence[Ask]) -> Sequence[Claim]:
        streams = [ask[0] for ask in asks]
        quotas = [ask[1] for ask in asks]
        marks = [ask[2] for ask in asks]
        async with self._line("claim", HOT).use() as connection:
            rows = await connection.fetch(_CLAIM, streams, quotas, marks, worker, self._now)
        return sorted(map(Claim._make, rows), key=_place)

    def stand(self, order: Standing | None) -> None:
        """Here a claim is another session's work: a notification wakes it instead."""

    async def apply(self, changes: Sequence[Change]) -> Applied:
        return await changing.apply(self._line("finish", HOT), changes, self._now)

    async def heads(self, floor: int) -> Sequence[Head]:
        async with self._line("scan", _HEADS_SETTINGS).use() as connection:
            rows = await connection.fetch(_HEADS, floor)
        return [Head(row[0], row[1]) for row in rows]

    async def beat(self, worker: int, lease: float) -> bool:
        async with self._line("desk", CALM).use() as connection:
            return await connection.fetchrow(_BEAT, worker, lease, self._now) is not None

    def beater(self) -> "PostgresBeater":
        return PostgresBeater(self._dsn, self._schema, self._clock)

    async def run(self, script: Script[T]) -> T:
        return await self._drive("desk", script)

    async def read(self, script: Script[T]) -> T:
        return await self._drive("reports", script)

    async def _drive(self, line: str, script: Script[T]) -> T:
        async with self._line(line, CALM).use() as connection, connection.transaction():
            return await _drive(connection, script)

    async def hint(self, hint: Hint) -> None:
        async with self._line("desk", CALM).use() as connection:
            await connection.execute(
                "select pg_notify($1, $2)", inserting.CHANNEL, ear.encode(hint)
            )

    def hints(self) -> AsyncGenerator[Hint, None]:
        return ear.listen(
            self._dsn, {"application_name": "dure ear", "search_path": quoted(self._schema)}
        )


async def _drive(connection: Any, script: Script[T]) -> T:
    """Run a script's queries on a connection that is in a transaction."""
    try:
        query: Query = next(script)
        while True:
            text = query.text or shared("postgres", query.name, query.where)
            compiled = for_postgres(text)
            values = compiled.arguments(query.params)
            query = script.send(await connection.fetch(compiled.text, *values))
    except StopIteration as stop:
        answer: T = stop.value
        return answer
    finally:
        script.close()


class PostgresBeater:
    """Beats on a connection and a loop of its own, from any one thread."""

    def __init__(self, dsn: str, schema: str, clock: Clock | None) -> None:
        self._clock = clock
        self._loop = asyncio.new_event_loop()
        self._line = Line(dsn, "beat", CALM, schema)

    def beat(self, worker: int, lease: float) -> bool:
        return self._loop.run_until_complete(self._beat(worker, lease))

    async def _beat(self, worker: int, lease: float) -> bool:
        now = None if self._clock is None else self._clock.now()
        async with self._line.use() as connection:
            return await connection.fetchrow(_BEAT, worker, lease, now) is not None

    def close(self) -> None:
        self._loop.run_until_complete(self._line.close())
        self._loop.close()


def _place(claim: Claim) -> tuple[int, int]:
    return claim[2], claim[3]


def parse_host(query: str) -> str:
    """The host of a URL that names it as a parameter (a Unix socket)."""
    return dict(parse_qsl(query)).get("host", "")


def _split(url: str) -> tuple[str, str]:
    """The driver's address and our schema: `?schema=jobs` is ours, the rest is the driver's."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgresql", "postgres"}:
        raise UrlInvalid(
            f"{url!r} is not a PostgreSQL address.", "Write postgresql://user@host:port/database."
        )
    pairs = parse_qsl(parts.query)
    schema = dict(pairs).get("schema", "public")
    rest = urlencode([(key, value) for key, value in pairs if key != "schema"])
    return urlunsplit(parts._replace(query=rest)), schema
