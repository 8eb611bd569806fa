"""Limits of the whole fleet: what they are, and what is booked on them.

A definition lies in one space of cells, what is booked in another. Both survive each
other: a limit that is removed and defined again goes on with what it has booked, because
the resource behind it has not forgotten either.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from dure.core import allowance
from dure.core.allowance import NO_UNITS, Booked, Grant, Impossible, Use
from dure.core.errors import NotFound
from dure.core.limit import Limit
from dure.ports.store import Script
from dure.scripts import audit, cells, control
from dure.scripts.cells import Texts

DEFINITIONS: Final = "limit"
BOOKINGS: Final = "allowance"


class Request(NamedTuple):
    """`want` permits of one limit, each costing `units` besides one request."""

    limit: str
    want: int = 1
    units: Mapping[str, int] = NO_UNITS


class Settlement(NamedTuple):
    """How much more (or less) was really used than was booked at `slot`."""

    limit: str
    slot: int
    unit: str
    delta: int


class Unused(NamedTuple):
    """Permits booked at `slot` that nobody used."""

    limit: str
    slot: int
    permits: int
    units: Mapping[str, int] = NO_UNITS


class Standing(NamedTuple):
    """A limit as people see it."""

    limit: Limit
    windows: tuple[Use, ...]
    blocked_until: float | None


Answer = Grant | Impossible


def acquire(requests: Sequence[Request], now: float) -> Script[dict[str, Answer]]:
    """Book the same number of permits on all the limits: as many as the scarcest one has.

    The answers are by limit. Every Grant has the same `granted`; those with `retry_at` are
    the ones that allowed no more. If one request can never fit into one of the limits,
    that one answers Impossible and nothing is booked. Raises NotFound, and ValueError when
    a limit is named twice.
    """
    asked = {request.limit: request for request in requests}
    if len(asked) < len(requests):
        raise ValueError(f"a limit is named twice in {[request.limit for request in requests]}")
    limits = yield from _defined(asked)

    def decide(texts: Texts, now: float) -> tuple[dict[str, str], dict[str, Answer]]:
        values = {name: _booked(texts[name]) for name in asked}
        answers = _acquire([(limits[name], values[name], asked[name]) for name in asked], now)
        booked = {
            name: _text(answer.value)
            for name, answer in answers.items()
            if isinstance(answer, Grant) and answer.granted
        }
        return booked, answers

    return (yield from cells.change(BOOKINGS, asked, decide, now))


def settle(settlements: Sequence[Settlement], now: float) -> Script[None]:
    """Correct bookings by what was really used; limits removed since are left out."""

    def changed(limit: Limit, value: Booked) -> Booked:
        for each in settlements:
            if each.limit == limit.name:
                value = allowance.settle(
                    limit, value, now, each.slot, unit=each.unit, delta=each.delta
                )
        return value

    yield from _change({each.limit for each in settlements}, changed, now)


def release(unused: Sequence[Unused], now: float) -> Script[None]:
    """Give permits back; limits removed since are left out."""

    def changed(limit: Limit, value: Booked) -> Booked:
        for each in unused:
            if each.limit == limit.name:
                value = allowance.release(
                    limit, value, each.slot, count=each.permits, units=each.units
                )
        return value

    yield from _change({each.limit for each in unused}, changed, now)


def block(name: str, until: float | None, now: float) -> Script[None]:
    """Grant nothing before `until` (a Retry-After); None lifts the block. Raises NotFound."""
    yield from _defined([name])
    yield from _change([name], lambda _, value: allowance.block(value, until), now)


def used(names: Iterable[str] | None = None, *, now: float) -> Script[dict[str, Standing]]:
    """How full these limits are, or all of them; unknown ones are left out."""
    limits = yield from defined(names)
    texts = yield from cells.read(BOOKINGS, limits)
    found = {}
    for name, limit in limits.items():
        value = _booked(texts.get(name))
        windows = allowance.used(limit, value, now)
        found[name] = Standing(limit, windows, allowance.blocked_until(value, now))
    return found


def defined(names: Iterable[str] | None = None) -> Script[dict[str, Limit]]:
    """These definitions, or all of them; unknown ones are left out."""
    texts = yield from cells.read(DEFINITIONS, names)
    return {name: _limit(text) for name, text in texts.items()}


def define(limit: Limit, *, by: str, reason: str, now: float) -> Script[bool]:
    """Define a limit or change it; False when it is exactly so already.

    What is booked stays. Programs define their limits whenever they start, so a definition
    that changes nothing is neither announced nor audited.
    """
    text = msgspec.json.encode(limit.to_dict()).decode()

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], str | None]:
        return {limit.name: text}, texts[limit.name]

    before = yield from cells.change(DEFINITIONS, [limit.name], decide, now)
    if before == text:
        return False
    yield from audit.add(
        "limit.define", limit.name, by=by, reason=reason, now=now, before=before, after=text
    )
    yield from control.bump()
    return True


def remove(name: str, *, by: str, reason: str, now: float) -> Script[None]:
    """Remove a definition. Raises NotFound."""
    texts = yield from cells.read(DEFINITIONS, [name])
    if not (yield from cells.delete(DEFINITIONS, [name])):
        raise _unknown([name])
    yield from audit.add(
        "limit.remove", name, by=by, reason=reason, now=now, before=texts.get(name)
    )
    yield from control.bump()


def _acquire(asked: Sequence[tuple[Limit, Booked, Request]], now: float) -> dict[str, Answer]:
    """Ask every limit for all, then book on each what the scarcest one gave."""
    answers = {
        limit.name: allowance.acquire(limit, value, now, request.want, request.units)
        for limit, value, request in asked
    }
    granted = [answer.granted for answer in answers.values() if isinstance(answer, Grant)]
    least = min(granted, default=0) if len(granted) == len(answers) else 0
    for limit, value, request in asked:
        answer = answers[limit.name]
        if isinstance(answer, Grant) and answer.granted > least:
            answers[limit.name] = allowance.acquire(limit, value, now, least, request.units)
    return answers


def _change(
    names: Iterable[str], changed: Callable[[Limit, Booked], Booked], now: float
) -> Script[None]:
    limits = yield from defined(names)

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], None]:
        after = {
            name: _text(changed(limit, _booked(texts[name]))) for name, limit in limits.items()
        }
        return after, None

    yield from cells.change(BOOKINGS, limits, decide, now)


def _defined(names: Iterable[str]) -> Script[dict[str, Limit]]:
    wanted = sorted(set(names))
    limits = yield from defined(wanted)
    missing = [name for name in wanted if name not in limits]
    if missing:
        raise _unknown(missing)
    return limits


def _unknown(names: Sequence[str]) -> NotFound:
    return NotFound(f"There is no limit {' or '.join(map(repr, names))}.", "Define it first.")


def _limit(text: str) -> Limit:
    return Limit.from_dict(msgspec.json.decode(text, type=dict[str, object]))


def _booked(text: str | None) -> Booked:
    return {} if text is None else msgspec.json.decode(text, type=Booked)


def _text(value: Booked) -> str:
    return msgspec.json.encode(value).decode()
