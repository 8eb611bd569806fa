"""One loop for every background duty: tick, sleep, survive the store's troubles.

A duty is a coroutine function that does one round and returns how long to sleep. Delays are
spread a little so that nodes which started together do not stay together.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from dure.core.errors import StoreError
from dure.engine.journal import tell
from dure.ports.clock import Dice

Tick = Callable[[], Awaitable[float]]

_SPREAD: Final = 0.2
_TROUBLE_SECONDS: Final = (0.2, 0.5, 1.0, 2.0, 5.0)


class Service:
    """A duty and how it fares."""

    def __init__(self, name: str, tick: Tick, dice: Dice) -> None:
        self.name = name
        self._tick = tick
        self._dice = dice
        self._nudge = asyncio.Event()
        self.rounds = 0
        self.failures = 0
        """In a row."""
        self.trouble: Exception | None = None

    def nudge(self) -> None:
        """Do the next round at once."""
        self._nudge.set()

    async def run(self) -> None:
        """Tick until cancelled."""
        while True:
            self._nudge.clear()
            try:
                delay = await self._tick()
            except StoreError as error:
                if self.trouble is None:
                    tell("duty.trouble", logging.WARNING, duty=self.name, error=error)
                self.trouble = error
                delay = _TROUBLE_SECONDS[min(self.failures, len(_TROUBLE_SECONDS) - 1)]
                self.failures += 1
            else:
                if self.trouble is not None:
                    tell("duty.recovered", duty=self.name)
                self.trouble = None
                self.failures = 0
                self.rounds += 1
            delay *= 1.0 + _SPREAD * (self._dice.draw() - 0.5)
            try:
                async with asyncio.timeout(delay):
                    await self._nudge.wait()
            except TimeoutError:
                continue
