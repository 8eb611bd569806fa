"""The eight states of a job, and what can happen to one.

Every store writes the numbers; people read the names.
"""

from enum import IntEnum, StrEnum
from typing import Final


class State(IntEnum):
    """Where a job stands. The numbers are what the stores hold and never change."""

    PENDING = 0
    RUNNING = 1
    RETRY_WAIT = 2
    SUSPENDED = 3
    SUCCESS = 4
    FAILED = 5
    STALE = 6
    CANCELLED = 7


class Event(StrEnum):
    """Everything that can happen to a job."""

    ENQUEUE = "enqueue"
    DUE = "due"
    CLAIM = "claim"
    SUCCEED = "succeed"
    SKIP = "skip"
    RETRY = "retry"
    TIMEOUT = "timeout"
    LEASE_LOST = "lease_lost"
    WAIT = "wait"
    GIVE_BACK = "give_back"
    SUSPEND = "suspend"
    RESUME = "resume"
    STALE = "stale"
    FAIL = "fail"
    CANCEL = "cancel"
    REPLAY = "replay"


class Priority(IntEnum):
    """Order inside one lane; the lower number runs first."""

    CRITICAL = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3


FINAL: Final = frozenset({State.SUCCESS, State.FAILED, State.STALE, State.CANCELLED})
"""States nothing leaves by itself: the job has moved to history."""

LIVE: Final = frozenset(State) - FINAL
"""States of unfinished work: the job is in the live table."""
