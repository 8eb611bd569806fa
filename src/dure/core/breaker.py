"""Whether a resource is worth calling: a circuit breaker all nodes share.

`TABLE` holds every change of phase. Like a limit, a breaker is one small value of
built-in types: a store locks its row, hands the value in with its own clock, and writes
back what it gets. `{}` is a breaker nobody has used.

Closed, it keeps the latest outcomes and opens when too many of them are failures. Open,
it lets nothing through until its time is over. Half-open, it lets a few probes through;
enough successes close it, one failure opens it for twice as long. A probe that never
reports is a failure at its deadline, so a breaker cannot stay half-open for ever.

What counts as a failure is the caller's decision. An answer that blames the request (most
of 4xx) proves that the resource works; one that blames the pace (429) proves nothing, and
its permit is released.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypedDict

from dure.core.duration import text_of

WINDOW_MAX: Final = 100
"""Outcomes a breaker remembers at most; it bounds the stored value."""

_DOUBLINGS_MAX: Final = 64
"""Beyond this the cap has long been reached; it keeps the power finite."""


class Phase(StrEnum):
    """Where a breaker stands."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Signal(StrEnum):
    """Everything that can change the phase."""

    TRIP = "trip"
    COOL = "cool"
    FAIL = "fail"
    RECOVER = "recover"
    FORCE_OPEN = "force_open"
    FORCE_CLOSED = "force_closed"


class Step(StrEnum):
    """What a change does beside setting the phase. Every change drops the probes under way."""

    LENGTHEN = "lengthen"
    FORGET = "forget"
    FORCE = "force"


@dataclass(frozen=True, slots=True)
class Row:
    """Where a signal leads, and what happens on the way."""

    to: Phase
    steps: tuple[Step, ...] = ()


TABLE: Final[Mapping[tuple[Phase, Signal], Row]] = MappingProxyType(
    {
        (Phase.CLOSED, Signal.TRIP): Row(Phase.OPEN, (Step.LENGTHEN,)),
        (Phase.OPEN, Signal.COOL): Row(Phase.HALF_OPEN),
        (Phase.HALF_OPEN, Signal.FAIL): Row(Phase.OPEN, (Step.LENGTHEN,)),
        (Phase.HALF_OPEN, Signal.RECOVER): Row(Phase.CLOSED, (Step.FORGET,)),
        **{
            (phase, Signal.FORCE_OPEN): Row(Phase.OPEN, (Step.FORGET, Step.FORCE))
            for phase in Phase
        },
        **{
            (phase, Signal.FORCE_CLOSED): Row(Phase.CLOSED, (Step.FORGET, Step.FORCE))
            for phase in Phase
        },
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    """When a breaker opens, for how long, and what closes it again. Times are in seconds."""

    window: int = 20
    """The latest outcomes it judges by."""
    minimum: int = 10
    """Outcomes it must have before it judges at all."""
    threshold: float = 0.5
    """The share of failures that opens it."""
    open_for: float = 30.0
    cap: float = 600.0
    """The longest it stays open, however often it has doubled."""
    probes: int = 3
    """Calls under way at the same time while half-open."""
    probe_timeout: float = 60.0
    """After this a probe that has not reported counts as a failure."""
    successes: int = 3
    """Probes that must succeed before it closes."""

    def __post_init__(self) -> None:
        if not 1 <= self.minimum <= self.window <= WINDOW_MAX:
            raise ValueError(
                f"a breaker needs 1 <= minimum <= window <= {WINDOW_MAX}, "
                f"not minimum {self.minimum} and window {self.window}"
            )
        if not 0.0 < self.threshold <= 1.0:
            raise ValueError(f"breaker threshold must be over 0, at most 1, not {self.threshold}")
        if not 0.0 < self.open_for <= self.cap < float("inf"):
            raise ValueError(
                f"a breaker needs 0 < open_for <= cap, not open_for {self.open_for} "
                f"and cap {self.cap}"
            )
        if not 0.0 < self.probe_timeout < float("inf"):
            raise ValueError(f"breaker probe_timeout must be over 0, not {self.probe_timeout}")
        for name, value in (("probes", self.probes), ("successes", self.successes)):
            if value < 1:
                raise ValueError(f"breaker {name} must be at least 1, not {value}")

    def open_seconds(self, openings: int) -> float:
        """How long the breaker stays open the n-th time in a row, from 1."""
        return min(self.open_for * 2.0 ** min(openings - 1, _DOUBLINGS_MAX), self.cap)


class Standing(TypedDict, total=False):
    """The stored value of one breaker; what is absent has its first value."""

    phase: str
    outcomes: str
    """The latest outcomes, oldest first: `1` for a failure, `0` for a success."""
    openings: int
    """How often it has opened in a row."""
    until: float
    """The end of being open, or of being held closed; absent if only a person ends it."""
    forced: bool
    probes: list[float]
    """Deadlines of the probes under way, earliest first."""
    passed: int
    """Probes that have succeeded since it became half-open."""


class Permit(NamedTuple):
    """How many calls may go out now. With fewer than wanted it says when to ask again.

    `retry_at` is None when only a person can change the answer.
    """

    value: Standing
    granted: int
    retry_at: float | None = None


class Condition(NamedTuple):
    """A breaker as people see it."""

    phase: Phase
    failures: int
    calls: int
    until: float | None
    forced: bool
    probing: int
    passed: int
    sentence: str


def record(
    policy: BreakerPolicy, value: Standing, now: float, successes: int, failures: int
) -> Standing:
    """Take in the outcomes of calls, in one batch.

    While it is open they are late answers of an earlier time and change nothing.
    """
    if successes < 0 or failures < 0:
        raise ValueError(f"outcomes cannot be negative: {successes} and {failures}")
    value = _at(policy, value, now)
    phase = _phase(value)
    if phase is Phase.OPEN:
        return value
    if phase is Phase.CLOSED:
        seen = value.get("outcomes", "") + _spread(policy.window, successes, failures)
        value = {**value, "outcomes": seen[-policy.window :]}
        return _opened(policy, value, Signal.TRIP, now) if _trips(policy, value) else value
    if failures:
        return _opened(policy, value, Signal.FAIL, now)
    probes = value.get("probes", [])
    passed = value.get("passed", 0) + min(successes, len(probes))
    if passed >= policy.successes:
        return _changed(value, Signal.RECOVER)
    return {**value, "passed": passed, "probes": probes[successes:]}


def permit(policy: BreakerPolicy, value: Standing, now: float, want: int = 1) -> Permit:
    """Ask for `want` calls. Each one granted while half-open is a probe and must report."""
    if want < 0:
        raise ValueError(f"cannot permit {want} calls: want 0 or more")
    value = _at(policy, value, now)
    phase = _phase(value)
    if phase is Phase.CLOSED:
        return Permit(value, want)
    if phase is Phase.OPEN:
        return Permit(value, 0, value.get("until"))
    missing = max(policy.successes - value.get("passed", 0), 1)
    probes = value.get("probes", [])
    granted = max(min(want, min(policy.probes, missing) - len(probes)), 0)
    probes = sorted([*probes, *[now + policy.probe_timeout] * granted])
    retry_at = probes[0] if granted < want else None
    return Permit({**value, "probes": probes}, granted, retry_at)


def release(policy: BreakerPolicy, value: Standing, now: float, count: int) -> Standing:
    """Give back `count` permits that were not used, so that nobody waits for them to report."""
    if count < 0:
        raise ValueError(f"cannot release {count} permits: give back 0 or more")
    value = _at(policy, value, now)
    probes = value.get("probes", [])
    return {**value, "probes": probes[: max(len(probes) - count, 0)]} if probes else value


def force(
    value: Standing, to: Literal["open", "closed"], now: float, until: float | None = None
) -> Standing:
    """Open or close it by hand.

    Open, it stays so until `until`, then lets probes through; with None it waits until
    somebody closes it. Closed, it forgets what it has seen and does not open before
    `until`; with None it watches again at once.
    """
    if until is not None and not now < until < float("inf"):
        raise ValueError(f"a breaker can be forced until a moment after now, not {until}")
    match to:
        case "open":
            return _changed(value, Signal.FORCE_OPEN, until)
        case "closed":
            return _changed(value, Signal.FORCE_CLOSED, until)
        case _:
            raise ValueError(f"a breaker can be forced 'open' or 'closed', not {to!r}")


def describe(policy: BreakerPolicy, value: Standing, now: float) -> Condition:
    """The breaker at `now`, as numbers and as one sentence."""
    value = _at(policy, value, now)
    outcomes = value.get("outcomes", "")
    condition = Condition(
        phase=_phase(value),
        failures=outcomes.count("1"),
        calls=len(outcomes),
        until=value.get("until"),
        forced=value.get("forced", False),
        probing=len(value.get("probes", [])),
        passed=value.get("passed", 0),
        sentence="",
    )
    return condition._replace(sentence=_sentence(policy, condition, now))


def _sentence(policy: BreakerPolicy, condition: Condition, now: float) -> str:
    until, forced = condition.until, condition.forced
    rest = "until somebody closes it" if until is None else f"for {text_of(until - now)} more"
    seen = f"{condition.failures} of the last {condition.calls} calls failed"
    if condition.phase is Phase.CLOSED:
        return f"held closed by hand {rest}; {seen}" if forced else f"closed; {seen}"
    if condition.phase is Phase.OPEN:
        return f"opened by hand; stays open {rest}" if forced else f"open {rest}; {seen}"
    return (
        f"half-open; {condition.passed} of {policy.successes} probes succeeded, "
        f"{condition.probing} under way"
    )


def _at(policy: BreakerPolicy, value: Standing, now: float) -> Standing:
    """The value with all that the passing of time alone has changed by `now`."""
    until = value.get("until")
    is_over = until is not None and until <= now
    match _phase(value):
        case Phase.CLOSED if is_over:
            return {"phase": Phase.CLOSED.value, "outcomes": value.get("outcomes", "")}
        case Phase.OPEN if is_over:
            return _changed(value, Signal.COOL)
        case Phase.HALF_OPEN:
            overdue = [deadline for deadline in value.get("probes", []) if deadline <= now]
            if overdue:
                return _at(policy, _opened(policy, value, Signal.FAIL, overdue[0]), now)
    return value


def _opened(policy: BreakerPolicy, value: Standing, signal: Signal, at: float) -> Standing:
    openings = value.get("openings", 0) + 1
    return _changed(value, signal, at + policy.open_seconds(openings))


def _changed(value: Standing, signal: Signal, until: float | None = None) -> Standing:
    """Carry out the row of the table for `signal`."""
    row = TABLE[_phase(value), signal]
    changed: Standing = {"phase": row.to.value}
    if Step.FORGET not in row.steps:
        changed["outcomes"] = value.get("outcomes", "")
        changed["openings"] = value.get("openings", 0) + (Step.LENGTHEN in row.steps)
    if until is not None:
        changed["until"] = until
    # Closed by hand without an end is plain closed: it watches again at once.
    if Step.FORCE in row.steps and (row.to is Phase.OPEN or until is not None):
        changed["forced"] = True
    return changed


def _phase(value: Standing) -> Phase:
    return Phase(value.get("phase", Phase.CLOSED))


def _trips(policy: BreakerPolicy, value: Standing) -> bool:
    outcomes = value.get("outcomes", "")
    enough = len(outcomes) >= policy.minimum and "until" not in value
    return enough and outcomes.count("1") / len(outcomes) >= policy.threshold


def _spread(window: int, successes: int, failures: int) -> str:
    """The outcomes of a batch, whose order is unknown, with the failures evenly among them.

    Of a batch longer than the window its share of failures is kept.
    """
    calls = successes + failures
    if calls > window:
        failures, calls = failures * window // calls, window
    return "".join(
        "1" if (i + 1) * failures // calls > i * failures // calls else "0" for i in range(calls)
    )
