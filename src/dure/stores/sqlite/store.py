"""The SQLite store: the hot verbs and scripts, put through one writer."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from dure.core.errors import StoreError, StoreUnavailable
from dure.ports.clock import Clock, SystemClock
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
    Row,
)
from dure.ports.store import Hint, Script, Standing
from dure.stores import schema
from dure.stores.sqlite import changes as changing, connect, jobs as inserting
from dure.stores.sqlite.writer import InlineWriter, Operation, ThreadWriter, Writer, wrap
from dure.stores.statement import for_sqlite, migrations, read, shared, sqlite_value

T = TypeVar("T")

_BEAT: Final = read("sqlite", "beat")
_BEAT_TIMEOUT: Final = 30.0


class SqliteStore:
    """Jobs in one file; `:memory:` for tests. A second process on the file works too."""

    dialect = "sqlite"

    def __init__(
        self,
        path: str | Path,
        *,
        clock: Clock | None = None,
        durability: str = "FULL",
        inline: bool = False,
    ) -> None:
        self._path = str(path)
        self._clock = clock or SystemClock()
        self._durability = durability
        self._inline = inline
        self._writer_or_none: Writer | None = None
        self._readers: ThreadPoolExecutor | None = None
        self._reader: sqlite3.Connection | None = None
        self._listeners: set[asyncio.Queue[Hint]] = set()
        self._may_migrate = True
        self._order: Standing | None = None

    @property
    def url(self) -> str:
        return f"sqlite:{self._path}"

    @property
    def _writer(self) -> Writer:
        if self._writer_or_none is None:
            raise StoreError(f"The store {self.url} is not open.", "Use `async with app:`.")
        return self._writer_or_none

    @property
    def _is_memory(self) -> bool:
        return self._path == connect.MEMORY

    async def open(self, *, migrate: bool = True) -> None:
        if self._writer_or_none is not None:
            return
        self._may_migrate = migrate
        opened = connect.open_writer(self._path, self._durability)
        kind = InlineWriter if self._inline else ThreadWriter
        self._writer_or_none = kind(lambda: opened)
        try:
            await self._submit(lambda c: self._migrate(c, migrate=migrate))
        except BaseException:
            await self.close()
            raise
        if not self._is_memory:
            self._readers = ThreadPoolExecutor(1, "dure-reader")

    def _migrate(self, connection: sqlite3.Connection, *, migrate: bool) -> None:
        connection.execute(schema.CREATE)
        done = dict(connection.execute("select version, checksum from dure_migration").fetchall())
        missing = schema.pending(migrations("sqlite"), done, self.url)
        if missing and not migrate:
            raise schema.behind(missing, self.url)
        for version, name, text in missing:
            for statement in _statements(text):
                connection.execute(statement)
            connection.execute(
                "insert into dure_migration values (?, ?, ?)",
                (version, name, schema.checksum(text)),
            )

    async def migrate(self, owner: str, steps: Sequence[Migration]) -> None:
        await self._submit(lambda c: self._migrate_part(c, owner, steps))

    def _migrate_part(
        self, connection: sqlite3.Connection, owner: str, steps: Sequence[Migration]
    ) -> None:
        connection.execute(schema.CREATE_PARTS)
        rows = connection.execute(
            "select version, checksum from dure_part where owner = ?", (owner,)
        ).fetchall()
        missing = schema.pending(steps, dict(rows), self.url, owner)
        if missing and not self._may_migrate:
            raise schema.behind(missing, self.url)
        for version, name, text in missing:
            for statement in _statements(text):
                connection.execute(statement)
            connection.execute(
                "insert into dure_part values (?, ?, ?, ?)",
                (owner, version, name, schema.checksum(text)),
            )

    async def close(self) -> None:
        writer, self._writer_or_none = self._writer_or_none, None
        if self._readers is not None:
            self._readers.shutdown(wait=True)
            self._readers = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        if writer is not None:
            writer.close()

    def _submit(self, operation: Operation[T]) -> "asyncio.Future[T]":
        return self._writer.submit(operation)

    async def now(self) -> float:
        return self._clock.now()

    async def enqueue(self, jobs: Sequence[NewJob]) -> Sequence[Receipt]:
        if not jobs:
            return []
        order, self._order = self._order, None
        future = self._submit(lambda c: self._enqueue(c, jobs, order))
        if order is not None:
            future.add_done_callback(lambda done: _deliver(order, done))
        receipts, claims = await asyncio.shield(future)
        if self._listeners and len(claims) < len(jobs):
            self._tell(Hint("streams", tuple({job.stream for job in jobs})))
        return receipts

    def _enqueue(
        self, connection: sqlite3.Connection, jobs: Sequence[NewJob], order: Standing | None
    ) -> tuple[list[Receipt], list[Claim]]:
        """Insert, and claim in the same commit what an idle node has asked for in advance."""
        now = self._clock.now()
        receipts = inserting.enqueue(connection, jobs, now)
        if order is None:
            return receipts, []
        first = min(receipt.id for receipt in receipts)
        wanted = order.streams.intersection(job.stream for job in jobs)
        quota = max(order.room // max(len(wanted), 1), 1)
        asks = [Ask(stream, quota, first) for stream in sorted(wanted)[: order.room]]
        return receipts, inserting.claim(connection, order.worker, asks, now)

    def stand(self, order: Standing | None) -> None:
        self._order = order

    async def claim(self, worker: int, asks: Sequence[Ask]) -> Sequence[Claim]:
        now = self._clock.now
        return await self._submit(lambda c: inserting.claim(c, worker, asks, now()))

    async def apply(self, changes: Sequence[Change]) -> Applied:
        now = self._clock.now
        applied = await self._submit(lambda c: changing.apply(c, changes, now()))
        if applied.streams and self._listeners:
            self._tell(Hint("streams", applied.streams))
        return applied

    async def heads(self, floor: int) -> Sequence[Head]:
        return await self._submit(lambda c: inserting.heads(c, floor))

    async def beat(self, worker: int, lease: float) -> bool:
        return await self._submit(self._beat(worker, lease))

    def _beat(self, worker: int, lease: float) -> Operation[bool]:
        now = self._clock.now
        return lambda c: c.execute(_BEAT, (worker, lease, now())).fetchone() is not None

    def beater(self) -> "SqliteBeater":
        return SqliteBeater(self._writer, self._beat)

    async def run(self, script: Script[T]) -> T:
        return await self._submit(lambda c: _drive(c, script))

    async def read(self, script: Script[T]) -> T:
        if self._readers is None:
            return await self.run(script)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, script)

    def _read(self, script: Script[T]) -> T:
        try:
            if self._reader is None:
                self._reader = connect.open_reader(self._path)
            self._reader.execute("begin")
            try:
                return _drive(self._reader, script)
            finally:
                self._reader.execute("commit")
        except sqlite3.Error as error:
            raise wrap(error) from error

    def enqueue_within(
        self, connection: sqlite3.Connection, jobs: Sequence[NewJob]
    ) -> Sequence[Receipt]:
        """Insert jobs in the caller's own transaction; they exist when the caller commits."""
        return inserting.enqueue(connection, jobs, self._clock.now())

    async def hint(self, hint: Hint) -> None:
        self._tell(hint)

    def _tell(self, hint: Hint) -> None:
        for queue in self._listeners:
            with contextlib.suppress(asyncio.QueueFull):
                queue.put_nowait(hint)

    async def hints(self) -> AsyncGenerator[Hint, None]:
        queue: asyncio.Queue[Hint] = asyncio.Queue(1000)
        self._listeners.add(queue)
        try:
            if not self._is_memory:
                self._writer.watch(self._heard_others(asyncio.get_running_loop()))
            while True:
                yield await queue.get()
        finally:
            self._listeners.discard(queue)
            if not self._listeners and self._writer_or_none is not None:
                self._writer.watch(None)

    def _heard_others(self, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
        """Another process has written: what, only a look can tell. Our own writes are told."""

        def heard() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens
                loop.call_soon_threadsafe(self._tell, Hint("scan"))

        return heard


class SqliteBeater:
    """Beats through the writer's queue, from any thread."""

    def __init__(self, writer: Writer, beat: Callable[[int, float], Operation[bool]]) -> None:
        self._writer = writer
        self._beat = beat

    def beat(self, worker: int, lease: float) -> bool:
        answer = self._writer.submit_from_thread(self._beat(worker, lease))
        try:
            return answer.result(_BEAT_TIMEOUT)
        except TimeoutError as error:
            raise StoreUnavailable(
                f"SQLite did not renew the lease within {_BEAT_TIMEOUT:.0f} s.",
                "Look for a long transaction on the same file.",
            ) from error

    def close(self) -> None:
        """Nothing of its own to close."""


def _deliver(order: Standing, done: "asyncio.Future[tuple[list[Receipt], list[Claim]]]") -> None:
    """Hand over what was claimed, whoever else has stopped waiting for the answer.

    An order that came to nothing is answered too, so that the node leaves another.
    """
    is_good = not done.cancelled() and done.exception() is None
    order.deliver(done.result()[1] if is_good else [])


def _drive(connection: sqlite3.Connection, script: Script[T]) -> T:
    """Run a script's queries on the writer's connection, inside the group's transaction."""
    try:
        query: Query = next(script)
        while True:
            text = query.text or shared("sqlite", query.name, query.where)
            compiled = for_sqlite(text)
            values = [sqlite_value(v) for v in compiled.arguments(query.params)]
            cursor = connection.execute(compiled.text, values)
            names = [column[0] for column in cursor.description or ()]
            rows: list[Row] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
            query = script.send(rows)
    except StopIteration as stop:
        answer: T = stop.value
        return answer
    finally:
        script.close()


def _statements(text: str) -> list[str]:
    """The statements of a migration file, one by one, so that they share a transaction."""
    found: list[str] = []
    rest = ""
    for line in text.splitlines(keepends=True):
        rest += line
        if sqlite3.complete_statement(rest):
            found.append(rest)
            rest = ""
    return found
