"""The storm guard: when one attempt finds the wallet empty, the others do not try.

A suspension is a hold of the engine. It opens the breakers in front of the account, so that
no node claims any more, and every ask that is under way sees it before it sends. The duty
of a node then SUSPENDS what waits, in bulk, under the same reason; resuming by it undoes all.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import msgspec

from dure.ai.verdict import Scope
from dure.ports.store import Script
from dure.scripts import cells, limits
from dure.scripts.cells import Texts

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
    """Of the hold on a scope."""
    match scope:
        case Scope.ACCOUNT:
            return f"account {account}"
        case Scope.MODEL:
            return f"model {account} {model}"
        case Scope.KIND:
            return f"kind {kind}"
        case Scope.LANE:
            return f"lane {account} {lane}"


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
