"""Finding streams with work that no hint announced: other processes, late commits, lost hints.

Most scans begin at the position of half a minute ago, which covers transactions that took
their position early and committed late. Now and then one begins at zero. A scan that was
slow makes the next one wait longer, so scanning never takes more than a small share.
"""

from collections import deque
from typing import Final

from dure.core.fairness import Rotation
from dure.engine.control import Control
from dure.ports.clock import Clock
from dure.ports.store import Store
from dure.scripts import upkeep

FLOOR_SECONDS: Final = 30.0
FULL_SECONDS: Final = 60.0
_SHARE: Final = 20.0
"""A scan is followed by at least this many times its own duration."""


class Scanner:
    """Keeps the rotation's view of the queue honest."""

    def __init__(self, store: Store, rotation: Rotation, control: Control, clock: Clock) -> None:
        self._store = store
        self._rotation = rotation
        self._control = control
        self._clock = clock
        self._positions: deque[tuple[float, int]] = deque()
        self._full_at = float("-inf")
        self.found = 0

    async def scan(self) -> tuple[bool, float]:
        """Look once; whether work was found, and how long to wait before the next look."""
        started = self._clock.monotonic()
        is_full = started - self._full_at >= FULL_SECONDS
        floor = 0 if is_full else self._floor(started)
        position = await self._store.read(upkeep.fresh_positions())
        heads = await self._store.heads(floor)
        took = self._clock.monotonic() - started
        if is_full:
            self._full_at = started
        self._positions.append((started, position))
        for stream, pos in heads:
            self._rotation.note(stream, pos)
        self._rotation.forget(floor)
        self.found += len(heads)
        interval: float = self._control.settings["scan.interval"]
        return bool(heads), max(interval, took * _SHARE)

    def _floor(self, now: float) -> int:
        """The newest position known to be older than half a minute."""
        while len(self._positions) > 1 and self._positions[1][0] <= now - FLOOR_SECONDS:
            self._positions.popleft()
        if self._positions and self._positions[0][0] <= now - FLOOR_SECONDS:
            return self._positions[0][1]
        return 0
