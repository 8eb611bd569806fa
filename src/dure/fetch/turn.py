"""Waiting for a host's turn: in order of arrival, and never longer than the operator allows."""

import asyncio
from collections import deque
from typing import Final

from dure.fetch.failure import HostResting
from dure.fetch.host import Host
from dure.ports.clock import Clock

_TICK_SECONDS: Final = 1e-6
"""A loop runs timers early by its clock's resolution: less than this may take no time at all."""


class Turns:
    """Books starts at hosts. Whoever asked a host for room before never waits here."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def take(self, host: Host, url: str) -> float:
        """Return when a request may go out at once, with a place booked for it; the moment.

        Raises HostResting when that would be later than the host's `wait_max`.
        """
        asked = now = self._clock.monotonic()
        while True:
            if host.running >= host.manners.concurrency:
                await self._place(host, url, asked)
                now = self._clock.monotonic()
                continue
            when = host.ready_at(now)
            if when > asked + host.manners.wait_max:
                raise self._resting(host, url, when - now, now)
            if when <= now:
                host.book(now)
                return now
            if not await self._until(host, now):
                now = self._clock.monotonic()
                continue
            return self._clock.monotonic()

    def free(self, host: Host) -> None:
        """A place has become free."""
        waiting = self._waiting.get(host.name)
        while waiting:
            first = waiting.popleft()
            if not first.done():
                first.set_result(None)
                return
        if waiting is not None:
            del self._waiting[host.name]

    async def _until(self, host: Host, now: float) -> bool:
        """Book, and sleep until then; False when the host has meanwhile asked for a rest."""
        when = host.book(now)
        try:
            while when > now:
                await asyncio.sleep(max(when - now, _TICK_SECONDS))
                now = self._clock.monotonic()
        except BaseException:
            host.unbook(self._clock.monotonic())
            self.free(host)
            raise
        if not host.is_resting(now):
            return True
        host.unbook(now)
        self.free(host)
        return False

    async def _place(self, host: Host, url: str, asked: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(host.name, deque()).append(future)
        left = asked + host.manners.wait_max - self._clock.monotonic()
        try:
            async with asyncio.timeout(max(left, 0.0)):
                await future
        except TimeoutError:
            raise self._resting(host, url, 1.0, self._clock.monotonic()) from None
        except BaseException:
            if future.done() and not future.cancelled():
                self.free(host)
            raise

    def _resting(self, host: Host, url: str, seconds: float, now: float) -> HostResting:
        condition = host.describe(now)
        known = min(86400.0, seconds)
        because = condition.rest_why or (condition.why and condition.why.value) or "pace"
        return HostResting(
            f"{host.name} may not be asked for another {known:.1f}s ({because})",
            url=url,
            host=host.name,
            retry_after=known,
        )
