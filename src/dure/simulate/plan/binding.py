"""What holds work back, and for which share of the time it did.

At every moment the time is divided among the causes in proportion to the jobs that wait
behind each. So the shares of a run add up to one, and a cause that holds ten jobs while
another holds ten thousand does not pass for half of the problem.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Hold(StrEnum):
    """What sort of thing holds jobs back."""

    SLOTS = "slots"
    LIMIT = "limit"
    CAP = "cap"
    BREAKER = "breaker"
    RESOURCE = "resource"
    RETRY = "retry"
    NOTHING = "nothing"
    IDLE = "idle"


class Cause:
    """One thing that holds jobs back."""

    __slots__ = ("detail", "hold", "jobs", "name", "seconds")

    def __init__(self, hold: Hold, name: str = "", detail: str = "") -> None:
        self.hold = hold
        self.name = name
        """Of the limit, breaker or resource; of a cap `kind ask`, `lane shops`, `limit api`."""
        self.detail = detail
        """The window of a limit; how many a cap lets run."""
        self.jobs = 0
        """How many it holds back now."""
        self.seconds = 0.0
        """For how long it bound so far."""


class Binding:
    """The time of a run, divided among causes."""

    def __init__(self) -> None:
        self.slots = Cause(Hold.SLOTS)
        self.retry = Cause(Hold.RETRY)
        self.nothing = Cause(Hold.NOTHING)
        self.idle = Cause(Hold.IDLE)
        self._gates: dict[tuple[Hold, str, str], Cause] = {}
        self._listed: list[Cause] = []

    def cause(self, hold: Hold, name: str, detail: str) -> Cause:
        """The one cause of this description."""
        key = (hold, name, detail)
        found = self._gates.get(key)
        if found is None:
            found = self._gates[key] = Cause(*key)
            self._listed.append(found)
        return found

    def passed(self, seconds: float, waiting: int, running: int, delayed: int) -> None:
        """So much time has passed with so many jobs waiting, running and in a retry's delay."""
        if not waiting:
            if running:
                self.nothing.seconds += seconds
            elif delayed:
                self.retry.seconds += seconds
            else:
                self.idle.seconds += seconds
            return
        free = waiting
        for cause in self._listed:
            if cause.jobs:
                free -= cause.jobs
                cause.seconds += seconds * cause.jobs / waiting
        if free:
            self.slots.seconds += seconds * free / waiting

    def causes(self) -> list[Cause]:
        """All that took time, the longest first."""
        rest = (self.slots, self.retry, self.nothing, self.idle)
        known = [cause for cause in (*rest, *self._listed) if cause.seconds > 0.0]
        return sorted(known, key=lambda cause: -cause.seconds)


REAL: Final = frozenset({Hold.SLOTS, Hold.LIMIT, Hold.CAP, Hold.BREAKER, Hold.RESOURCE})
"""Holds that somebody could do something about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A cause, and the share of all time that it bound for."""

    hold: Hold
    name: str
    detail: str
    share: float

    @property
    def text(self) -> str:
        """What holds, as people call it: `limit model (15/m)`."""
        match self.hold:
            case Hold.SLOTS:
                return "slots"
            case Hold.RETRY:
                return "delay of retries"
            case Hold.NOTHING:
                return "nothing: work runs as it comes"
            case Hold.IDLE:
                return "no work"
            case Hold.CAP:
                return f"max_running of {self.name} ({self.detail})"
            case Hold.RESOURCE:
                return f"resource {self.name} ({self.detail} in each worker)"
            case _:
                return f"{self.hold} {self.name}" + (f" ({self.detail})" if self.detail else "")

    @property
    def verb(self) -> str:
        return "bind" if self.hold is Hold.SLOTS else "binds"


def shares(binding: Binding) -> Iterator[Share]:
    """All causes with their shares of the time, the largest first; together they are 1."""
    causes = binding.causes()
    total = sum(cause.seconds for cause in causes)
    for cause in causes:
        yield Share(
            hold=cause.hold, name=cause.name, detail=cause.detail, share=cause.seconds / total
        )
