"""What waits and runs in a plan: jobs in streams, lanes and kinds with what was measured."""

from array import array
from collections import Counter, deque
from typing import TYPE_CHECKING, NamedTuple

from dure.core.state import State
from dure.simulate.plan.scenario import KindPlan, LaneGroup
from dure.simulate.plan.spread import Draw

if TYPE_CHECKING:
    from dure.simulate.plan.gates import Gate


class KindRun:
    """A kind while the plan runs."""

    __slots__ = (
        "attempts",
        "chance",
        "draw",
        "draw_delay",
        "ends",
        "number",
        "outages",
        "plan",
        "then",
        "timeouts",
    )

    def __init__(self, plan: KindPlan, number: int, draw: Draw, chance: Draw, delay: Draw) -> None:
        self.plan = plan
        self.number = number
        self.draw = draw
        """How long the next attempt takes."""
        self.chance = chance
        """Whether it fails."""
        self.draw_delay = delay
        """The noise of its retries."""
        self.outages: list[tuple[float, float]] = []
        self.then: list[tuple[KindRun, float]] = []
        self.attempts = 0
        self.timeouts = 0
        self.ends: Counter[State] = Counter()


class LaneRun:
    """A lane while the plan runs."""

    __slots__ = ("group", "name", "number", "seconds", "served", "since", "streams", "waiting")

    def __init__(self, group: LaneGroup, name: str, number: int) -> None:
        self.group = group
        self.name = name
        self.number = number
        self.streams: list[Stream] = []
        self.waiting = 0
        self.since = 0.0
        """When it began to have work waiting."""
        self.seconds = 0.0
        """How long it had."""
        self.served = 0
        """Jobs it was given that had to wait."""


class Job:
    """A job that runs, or waits for another attempt. `decide` reads it like any other."""

    __slots__ = ("attempt", "fence", "id", "started", "state", "stream")

    def __init__(self, number: int, stream: "Stream") -> None:
        self.id = number
        self.state = State.PENDING
        self.fence = 0
        self.attempt = 0
        self.stream = stream
        self.started = 0.0


class Stream:
    """One lane's jobs of one kind and one priority, in order."""

    __slots__ = (
        "gates",
        "held_by",
        "is_known",
        "kind",
        "lane",
        "lots",
        "number",
        "waiting",
        "waits",
    )

    def __init__(self, number: int, lane: LaneRun, kind: KindRun) -> None:
        self.number = number
        self.lane = lane
        self.kind = kind
        self.gates: tuple[Gate, ...] = ()
        self.lots: deque[list[float] | Job] = deque()
        """New jobs as when they came and how many; a job that was tried before as itself."""
        self.waiting = 0
        self.is_known = False
        """Whether the rotation believes that it holds work."""
        self.held_by: Gate | None = None
        self.waits = array("d")
        """Seconds from arrival to first start, of each job that was started."""


class Ended(NamedTuple):
    """How an attempt ended, as far as gates care."""

    started_at: float
    """In seconds since 1970."""
    is_good: bool
    is_blamed: bool
    """It failed through its own fault, which says nothing against the resource."""
