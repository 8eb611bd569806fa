"""Timeouts without a timer per job: one queue for each timeout value.

Jobs of one timeout expire in the order they started, so a queue's head is always the next
to expire and one timer per queue is enough.
"""

import asyncio
from collections import deque

from dure.engine.work import Stop, Work
from dure.ports.clock import Clock


class Deadlines:
    """Interrupts attempts whose time is up."""

    def __init__(self, clock: Clock) -> None:
        self._monotonic = clock.monotonic
        self._queues: dict[float, deque[Work]] = {}
        self._timers: dict[float, asyncio.TimerHandle] = {}

    def watch(self, work: Work, seconds: float) -> None:
        """Interrupt `work` if it still runs after `seconds`; it has just been started."""
        work.deadline = work.started + seconds
        queue = self._queues.get(seconds)
        if queue is None:
            queue = self._queues[seconds] = deque()
        queue.append(work)
        if seconds not in self._timers:
            loop = asyncio.get_running_loop()
            self._timers[seconds] = loop.call_later(seconds, self._sweep, seconds)

    def _sweep(self, seconds: float) -> None:
        queue = self._queues[seconds]
        now = self._monotonic()
        while queue:
            head = queue[0]
            if head.is_done:
                queue.popleft()
            elif head.deadline <= now:
                queue.popleft()
                head.interrupt(Stop.TIMEOUT)
            else:
                break
        if queue:
            wait = max(queue[0].deadline - now, 0.001)
            loop = asyncio.get_running_loop()
            self._timers[seconds] = loop.call_later(wait, self._sweep, seconds)
        else:
            del self._timers[seconds]

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._queues.clear()
