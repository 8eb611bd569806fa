"""For callers without an event loop: the app's enqueueing side on a loop of its own.

Only what puts work in. Everything else is asynchronous.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from dure.core.errors import Refused
from dure.core.job import Job
from dure.engine.intake.within import enqueue_within
from dure.ports.rows import NewJob, Receipt
from dure.ports.store import Store

T = TypeVar("T")


class Enqueues(Protocol):
    """The asynchronous side that a bridge drives."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def enqueue(self, job: Job, **options: Any) -> Receipt: ...
    async def enqueue_many(self, jobs: Sequence[Job], **options: Any) -> list[Receipt]: ...
    async def rows_of(self, jobs: Job | Sequence[Job], **options: Any) -> list[NewJob]: ...

    @property
    def store(self) -> Store: ...


class Bridge:
    """Synchronous `enqueue`, `enqueue_many` and `enqueue_within`; safe from any thread."""

    def __init__(self, make: Callable[[], Enqueues]) -> None:
        self._make = make
        self._inner: Enqueues | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def enqueue(self, job: Job, **options: Any) -> Receipt:
        """Put one job in; returns when it is durable."""
        return self._call(lambda inner: inner.enqueue(job, **options))

    def enqueue_many(self, jobs: Sequence[Job], **options: Any) -> list[Receipt]:
        """Put many jobs in, in groups."""
        return self._call(lambda inner: inner.enqueue_many(jobs, **options))

    def enqueue_within(
        self, connection: object, jobs: Job | Sequence[Job], **options: Any
    ) -> list[Receipt]:
        """Put jobs in as part of the transaction that `connection` is in."""
        loop, inner = self._ready()
        rows = asyncio.run_coroutine_threadsafe(inner.rows_of(jobs, **options), loop).result()
        return _drive(enqueue_within(inner.store, connection, rows))

    def close(self) -> None:
        """Close the store and end the loop. The next call opens them again."""
        with self._lock:
            if self._loop is None or self._thread is None or self._inner is None:
                return
            asyncio.run_coroutine_threadsafe(self._inner.close(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = self._thread = self._inner = None

    def _call(self, call: Callable[[Enqueues], Coroutine[Any, Any, T]]) -> T:
        loop, inner = self._ready()
        return asyncio.run_coroutine_threadsafe(call(inner), loop).result()

    def _ready(self) -> tuple[asyncio.AbstractEventLoop, Enqueues]:
        with self._lock:
            if self._loop is None or self._inner is None:
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=loop.run_forever, name="dure-sync", daemon=True)
                thread.start()
                inner = self._make()
                try:
                    asyncio.run_coroutine_threadsafe(inner.open(), loop).result()
                except BaseException:
                    loop.call_soon_threadsafe(loop.stop)
                    thread.join()
                    loop.close()
                    raise
                self._loop, self._thread, self._inner = loop, thread, inner
            return self._loop, self._inner


def _drive(inserting: Coroutine[Any, Any, T]) -> T:
    """Run in the caller's own thread what never waits, because its connection does not."""
    try:
        inserting.send(None)
    except StopIteration as stop:
        answer: T = stop.value
        return answer
    inserting.close()
    raise Refused(
        "This connection is asynchronous.", "Use `await app.enqueue_within(connection, job)`."
    )
