"""Machines on one virtual loop: each can stand still for a while, or stop for ever.

Everything asyncio runs goes through `call_soon` and `call_at`, in a context that says which
host it belongs to. What belongs to a host that stands still is put aside and runs when the
host goes on: exactly what a stopped process or a paused virtual machine does. A dead host
never goes on, so not a line of its clean-up runs.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final, Unpack

from dure.testing.virtual import Ts, VirtualLoop


class Host:
    """A machine."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.stands_still = False
        self.is_dead = False
        self.late: deque[Callable[[], None]] = deque()
        """What will run when it goes on, in order."""


HOST: Final[ContextVar[Host | None]] = ContextVar("dure_host", default=None)


class Machines(VirtualLoop):
    """The loop all hosts share."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self._tasks: set[asyncio.Task[Any]] = set()
        """Kept, because nobody else holds on to the tasks of the dead."""
        self.set_task_factory(self._task)  # type: ignore[arg-type]  # the stub wants a protocol

    def _task(
        self,
        loop: asyncio.AbstractEventLoop,
        work: Coroutine[Any, Any, Any],
        **options: Any,
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(work, loop=loop, **options)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        host = HOST.get() if context is None else context.get(HOST)
        if host is None or not host.stands_still:
            return super().call_soon(callback, *args, context=context)
        place = context if context is not None else copy_context()
        handle = asyncio.Handle(callback, args, self, place)
        host.late.append(lambda: self._go_on(handle, callback, args, place))
        return handle

    def _go_on(
        self,
        handle: asyncio.Handle,
        callback: Callable[..., Any],
        args: tuple[Any, ...],
        context: Context,
    ) -> None:
        def run() -> None:
            if not handle.cancelled():
                callback(*args)

        super().call_soon(run, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        host = HOST.get() if context is None else context.get(HOST)
        if host is None:
            return super().call_at(when, callback, *args, context=context)
        alarm = _Alarm(self, host, callback, args)
        alarm.timer = super().call_at(when, alarm, context=context)
        return alarm.timer

    def stop_host(self, host: Host, *, is_dead: bool = False) -> None:
        """Nothing of this host runs any more, until it goes on."""
        host.stands_still = True
        host.is_dead = host.is_dead or is_dead

    def resume_host(self, host: Host) -> None:
        """Let it go on where it stopped; it does not know that time has passed."""
        host.stands_still = False
        while host.late:
            host.late.popleft()()


class _Alarm:
    """A timer of a host."""

    __slots__ = ("args", "callback", "host", "loop", "timer")

    def __init__(
        self, loop: Machines, host: Host, callback: Callable[..., Any], args: tuple[Any, ...]
    ) -> None:
        self.loop = loop
        self.host = host
        self.callback = callback
        self.args = args
        self.timer: asyncio.TimerHandle | None = None

    def __call__(self) -> None:
        if self.host.stands_still:
            context = copy_context()
            self.host.late.append(lambda: self._go_on(context))
        else:
            self.callback(*self.args)

    def _go_on(self, context: Context) -> None:
        self.loop.call_soon(self._run, context=context)

    def _run(self) -> None:
        if self.timer is not None and not self.timer.cancelled():
            self.callback(*self.args)


def on_host(host: Host) -> Context:
    """A context whose tasks run on this host."""
    context = copy_context()
    context.run(HOST.set, host)
    return context
