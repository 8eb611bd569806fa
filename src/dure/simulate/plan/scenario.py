"""What a plan is made for: kinds, lanes, limits, arrivals, workers. Values, checked when read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dure.core.backoff import RetryPolicy
from dure.core.limit import Limit
from dure.core.state import Priority
from dure.core.timetable import Timetable
from dure.simulate.plan.spread import Spread

JOBS_MAX: Final = 20_000_000
"""More than this takes an hour to compute and more memory than most have."""
LANES_MAX: Final = 1_000_000
WORKERS_MAX: Final = 10_000
SLOTS_MAX: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KindPlan:
    """A kind of job: its terms as a program declares them, and how its attempts go."""

    name: str
    duration: Spread
    fails: float = 0.0
    """Share of attempts that fail and are worth another one."""
    fails_for_good: float = 0.0
    """Share of attempts that end the job as FAILED at once."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    timeout: float | None = 300.0
    limits: tuple[str, ...] = ()
    tokens: int = 0
    tokens_used: int | None = None
    """What is settled when an attempt succeeds; None: what was reserved."""
    breaker: str | None = None
    uses: tuple[str, ...] = ()
    max_running: int | None = None
    priority: Priority = Priority.NORMAL
    retry_priority: Priority | None = None
    then: Mapping[str, float] = field(default_factory=dict)
    """Kinds that a success enqueues in the same lane, and how many of each on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneGroup:
    """Lanes that are alike."""

    name: str
    count: int = 1
    weight: float = 1.0
    max_running: int | None = None
    limits: tuple[str, ...] = ()

    def lane_name(self, number: int) -> str:
        """What the lane with this number (from 0) is called."""
        return self.name if self.count == 1 else f"{self.name}-{number + 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Work that comes in: at one moment, by a timetable, or at a rate. Seconds from the start."""

    kind: str
    lanes: str
    jobs: int = 0
    """In all lanes together, each time; 0 for a rate."""
    over: float = 0.0
    """Spread them at random over so many seconds; 0: all at one moment."""
    rate: float = 0.0
    """Jobs a second, in all lanes together."""
    is_steady: bool = False
    """At equal distances, instead of at random as independent callers come."""
    timetable: Timetable | None = None
    """When, over and over; None: once, at `start`."""
    start: float = 0.0
    end: float = 86400.0
    priority: Priority | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A while in which every attempt of some kinds fails."""

    kinds: tuple[str, ...]
    start: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything a plan depends on, the seed included."""

    kinds: Mapping[str, KindPlan]
    lanes: Mapping[str, LaneGroup]
    arrivals: tuple[Arrival, ...]
    limits: Mapping[str, Limit] = field(default_factory=dict)
    outages: tuple[Outage, ...] = ()
    workers: int = 1
    slots: int = 100
    """Of each worker."""
    resources: Mapping[str, int] = field(default_factory=dict)
    """Places of each worker: http, cpu, memory, db."""
    epoch: float = 1_767_225_600.0
    """When it begins, in seconds since 1970: cron and calendar days need to know."""
    zone: str = "UTC"
    lasts: float = 86400.0
    """How long work goes on coming in."""
    patience: float = 366 * 86400.0
    """When to stop, whatever is left."""
    seed: int = 1

    @property
    def places(self) -> int:
        """Slots of all workers."""
        return self.workers * self.slots
