"""The store's time, as a node knows it between two answers.

Leases and due times obey the store's clock. A node reads it now and then and carries it on
with its own monotonic clock, so a wall clock that runs wrong or jumps on this machine
never enters a decision.

What an answer tells is an interval: the store looked at its clock after we asked and before
we heard. An answer that was long on its way says little, and what we know already stays. Of
what is possible `now` is the earliest: nothing is due, and no lease is over, before it is so
for the store.
"""

from typing import Final

from dure.ports.clock import Clock
from dure.ports.store import Store

DRIFT: Final = 0.001
"""Seconds by which two monotonic clocks may drift apart in a second; ten times what they do."""


class StoreClock:
    """`now()` in the store's time, without asking it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._low: float | None = None
        """The store's time less our monotonic time is at least this, ..."""
        self._high = 0.0
        """... and at most this; both as of `_heard`."""
        self._heard = 0.0

    async def sync(self) -> None:
        """Ask the store for its time."""
        before = self._clock.monotonic()
        now = await self._store.now()
        after = self._clock.monotonic()
        low, high = now - after, now - before
        if self._low is not None:
            drift = DRIFT * (after - self._heard)
            known_low, known_high = self._low - drift, self._high + drift
            if known_low <= high and low <= known_high:  # else the store's clock was set
                low, high = max(low, known_low), min(high, known_high)
        self._low, self._high, self._heard = low, high, after

    def now(self) -> float:
        """The store's time, or a little less. `sync` must have run once."""
        assert self._low is not None
        return self._clock.monotonic() + self._low

    def skew(self) -> float:
        """How far this machine's wall clock is ahead of the store's, in seconds."""
        return self._clock.now() - self.now()
