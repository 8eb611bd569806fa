"""What a limit has left: book permits, settle them, give them back, and say when more come.

All a limit has booked is one small value of built-in types. A store locks its row, hands
the value in together with its own clock, and writes back the value it gets. Nothing is
changed in place, and `{}` is a limit nobody has used.

    grant = acquire(limit, value, now, want=10, units={"tokens": 900})
    value = settle(limit, grant.value, later, grant.slot, unit="tokens", delta=spent - 900)

Two rules make it exact. A request is booked in every window or in none. And time never
runs backwards here: a clock that does is held at the latest moment the value has seen.

The value is keyed by what is counted over which time. When a limit is redefined, windows
that only changed their count go on with what they have; new ones begin empty.
"""

from collections.abc import Iterator, Mapping
from math import ceil, isfinite
from typing import Final, NamedTuple, TypedDict

from dure.core.limit import REQUEST, Limit, Window
from dure.core.ring import MICROSECONDS, Ring

BLOCKED: Final = "blocked"
"""What binds while the other side has asked for a pause."""

NO_UNITS: Final[Mapping[str, int]] = {}


class Booked(TypedDict, total=False):
    """The stored value of one limit; times are whole microseconds since 1970."""

    at: int
    blocked: int
    rings: dict[str, list[int]]


class Grant(NamedTuple):
    """What `acquire` booked. With fewer permits than wanted it says when one more fits."""

    value: Booked
    granted: int
    slot: int
    """When it was booked: names the slice of every window for `settle` and `release`."""
    retry_at: float | None = None
    binding: str | None = None
    """The window that is full longest, as text, or `blocked`."""


class Impossible(NamedTuple):
    """A single request is larger than a whole window, so waiting is no use."""

    window: str
    sentence: str


class Use(NamedTuple):
    """How full a window is; `free_at` is None when one more fits now."""

    window: str
    unit: str
    used: int
    allowed: int
    free_at: float | None


class _Demand(NamedTuple):
    window: Window
    ring: Ring
    cost: int
    allowed: int

    @property
    def room(self) -> int:
        return (self.allowed - self.ring.used) // self.cost

    @property
    def free_at(self) -> int:
        """When one more request fits, if nothing else is booked; 0 when it does now."""
        excess = self.ring.used + self.cost - self.allowed
        return self.ring.free_at(excess) if excess > 0 else 0


def acquire(
    limit: Limit, value: Booked, now: float, want: int = 1, units: Mapping[str, int] = NO_UNITS
) -> Grant | Impossible:
    """Book as many whole requests as fit in all windows at once, 0 to `want`.

    `units` says what one request costs of other units than requests.
    """
    if want < 0:
        raise ValueError(f"cannot acquire {want} permits: want 0 or more")
    for window, cost in _costs(limit, units):
        if cost > window.count:
            return Impossible(
                window.name,
                f"one request needs {cost} {window.unit}, but limit {limit.name!r} allows "
                f"{window.name}: raise the limit or make the request smaller",
            )
    at, rings = _rings(limit, value, now)
    demands = [
        _Demand(window, rings[window.key], cost, limit.allowance(window, cost))
        for window, cost in _costs(limit, units)
    ]
    blocked = value.get("blocked", 0)
    granted = 0 if blocked > at else max(min([want, *(demand.room for demand in demands)]), 0)
    for demand in demands:
        demand.ring.add(at, granted * demand.cost)
    booked = _value(at, rings, blocked)
    if granted == want:
        return Grant(booked, granted, at)
    free, binding = max([(blocked, BLOCKED), *((d.free_at, d.window.name) for d in demands)])
    return Grant(booked, granted, at, free / MICROSECONDS, binding)


def settle(limit: Limit, value: Booked, now: float, slot: int, *, unit: str, delta: int) -> Booked:
    """Correct a booking by `delta` (actual minus reserved), in the slice it was made in.

    A slice that has left its window is past correcting, and nothing changes there. What
    was really used is counted even where it exceeds the limit.
    """
    at, rings = _rings(limit, value, now)
    for window in limit.windows:
        if window.unit == unit:
            rings[window.key].add(slot, delta)
    return _value(at, rings, value.get("blocked", 0))


def release(
    limit: Limit, value: Booked, slot: int, *, count: int, units: Mapping[str, int] = NO_UNITS
) -> Booked:
    """Give `count` unused permits back to the slice they were booked in."""
    if count < 0:
        raise ValueError(f"cannot release {count} permits: give back 0 or more")
    at, rings = _rings(limit, value, 0.0)
    for window, cost in _costs(limit, units):
        rings[window.key].add(slot, -count * cost)
    return _value(at, rings, value.get("blocked", 0))


def block(value: Booked, until: float | None) -> Booked:
    """Grant nothing before `until` (Retry-After); of several moments the latest holds.

    None lifts the block.
    """
    if until is None:
        open_value = value.copy()
        open_value.pop("blocked", None)
        return open_value
    if not isfinite(until):
        raise ValueError(f"cannot block until {until}: give a moment in seconds since 1970")
    return {**value, "blocked": max(value.get("blocked", 0), round(until * MICROSECONDS))}


def blocked_until(value: Booked, now: float) -> float | None:
    """When the block ends; None when there is none."""
    until = value.get("blocked", 0) / MICROSECONDS
    return until if until > now else None


def used(limit: Limit, value: Booked, now: float) -> tuple[Use, ...]:
    """How full each window is, in the order of the limit."""
    _, rings = _rings(limit, value, now)
    demands = (
        _Demand(window, rings[window.key], 1, limit.allowance(window)) for window in limit.windows
    )
    return tuple(
        Use(
            window=demand.window.name,
            unit=demand.window.unit,
            used=demand.ring.used,
            allowed=demand.allowed,
            free_at=demand.free_at / MICROSECONDS or None,
        )
        for demand in demands
    )


def _costs(limit: Limit, units: Mapping[str, int]) -> Iterator[tuple[Window, int]]:
    """The windows a request draws on, each with what it takes there."""
    for window in limit.windows:
        cost = 1 if window.unit == REQUEST else units.get(window.unit, 0)
        if cost < 0:
            raise ValueError(f"a request cannot cost {cost} {window.unit}: give 0 or more")
        if cost:
            yield window, cost


def _rings(limit: Limit, value: Booked, now: float) -> tuple[int, dict[str, Ring]]:
    """The moment that counts as now, and every window's bookings as of then."""
    written = value.get("at", 0)
    at = max(round(now * MICROSECONDS), written)
    hold = ceil(limit.hold_seconds * MICROSECONDS)
    stored = value.get("rings", {})
    rings = {w.key: w.ring(stored.get(w.key, []), written, at, hold) for w in limit.windows}
    return at, rings


def _value(at: int, rings: Mapping[str, Ring], blocked: int) -> Booked:
    value: Booked = {"at": at, "rings": {key: ring.stored for key, ring in rings.items()}}
    if blocked > at:
        value["blocked"] = blocked
    return value
