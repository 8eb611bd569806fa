"""A claimed job on its way through this node: waiting for a slot, running, answered."""

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Any

from dure.engine.gates import Gate, Lease
from dure.engine.kind import ChunkKind, Kind
from dure.ports.rows import Claim


class Stop(Enum):
    """Why a running attempt is being stopped from outside."""

    TIMEOUT = "timeout"
    TAKEN = "taken"
    """The job is no longer ours: cancelled, suspended or given to another worker."""
    PAUSED = "paused"
    """What it belongs to was paused; it goes back to the queue."""
    HELD = "held"
    """Its session is paused; it waits SUSPENDED until the session is resumed."""
    SHUTDOWN = "shutdown"


class Work:
    """One claim, or the claims of one chunk, and where they stand."""

    __slots__ = (
        "claims",
        "deadline",
        "ended",
        "gates",
        "grace",
        "is_done",
        "kind",
        "lane",
        "lease",
        "started",
        "stop",
        "stopper",
        "task",
    )

    def __init__(
        self, kind: Kind[Any, Any] | ChunkKind[Any], claims: list[Claim], lane: str
    ) -> None:
        self.kind = kind
        self.claims = claims
        self.lane = lane
        self.started = 0.0
        """Monotonic moment its handler was entered; 0.0 while it waits for a slot."""
        self.ended = 0.0
        """Monotonic moment its handler was left; 0.0 before."""
        self.deadline = float("inf")
        self.stop: Stop | None = None
        self.stopper: Callable[[Work], None] | None = None
        """Interrupts the running handler."""
        self.task: asyncio.Task[None] | None = None
        """The slot it runs in."""
        self.grace: asyncio.TimerHandle | None = None
        """Set while an interrupted handler may still end by itself."""
        self.gates: tuple[Gate, ...] = ()
        """What it was admitted through, and what hears of its end."""
        self.lease: Lease | None = None
        """The permits it runs on, to settle what it really used."""
        self.is_done = False

    def interrupt(self, why: Stop) -> None:
        """Ask the attempt to stop; the first reason counts."""
        if self.stop is None and not self.is_done:
            self.stop = why
            if self.stopper is not None:
                self.stopper(self)

    def stopped(self) -> Stop | None:
        """Why it was stopped, if it was."""
        return self.stop
