"""What lies between two stages: a bounded queue that is never a list, only a count of places.

A page takes a place before it goes on and gives it back when the next stage is through with
it. Whoever finds no place waits, and so does everything behind: that is the back-pressure.
"""

import asyncio
from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BeltFigures:
    """A belt as people see it."""

    name: str
    depth: int
    capacity: int
    max_depth: int
    total_in: int
    total_out: int
    blocked: int
    """How often somebody had to wait for a place."""

    @property
    def utilisation(self) -> float:
        return self.depth / self.capacity


class Belt:
    """Places between two stages."""

    def __init__(self, name: str, capacity: int) -> None:
        self.name = name
        self.capacity = capacity
        self.depth = 0
        self.max_depth = 0
        self.total_in = 0
        self.total_out = 0
        self.blocked = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Take a place, waiting for one if there is none."""
        if self.depth >= self.capacity or self._waiting:
            self.blocked += 1
            await self._wait()
        else:
            self.depth += 1
        self.total_in += 1
        self.max_depth = max(self.max_depth, self.depth)

    def leave(self) -> None:
        """Give a place back."""
        self.depth -= 1
        self.total_out += 1
        self._hand_over()

    def resize(self, capacity: int) -> None:
        """Change the number of places; those taken stay taken."""
        self.capacity = capacity
        self._hand_over()

    @property
    def figures(self) -> BeltFigures:
        return BeltFigures(
            self.name,
            self.depth,
            self.capacity,
            self.max_depth,
            self.total_in,
            self.total_out,
            self.blocked,
        )

    async def _wait(self) -> None:
        """Until a place is handed over: it is counted by whoever hands it over."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.depth -= 1
            self._hand_over()
            raise

    def _hand_over(self) -> None:
        while self._waiting and self.depth < self.capacity:
            future = self._waiting.popleft()
            if not future.done():
                self.depth += 1
                future.set_result(None)
