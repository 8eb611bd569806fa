"""What a node is given when it starts, and what it says when it leaves."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

VERSION: Final = "0.1.0"
RESOURCES: Final[Mapping[str, int]] = {
    "http": 100,
    "cpu": os.cpu_count() or 1,
    "memory": 4,
    "db": 8,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """What one node is given; what is None comes from the run-time settings."""

    name: str = ""
    slots: int | None = None
    """Handlers that may run at once; the most of them when `slots_min` is given."""
    slots_min: int | None = None
    """Let the number of slots follow load, latency and errors between this and `slots`."""
    lease: float | None = None
    beat: float | None = None
    grace: float | None = None
    sweep: float | None = None
    """Seconds between looks for the jobs of dead workers."""
    claim_max: int | None = None
    kinds: tuple[str, ...] = ()
    """Serve only these kinds; empty for all that are declared."""
    resources: Mapping[str, int] = field(default_factory=dict)
    recover_after: float | None = None
    """Seconds after which a disabled lane is tried again; None: only a reset enables it."""
    threaded: bool = True
    """Beat from a thread. A simulation beats from its own loop instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """What a node did when it was told to stop."""

    finished: int
    """Attempts that ended by themselves during the shutdown."""
    given_back: int
    interrupted: int
    is_clean: bool
    """False when the store could not be told; the sweeper of another node does the rest."""
