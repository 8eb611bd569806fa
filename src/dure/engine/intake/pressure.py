"""Back-pressure: when a queue is full, its producers wait or are refused.

A queue is one lane's waiting jobs of one kind. Depth is counted in the store at most every
quarter of a second and kept up in between by what this process adds, so the bound may be
passed by what other processes add within that time.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dure.core.errors import QueueFull
from dure.core.stream import kind_of, lane_of, pack
from dure.ports.clock import Clock
from dure.ports.rows import NewJob
from dure.ports.store import Store
from dure.scripts import queues

_RECOUNT_SECONDS: Final = 0.25


@dataclass(slots=True)
class Depth:
    """What is known of one queue."""

    depth: int = 0
    depth_max: int = 0
    enqueued: int = 0
    blocked: int = 0
    counted_at: float = float("-inf")


class Pressure:
    """Holds producers back at the bounds that kinds declare."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._bounds: dict[int, int] = {}
        self.queues: dict[tuple[int, int], Depth] = {}
        self.default: int | None = None
        """The bound of kinds that declare none."""
        self.refuses = False
        """Refuse with QueueFull instead of holding back."""

    @property
    def is_needed(self) -> bool:
        return bool(self._bounds or self.default)

    def bound(self, kind: int, waiting_max: int | None) -> None:
        """Set how many jobs of a kind may wait in one lane; None for no bound."""
        if waiting_max is None:
            self._bounds.pop(kind, None)
        else:
            self._bounds[kind] = waiting_max

    def bound_of(self, kind: int) -> int | None:
        """How many jobs of a kind may wait in one lane."""
        return self._bounds.get(kind, self.default)

    async def admit(self, rows: Sequence[NewJob]) -> None:
        """Return when there is room for all rows. Raises QueueFull when told to refuse."""
        wanted: dict[tuple[int, int], int] = {}
        for row in rows:
            kind = kind_of(row.stream)
            if self.bound_of(kind) is not None:
                queue = (lane_of(row.stream), kind)
                wanted[queue] = wanted.get(queue, 0) + 1
        for queue, count in wanted.items():
            await self._admit(queue, count)

    async def _admit(self, queue: tuple[int, int], count: int) -> None:
        bound = self.bound_of(queue[1])
        if bound is None:
            return
        known = self.queues.setdefault(queue, Depth())
        is_blocked = False
        while True:
            if self._clock.monotonic() - known.counted_at > _RECOUNT_SECONDS:
                first = pack(*queue, 0)
                known.counted_at = self._clock.monotonic()
                known.depth = await self._store.read(queues.depth(first, first + 3, bound + 1))
            if known.depth == 0 or known.depth + count <= bound:
                break
            if not is_blocked:
                known.blocked += 1
                is_blocked = True
            if self.refuses:
                raise QueueFull(
                    f"The queue already holds {known.depth} waiting jobs; its bound is {bound}.",
                    "Enqueue later, raise queue_max, or add workers.",
                )
            await asyncio.sleep(_RECOUNT_SECONDS)
        known.depth += count
        known.enqueued += count
        known.depth_max = max(known.depth_max, known.depth)
