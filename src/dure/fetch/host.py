"""A host: when it may be asked next, and what it has taught us about asking it.

All of it is decided from values: what happened, when (monotonic seconds), and a draw. No
clock, no network. Whoever fetches asks `room` or `ready_at` first, books a start with
`book`, and tells `saw` how it went; whoever only wants to know calls `describe`.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Final, NamedTuple

from dure.core import breaker as circuit
from dure.fetch.cookies import Cookies
from dure.fetch.failure import Failure
from dure.fetch.policy import Manners

_SMOOTHING: Final = 0.2
"""The weight of the newest latency in the average."""
_GAP_LEAST: Final = 0.25
"""The time between two starts after a first 429, where there was none."""
_GAP_NONE: Final = 0.01
_GAP_DECAY: Final = 0.9
_DOUBLINGS_MAX: Final = 30
_DEBT_MAX: Final = 1000.0
_HEALTHY: Final = frozenset({"outcomes", "phase"})
"""What the value of a breaker holds when it is closed and has forgotten."""


class Why(StrEnum):
    """What a host waits for."""

    PLACE = "place"
    """As many requests are under way as may be."""
    PACE = "pace"
    """The time between two starts is not over."""
    REST = "rest"
    """It asked for a rest, or refused us."""
    BREAKER = "breaker"
    """Too many failures; its breaker is open or only lets probes through."""


class Result(NamedTuple):
    """How a fetch went."""

    failure: Failure | None
    """None for success."""
    status: int | None = None
    latency: float = 0.0
    """Seconds to the head of the answer, or to the failure."""
    retry_after: float | None = None
    """Seconds the host asked us to stay away."""


class Snapshot(NamedTuple):
    """What a host has taught us, as built-in values: times are seconds left when it was taken."""

    host: str
    rest_left: float
    rest_why: str
    strikes: int
    bans: int
    gap: float
    latency: float
    budget: float
    agent: int
    breaker: circuit.Standing


@dataclass(frozen=True, slots=True)
class Condition:
    """A host as people see it."""

    host: str
    running: int
    ready_in: float
    """Seconds until the next start; infinite while only a finish can free a place."""
    why: Why | None
    gap: float
    """Seconds between two starts."""
    latency: float
    budget: float
    """Retries in hand."""
    agent: int
    """Which of the User-Agents it gets."""
    breaker: str
    rest_why: str


class Host:
    """The state of one host (name and port). Times are monotonic seconds, passed in."""

    def __init__(self, name: str, manners: Manners, *, agents: int = 1) -> None:
        self.name = name
        self.manners = manners
        self.agents = agents
        self.agent = 0
        """Index of the User-Agent it gets."""
        self.running = 0
        self.crawl_delay = 0.0
        """Seconds robots.txt asks for between two starts."""
        self.latency = 0.0
        self._next_at = -inf
        self._rest_until = -inf
        self._rest_why = ""
        self._strikes = 0
        self._bans = 0
        self._refused = 0
        self._gap = 0.0
        self._budget = float(manners.retries)
        self._budget_at = -inf
        self._breaker: circuit.Standing = {}
        self._cookies: Cookies | None = None

    @property
    def last_at(self) -> float:
        """The moment of its latest start."""
        return self._next_at

    @property
    def cookies(self) -> Cookies:
        """Its session."""
        if self._cookies is None:
            self._cookies = Cookies()
        return self._cookies

    @property
    def has_cookies(self) -> bool:
        return self._cookies is not None

    @property
    def gap(self) -> float:
        """Seconds between two starts, from all that has a say in it."""
        manners = self.manners
        slow = self.latency if self.latency > manners.slow_from else 0.0
        return max(manners.delay, min(self.crawl_delay, manners.crawl_delay_max), self._gap, slow)

    def ready_at(self, now: float) -> float:
        """The earliest moment one more fetch may start; infinite while no place is free."""
        if self.running >= self.manners.concurrency:
            return inf
        return max(now, self._next_at, self._rest_until, self._breaker_at(now))

    def room(self, now: float, *, within: float = 0.0) -> int:
        """How many fetches may start from now until `within` seconds later."""
        places = self.manners.concurrency - self.running
        start = self.ready_at(now)
        if places <= 0 or start > now + within:
            return 0
        gap = self.gap
        paced = places if gap <= 0.0 else 1 + int((now + within - start) / gap)
        return min(places, paced, self._breaker_room(now))

    def book(self, now: float) -> float:
        """Take the next start and a place; the moment it may happen. `saw` gives the place back.

        It does not look at places: whoever did not ask `room` before waits for one first.
        """
        when = max(now, self._next_at, self._rest_until, self._breaker_at(now))
        self.running += 1
        self._next_at = when + self.gap
        policy = self.manners.breaker
        if policy is not None and self._breaker:
            self._breaker = circuit.permit(policy, self._breaker, when).value
        return when

    def unbook(self, now: float) -> None:
        """Give back a booking that was not used."""
        self.running -= 1
        policy = self.manners.breaker
        if policy is not None and self._breaker:
            self._breaker = circuit.release(policy, self._breaker, now, 1)

    def saw(self, result: Result, now: float, draw: float = 0.0) -> None:
        """A booked fetch has ended like this."""
        self.running -= 1
        failure = result.failure
        if result.latency > 0.0:
            known = self.latency or result.latency
            self.latency = known + _SMOOTHING * (result.latency - known)
        if failure is None:
            self._succeeded(now)
            return
        if failure is Failure.RATE_LIMITED or result.status == 503:
            self._slow_down(result, now, draw)
        elif failure is Failure.BLOCKED:
            self._refuse(now, draw)
        self._count(failure, now)

    def is_resting(self, now: float) -> bool:
        """Whether it asked for a rest, refused us, or its breaker opened, and that is not over."""
        return self._rest_until > now or (
            "until" in self._breaker
            and self._breaker.get("phase") == circuit.Phase.OPEN.value
            and self._breaker["until"] > now
        )

    def is_plain(self, now: float) -> bool:
        """Whether there is nothing about it that would be lost by forgetting it."""
        learnt = (self._gap, self._strikes, self._bans, self.agent, self._breaker, self._cookies)
        if self.running or any(learnt):
            return False
        return max(self._next_at, self._rest_until) <= now

    def rest(self, now: float, seconds: float, why: str) -> None:
        """Stay away for so long: a ban page was seen, or a person says so."""
        if now + seconds > self._rest_until:
            self._rest_until, self._rest_why = now + seconds, why

    def retry_after(self, now: float, asked: float | None = None) -> float | None:
        """Take a retry out of the host's budget: seconds before it, beside the job's own delay."""
        manners = self.manners
        if self._budget_at > -inf:
            earned = max(now - self._budget_at, 0.0) / manners.retry_refill
            self._budget = min(self._budget + earned, float(manners.retries))
        self._budget_at = now
        self._budget = max(self._budget - 1.0, -_DEBT_MAX)
        debt = -self._budget * manners.retry_refill if self._budget < 0.0 else 0.0
        rest = self._rest_until - now
        wait = max(asked or 0.0, debt, rest, 0.0)
        return wait if wait > 0.0 else asked

    def describe(self, now: float) -> Condition:
        """The host as people see it."""
        policy = self.manners.breaker
        when = self.ready_at(now)
        return Condition(
            self.name,
            self.running,
            when - now,
            self._why(now),
            self.gap,
            self.latency,
            self._budget,
            self.agent,
            "" if policy is None else circuit.describe(policy, self._breaker, now).sentence,
            self._rest_why if self._rest_until > now else "",
        )

    def snapshot(self, now: float) -> Snapshot:
        """What a restart must remember so that it does not hammer a host that refused us."""
        standing = dict(self._breaker)
        standing.pop("probes", None)
        if "until" in standing:
            standing["until"] = self._breaker["until"] - now
        return Snapshot(
            self.name,
            max(self._rest_until - now, 0.0),
            self._rest_why,
            self._strikes,
            self._bans,
            self._gap,
            self.latency,
            self._budget,
            self.agent,
            standing,  # type: ignore[arg-type]  # a TypedDict less one of its keys
        )

    def restore(self, kept: Snapshot, now: float, age: float = 0.0) -> None:
        """Take up a snapshot that is `age` seconds old."""
        age = max(age, 0.0)
        left = min(kept.rest_left - age, self.manners.ban_max)
        if left > 0.0:
            self.rest(now, left, kept.rest_why)
        self._strikes, self._bans, self._gap = kept.strikes, kept.bans, kept.gap
        self.latency, self.agent = kept.latency, kept.agent % self.agents
        self._budget = min(kept.budget, float(self.manners.retries))
        self._breaker = kept.breaker.copy()
        if "until" in self._breaker:
            self._breaker["until"] += now - age

    def _succeeded(self, now: float) -> None:
        manners = self.manners
        self._refused = 0
        if now >= self._rest_until:
            self._strikes = self._bans = 0
        if self._gap:
            self._gap *= _GAP_DECAY
            if self._gap < _GAP_NONE:
                self._gap = 0.0
        if self._budget < manners.retries:
            self._budget = min(self._budget + manners.retry_share, float(manners.retries))
        if self._breaker and manners.breaker is not None:
            self._breaker = circuit.record(manners.breaker, self._breaker, now, 1, 0)
            if self._breaker.keys() <= _HEALTHY and "1" not in self._breaker.get("outcomes", ""):
                self._breaker = {}  # nothing left to remember, and the next success costs nothing

    def _slow_down(self, result: Result, now: float, draw: float) -> None:
        """One strike for each rest: answers to what was under way when it began say nothing new."""
        manners = self.manners
        asked = min(result.retry_after or 0.0, manners.pause_max)
        if now < self._rest_until:
            self.rest(now, asked, "it asked for a slower pace")
            return
        own = manners.pause_first * 2.0 ** min(self._strikes, _DOUBLINGS_MAX)
        pause = asked or min(own, manners.pause_max) * (1.0 - 0.5 * draw)
        self._strikes += 1
        self._gap = min(max(self._gap * 2.0, self.gap, _GAP_LEAST), manners.gap_max)
        self.rest(now, pause, "it asked for a slower pace")

    def _refuse(self, now: float, draw: float) -> None:
        """403: the next User-Agent, and a rest once each of them was refused."""
        self._refused += 1
        self.agent = (self.agent + 1) % self.agents
        if self._refused < self.agents or now < self._rest_until:
            return
        manners = self.manners
        own = manners.ban_first * 2.0 ** min(self._bans, _DOUBLINGS_MAX)
        self._bans += 1
        self._refused = 0
        self.rest(now, min(own, manners.ban_max) * (1.0 - 0.1 * draw), "it refused us")

    def _count(self, failure: Failure, now: float) -> None:
        policy = self.manners.breaker
        if policy is None:
            return
        if failure is Failure.TRANSIENT:
            self._breaker = circuit.record(policy, self._breaker, now, 0, 1)
        elif failure in {Failure.RATE_LIMITED, Failure.BLOCKED}:
            self._breaker = circuit.release(policy, self._breaker, now, 1)
        elif self._breaker:
            self._breaker = circuit.record(policy, self._breaker, now, 1, 0)

    def _breaker_at(self, now: float) -> float:
        policy = self.manners.breaker
        if policy is None or "phase" not in self._breaker:
            return now
        permit = circuit.permit(policy, self._breaker, now, 1)
        if permit.granted:
            return now
        return inf if permit.retry_at is None else permit.retry_at

    def _breaker_room(self, now: float) -> int:
        policy = self.manners.breaker
        places = self.manners.concurrency
        if policy is None or "phase" not in self._breaker:
            return places
        return circuit.permit(policy, self._breaker, now, places).granted

    def _why(self, now: float) -> Why | None:
        if self._breaker_at(now) > now:
            return Why.BREAKER
        if self._rest_until > now:
            return Why.REST
        if self.running >= self.manners.concurrency:
            return Why.PLACE
        return Why.PACE if self._next_at > now else None
