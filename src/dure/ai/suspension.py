"""The storm guard: when one attempt finds the wallet empty, the others do not try.

A suspension is a cell. Putting it there opens the breakers in front of the account, so that
no node claims any more, and every ask that is under way sees it before it sends. The duty
of a node then SUSPENDS what waits, in bulk, under the same reason; `resume` undoes all.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import msgspec

from dure.ai.records import SUSPENSIONS, Hold, hold_of, text_of
from dure.ai.verdict import Scope
from dure.core.errors import NotFound
from dure.ports.store import Script
from dure.scripts import breakers, cells, limits, pauses
from dure.scripts.cells import Texts
from dure.scripts.pauses import Scope as PauseScope

STORMS: Final = "ai.storm"
STORM_INPUTS: Final = 5
"""So many different inputs refused for the same reason: it is not the input."""
STORM_SECONDS: Final = 3600.0
"""Refusals further apart than this have nothing to do with each other."""
_COMPLAINTS_MAX: Final = 20
RATE_MIN: Final = 1 / 64
BY: Final = "dure.ai"


class Storm(msgspec.Struct, frozen=True):
    """Inputs that one complaint was made about."""

    at: float
    inputs: tuple[str, ...] = ()


def scope_name(scope: Scope, *, account: str, model: str, kind: str, lane: str) -> str:
    """The cell of a scope."""
    match scope:
        case Scope.ACCOUNT:
            return f"account {account}"
        case Scope.MODEL:
            return f"model {account} {model}"
        case Scope.KIND:
            return f"kind {kind}"
        case Scope.LANE:
            return f"lane {account} {lane}"


def put(
    name: str, hold: Hold, *, gates: Sequence[str], kind: str | None, now: float
) -> Script[bool]:
    """Suspend a scope: stop claims behind these breakers, or of this kind. False: it is already."""

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], bool]:
        text = texts[name]
        old = hold_of(text) if text else None
        if old is not None and (old.until is None or old.until > now):
            return {}, False
        return {name: text_of(hold)}, True

    is_new = yield from cells.change(SUSPENSIONS, [name], decide, now)
    if is_new:
        why = f"{hold.reason}: {hold.why}"
        if kind is not None:
            yield from pauses.pause(PauseScope.KIND, kind, by=BY, reason=why, now=now)
        for gate in sorted(gates):
            yield from breakers.force(gate, "open", by=BY, reason=why, now=now, until=hold.until)
    return is_new


def swept(name: str, now: float) -> Script[None]:
    """What waited in a scope has been SUSPENDED."""

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], None]:
        text = texts[name]
        if not text:
            return {}, None
        return {name: text_of(msgspec.structs.replace(hold_of(text), is_swept=True))}, None

    yield from cells.change(SUSPENSIONS, [name], decide, now)


def lift(
    names: Iterable[str], gates: Mapping[str, Sequence[str]], *, by: str, reason: str, now: float
) -> Script[None]:
    """End suspensions: claims may go on. `gates` are the breakers behind each."""
    for name in sorted(names):
        if not (yield from cells.delete(SUSPENSIONS, [name])):
            continue
        if name.startswith("kind "):
            kind = name.removeprefix("kind ")
            with suppress(NotFound):  # somebody has ended the pause by hand
                yield from pauses.resume(PauseScope.KIND, kind, by=by, reason=reason, now=now)
        for gate in sorted(gates.get(name, ())):
            yield from breakers.force(gate, "closed", by=by, reason=reason, now=now)


def standing() -> Script[dict[str, Hold]]:
    """All suspensions, by scope."""
    texts = yield from cells.read(SUSPENSIONS)
    return {name: hold_of(text) for name, text in texts.items()}


def complained(kind: str, complaint: str, input_hash: str, now: float) -> Script[int]:
    """Note that a provider found this fault with this input; with how many by now."""

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], int]:
        known = msgspec.json.decode(texts[kind] or "{}", type=dict[str, Storm])
        fresh = {name: storm for name, storm in known.items() if now - storm.at < STORM_SECONDS}
        inputs = {*fresh.pop(complaint, Storm(now)).inputs, input_hash}
        kept = dict(list(fresh.items())[-_COMPLAINTS_MAX:])
        kept[complaint] = Storm(now, tuple(sorted(inputs)[:STORM_INPUTS]))
        return {kind: msgspec.json.encode(kept).decode()}, len(inputs)

    return (yield from cells.change(STORMS, [kind], decide, now))


def forget(kinds: Iterable[str]) -> Script[None]:
    """Begin to count complaints anew."""
    yield from cells.delete(STORMS, kinds)


def slow_down(name: str, factor: float, now: float) -> Script[None]:
    """Scale the rate of a limit; never above what was configured."""
    defined = yield from limits.defined([name])
    for limit in defined.values():
        rate = min(max(limit.rate_factor * factor, RATE_MIN), 1.0)
        if rate != limit.rate_factor:
            why = "the provider asked for a gentler ramp"
            yield from limits.define(replace(limit, rate_factor=rate), by=BY, reason=why, now=now)
