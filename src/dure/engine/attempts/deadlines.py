"""Timeouts without a timer per job: one for each timeout value, which looks at what runs.

Nothing is kept of a job that has ended, however long its timeout is.
"""

import asyncio
from collections.abc import Set as AbstractSet
from typing import Final

from dure.engine.work import Stop, Work
from dure.ports.clock import Clock

_WAIT_MIN_SECONDS: Final = 0.001


class Deadlines:
    """Interrupts attempts whose time is up."""

    def __init__(self, clock: Clock, running: AbstractSet[Work]) -> None:
        self._monotonic = clock.monotonic
        self._running = running
        self._timers: dict[float, asyncio.TimerHandle] = {}

    def watch(self, work: Work, seconds: float) -> None:
        """Interrupt `work` if it still runs after `seconds`; it has just been started."""
        work.deadline = work.started + seconds
        if seconds not in self._timers:
            self._look_after(seconds, seconds)

    def _look_after(self, wait: float, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._timers[seconds] = loop.call_later(wait, self._look, seconds)

    def _look(self, seconds: float) -> None:
        """Interrupt what is due; look again when the next of this timeout may be."""
        now = self._monotonic()
        watched = [work for work in self._running if work.kind.terms.timeout == seconds]
        for work in watched:
            if work.deadline <= now:
                work.interrupt(Stop.TIMEOUT)
        ahead = [work.deadline for work in watched if now < work.deadline < float("inf")]
        if ahead:
            self._look_after(max(min(ahead) - now, _WAIT_MIN_SECONDS), seconds)
        else:
            del self._timers[seconds]

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
