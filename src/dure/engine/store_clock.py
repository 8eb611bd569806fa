"""The store's time, as a node knows it between two answers.

Leases and due times obey the store's clock. A node reads it now and then and carries it on
with its own monotonic clock, so a wall clock that runs wrong or jumps on this machine
never enters a decision.
"""

from dure.ports.clock import Clock
from dure.ports.store import Store


class StoreClock:
    """`now()` in the store's time, without asking it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._offset: float | None = None

    async def sync(self) -> None:
        """Ask the store for its time; half of the round trip is the error that stays."""
        before = self._clock.monotonic()
        now = await self._store.now()
        after = self._clock.monotonic()
        self._offset = now - (before + after) / 2

    def now(self) -> float:
        """The store's time. `sync` must have run once."""
        assert self._offset is not None
        return self._clock.monotonic() + self._offset

    def skew(self) -> float:
        """How far this machine's wall clock is ahead of the store's, in seconds."""
        return self._clock.now() - self.now()
