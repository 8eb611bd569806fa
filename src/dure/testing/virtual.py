"""An event loop whose time is virtual: nobody ever waits, and the same run repeats exactly.

When nothing is ready the loop moves its clock to the next timer instead of sleeping. All
that asyncio builds on timers (`sleep`, `timeout`, services, leases) then takes no time, and
an hour of a program's life passes in the time its work needs.

There are no threads and no network on this loop: both would bring back real time. Store
calls stay on the loop's thread with `SqliteStore(":memory:", inline=True, clock=...)`, and
a node beats from the loop with `NodeOptions(threaded=False)`.
"""

import asyncio
import random
import selectors
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextvars import Context
from math import inf, nextafter
from typing import Any, Final, NoReturn, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

START: Final = 1000.0
"""The loop's time at the beginning; not 0, which often stands for "never"."""
EPOCH: Final = 1_767_225_600.0
"""The wall time at the beginning: 2026-01-01 00:00 UTC."""
LATENESS: Final = 0.001
"""With a seed, timers go off up to this many seconds late, as they do on a busy machine."""
_RESOLUTION: Final = 1e-9
"""Of asyncio's own comparison; far from zero it is smaller than the next number."""


class Standstill(RuntimeError):
    """Everything waits and no timer is set: in real time this program would hang."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop on virtual time. With a seed, timers of one moment go off in a drawn order."""

    def __init__(self, seed: int | None = None) -> None:
        self._moments = _Moments(self._stand_still)
        self._draw = None if seed is None else random.Random(seed).random  # noqa: S311 - a dice
        self._thread = threading.get_ident()
        super().__init__(self._moments)

    def time(self) -> float:
        return self._moments.now

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        late = LATENESS * self._draw() if self._draw is not None else 0.0
        return super().call_at(when + late, callback, *args, context=context)

    def call_soon_threadsafe(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        if threading.get_ident() != self._thread:
            _refuse("a thread")
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(self, *_: Any) -> NoReturn:  # type: ignore[override]  # whatever is asked
        _refuse("a thread")

    def _stand_still(self) -> NoReturn:
        waiting = sorted(task.get_name() for task in asyncio.all_tasks(self))
        raise Standstill(
            f"{len(waiting)} tasks wait, nothing is ready and no timer is set, so nothing can "
            f"happen any more. Waiting are: {', '.join(waiting) or 'none'}."
        )


def _refuse(what: str) -> NoReturn:
    raise RuntimeError(
        f"A virtual loop cannot wait for {what}: real time does not pass here. Use a store with "
        "inline=True, nodes with threaded=False, and async handlers."
    )


class _Moments(selectors.BaseSelector):
    """A selector that never blocks: the time it is asked to wait has passed at once."""

    def __init__(self, stand_still: Callable[[], NoReturn]) -> None:
        self.now = START
        self._stand_still = stand_still
        self._keys: dict[int, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        number: int = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        key = self._keys[number] = selectors.SelectorKey(fileobj, number, events, data)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj if isinstance(fileobj, int) else fileobj.fileno())

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            self._stand_still()
        self.now += max(timeout, 0.0)
        if self.now + _RESOLUTION == self.now:  # asyncio runs what lies before this sum only
            self.now = nextafter(self.now, inf)
        return []

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._keys


class VirtualClock:
    """A machine's clocks on virtual time. The wall clock can jump, the other one cannot."""

    def __init__(self, *, epoch: float = EPOCH, origin: float = 0.0) -> None:
        self._epoch = epoch
        self._origin = origin
        """Added to `monotonic`, whose zero differs from machine to machine."""
        self.offset = 0.0
        """How far the wall clock is ahead of the true time."""

    def now(self) -> float:
        return self._epoch + asyncio.get_running_loop().time() - START + self.offset

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time() + self._origin

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward, or back."""
        self.offset += seconds


def run_virtual(main: Coroutine[Any, Any, T], seed: int | None = None) -> T:
    """Run a program to its end in virtual time. Raises Standstill where it would hang."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(seed)) as runner:
        return runner.run(main)
