"""One connection that writes, on one thread, with group commit.

Everything that writes is an operation: a function of the connection. The thread takes
whatever operations wait, runs them in one IMMEDIATE transaction, commits once, then
answers all callers. It never lingers for more: measured, waiting for company is slower.
An operation that fails is rolled back to its own savepoint and only its caller hears of it.
"""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol, TypeVar

from dure.core.errors import StoreCorrupt, StoreDenied, StoreError, StoreFull, StoreUnavailable

T = TypeVar("T")
Operation = Callable[[sqlite3.Connection], T]

_WATCH_SECONDS: Final = 0.005
_VERSION: Final = "pragma data_version"
"""On the connection that writes it grows with the commits of others, and of nobody else."""
_GROUP_MAX: Final = 256
"""Operations in one transaction; bounds how long a commit can take."""
_FULL_CODES: Final = frozenset({sqlite3.SQLITE_FULL})
_BUSY_CODES: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_CORRUPT_CODES: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_DENIED_CODES: Final = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM})


class Writer(Protocol):
    """Runs operations in transactions, one after another."""

    def submit(self, operation: Operation[T]) -> "asyncio.Future[T]": ...
    def submit_from_thread(self, operation: Operation[T]) -> "Future[T]": ...
    def watch(self, heard: Callable[[], None] | None) -> None: ...
    def close(self) -> None: ...


def wrap(error: sqlite3.Error) -> Exception:
    """The engine's name for what SQLite reports."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _FULL_CODES or "disk I/O error" in str(error):
        return StoreFull(
            f"SQLite could not write: {error}.",
            "Free some space on its disk; nothing acknowledged is lost and work goes on by itself.",
        )
    if code in _BUSY_CODES:
        return StoreUnavailable(
            f"SQLite stayed locked by another process: {error}.",
            "Look for a long transaction on the same file.",
        )
    if code in _CORRUPT_CODES:
        return StoreCorrupt(
            f"The SQLite file is damaged: {error}.",
            "Stop every process on it and restore a backup, or save what can be read with "
            "`sqlite3 FILE .recover`.",
        )
    if code in _DENIED_CODES:
        return StoreDenied(
            f"SQLite may not write: {error}.",
            "Make the file, its folder and its disk writable; work goes on by itself.",
        )
    if isinstance(error, sqlite3.OperationalError | sqlite3.InternalError):
        return StoreUnavailable(f"SQLite failed: {error}.")
    return error


def run_group(
    connection: sqlite3.Connection, operations: list[Operation[Any]]
) -> list[tuple[Any, Exception | None]]:
    """Run operations in one transaction; answers in order. Raises if the commit fails."""
    answers: list[tuple[Any, Exception | None]] = []
    execute = connection.execute
    execute("begin immediate")
    try:
        for operation in operations:
            execute("savepoint op")
            try:
                answers.append((operation(connection), None))
            except Exception as error:
                if not connection.in_transaction:
                    raise
                execute("rollback to op")
                answers.append((None, wrap(error) if isinstance(error, sqlite3.Error) else error))
            execute("release op")
        execute("commit")
    except BaseException:
        if connection.in_transaction:
            execute("rollback")
        raise
    return answers


class ThreadWriter:
    """The writer of a real node: its own thread, group commit."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._queue: SimpleQueue[tuple[Operation[Any], Future[Any] | _Reply] | None] = SimpleQueue()
        self._closed = False
        self._heard: Callable[[], None] | None = None
        self._version: int | None = None
        self._looked_at = 0.0
        self._thread = threading.Thread(target=self._work, name="dure-writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Operation[T]) -> "asyncio.Future[T]":
        if self._closed:
            raise StoreError("The store is closed.", "Open it before using it.")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue.put((operation, _Reply(loop, future)))
        return future

    def submit_from_thread(self, operation: Operation[T]) -> "Future[T]":
        if self._closed:
            raise StoreError("The store is closed.", "Open it before using it.")
        future: Future[T] = Future()
        self._queue.put((operation, future))
        return future

    def watch(self, heard: Callable[[], None] | None) -> None:
        """Call this, on the writer's thread, soon after another process has committed."""
        self._heard = heard
        if heard is not None:  # the thread may be waiting without an end
            self.submit_from_thread(lambda _: None)

    def close(self) -> None:
        """Finish what was submitted, then end the thread."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            self._thread.join()

    def _next(self, connection: sqlite3.Connection) -> tuple[Operation[Any], Any] | None:
        while self._heard is not None:
            try:
                return self._queue.get(timeout=_WATCH_SECONDS)
            except Empty:
                self._look(connection)
        return self._queue.get()

    def _look(self, connection: sqlite3.Connection) -> None:
        """Whether somebody else has written since the last look."""
        now = time.monotonic()
        if self._heard is None or now - self._looked_at < _WATCH_SECONDS:
            return
        self._looked_at = now
        version = connection.execute(_VERSION).fetchone()[0]
        if version != self._version:
            self._version = version
            self._heard()

    def _take(
        self, connection: sqlite3.Connection
    ) -> tuple[list[tuple[Operation[Any], Any]], bool]:
        first = self._next(connection)
        if first is None:
            return [], True
        group = [first]
        try:
            while len(group) < _GROUP_MAX:
                item = self._queue.get_nowait()
                if item is None:
                    return group, True
                group.append(item)
        except Empty:
            pass
        return group, False

    def _work(self) -> None:
        connection = self._connect()
        ending = False
        while not ending:
            group, ending = self._take(connection)
            if not group:
                break
            try:
                answers = run_group(connection, [operation for operation, _ in group])
            except Exception as error:
                failure = wrap(error) if isinstance(error, sqlite3.Error) else error
                answers = [(None, failure)] * len(group)
            self._answer([reply for _, reply in group], answers)
            self._look(connection)
        connection.close()

    @staticmethod
    def _answer(replies: list[Any], answers: list[tuple[Any, Exception | None]]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Any, Any, Exception | None]]] = {}
        for reply, (value, error) in zip(replies, answers, strict=True):
            if isinstance(reply, Future):
                _settle(reply, value, error)
            else:
                by_loop.setdefault(reply.loop, []).append((reply.future, value, error))
        for loop, settled in by_loop.items():
            try:
                loop.call_soon_threadsafe(_settle_all, settled)
            except RuntimeError:
                continue  # the loop is closed: nobody waits for the answer any more


class _Reply:
    """Who waits for an answer, and on which loop."""

    __slots__ = ("future", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop, future: "asyncio.Future[Any]") -> None:
        self.loop = loop
        self.future = future


def _settle_all(settled: list[tuple[Any, Any, Exception | None]]) -> None:
    for future, value, error in settled:
        _settle(future, value, error)


def _settle(future: Any, value: object, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)


class InlineWriter:
    """Runs each operation at once, on the caller's thread: for simulation, where order is all."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connection = connect()

    def submit(self, operation: Operation[T]) -> "asyncio.Future[T]":
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        _settle(future, *self._run(operation))
        return future

    def submit_from_thread(self, operation: Operation[T]) -> "Future[T]":
        future: Future[T] = Future()
        _settle(future, *self._run(operation))
        return future

    def _run(self, operation: Operation[T]) -> tuple[Any, Exception | None]:
        try:
            return run_group(self._connection, [operation])[0]
        except sqlite3.Error as error:
            return None, wrap(error)

    def watch(self, heard: Callable[[], None] | None) -> None:
        """In a simulation nobody else has the file."""

    def close(self) -> None:
        self._connection.close()
