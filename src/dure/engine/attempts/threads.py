"""Running plain functions in threads, in a way that lets a timeout take the slot back.

Python cannot kill a thread. A stop raises `AttemptStopped` inside it, which ends pure Python
code at once. Code that is stuck in a C call hears of it only when the call returns; such a
thread is abandoned after a grace: its slot is free, a new thread takes its place, and
whatever it still does cannot be committed, because its fence is gone. Work that must be
killed for certain belongs in a process handler.
"""

import asyncio
import ctypes
import threading
from collections.abc import Callable
from contextvars import Context
from queue import SimpleQueue
from typing import Any, Final

GRACE_SECONDS: Final = 2.0
"""How long an interrupted thread may take to notice before it is abandoned."""


class AttemptStopped(BaseException):
    """Raised inside a thread handler whose attempt was stopped."""


class _Call:
    """One function call on its way through a thread."""

    __slots__ = (
        "args",
        "context",
        "fn",
        "future",
        "ident",
        "is_abandoned",
        "is_dropped",
        "kwargs",
        "lock",
        "loop",
    )

    def __init__(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        context: Context,
    ) -> None:
        self.fn = fn
        self.args = args
        self.kwargs = kwargs
        self.context = context
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.ident: int | None = None
        self.lock = threading.Lock()
        self.is_dropped = False
        """Cancelled before a thread took it."""
        self.is_abandoned = False
        """Its thread did not stop in time; nobody waits for it."""


class Threads:
    """Threads that grow with demand up to a bound, and are replaced when abandoned."""

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._queue: SimpleQueue[_Call | None] = SimpleQueue()
        self._idle = 0
        self._waiting = 0
        """Calls that no thread has taken yet; an idle thread may not have woken up for its own."""
        self._size = 0
        self._lock = threading.Lock()
        self.abandoned = 0
        """Threads that did not stop in time and still run."""

    async def run(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        context: Context,
    ) -> Any:
        """Call `fn` in a thread. Cancelling this interrupts the function."""
        call = _Call(fn, args, kwargs, context)
        self._queue.put(call)
        with self._lock:
            self._waiting += 1
            if self._idle < self._waiting and self._size < self._size_max:
                self._size += 1
                threading.Thread(target=self._work, name="dure-handler", daemon=True).start()
        try:
            return await asyncio.shield(call.future)
        except asyncio.CancelledError:
            await self._interrupt(call)
            raise

    async def _interrupt(self, call: _Call) -> None:
        with call.lock:
            if call.ident is None:
                call.is_dropped = True
                return
            if not call.future.done():
                _raise_in(call.ident, AttemptStopped)
        done, _ = await asyncio.wait({call.future}, timeout=GRACE_SECONDS)
        if done:
            call.future.exception()
            return
        with self._lock:
            call.is_abandoned = True
            self.abandoned += 1
            self._size -= 1

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            call = self._queue.get()
            with self._lock:
                self._idle -= 1
                self._waiting -= call is not None
            if call is None:
                break
            answer, error = self._run(call)
            with self._lock:
                if call.is_abandoned:
                    self.abandoned -= 1
                    return
            try:
                call.loop.call_soon_threadsafe(self._answer, call, answer, error)
            except RuntimeError:
                break  # the loop is closed: nobody waits any more
        with self._lock:
            self._size -= 1

    @staticmethod
    def _run(call: _Call) -> tuple[Any, BaseException | None]:
        answer: Any = None
        error: BaseException | None = None
        try:
            with call.lock:
                if call.is_dropped:
                    return None, AttemptStopped()
                call.ident = threading.get_ident()
            try:
                answer = call.context.run(call.fn, *call.args, **call.kwargs)
            except BaseException as raised:  # whatever a handler raises belongs to its caller
                error = raised
            with call.lock:
                call.ident = None
        except AttemptStopped as late:
            error = late
        return answer, error

    @staticmethod
    def _answer(call: _Call, answer: Any, error: BaseException | None) -> None:
        if call.future.done():
            return
        if error is None:
            call.future.set_result(answer)
        elif isinstance(error, StopIteration):
            call.future.set_exception(RuntimeError(f"the handler raised StopIteration: {error}"))
        else:
            call.future.set_exception(error)

    def close(self) -> None:
        """Let idle threads end; busy ones end after their call."""
        with self._lock:
            for _ in range(self._size):
                self._queue.put(None)


def _raise_in(ident: int, error: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(error))
