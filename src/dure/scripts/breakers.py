"""Breakers all nodes share: one cell for each resource, changed by the pure rules."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from dure.core import breaker
from dure.core.breaker import BreakerPolicy, Condition, Permit, Standing
from dure.ports.store import Script
from dure.scripts import audit, cells, control
from dure.scripts.cells import Texts

SPACE: Final = "breaker"

Policies = Mapping[str, BreakerPolicy]
"""The policies of breakers by name; those not named have the default one."""

_DEFAULT: Final = BreakerPolicy()
NO_POLICIES: Final[Policies] = MappingProxyType({})


def permit(
    wants: Mapping[str, int], now: float, policies: Policies = NO_POLICIES
) -> Script[dict[str, Permit]]:
    """Ask each breaker for so many calls. What a half-open one granted must be reported."""

    def decide(texts: Texts, now: float) -> tuple[dict[str, str], dict[str, Permit]]:
        permits = {
            name: breaker.permit(_policy(policies, name), _standing(texts[name]), now, want)
            for name, want in wants.items()
        }
        return {name: _text(given.value) for name, given in permits.items()}, permits

    return (yield from cells.change(SPACE, wants, decide, now))


def record(
    outcomes: Mapping[str, tuple[int, int]], now: float, policies: Policies = NO_POLICIES
) -> Script[dict[str, Condition]]:
    """Take in successes and failures by breaker; returns those whose phase has changed."""

    def recorded(name: str, standing: Standing) -> Standing:
        successes, failures = outcomes[name]
        return breaker.record(_policy(policies, name), standing, now, successes, failures)

    return (yield from _change(outcomes, recorded, now, policies))


def release(
    counts: Mapping[str, int], now: float, policies: Policies = NO_POLICIES
) -> Script[None]:
    """Give back permits that were not used, or proved nothing."""

    def released(name: str, standing: Standing) -> Standing:
        return breaker.release(_policy(policies, name), standing, now, counts[name])

    yield from _change(counts, released, now, policies)


def force(
    name: str,
    to: Literal["open", "closed"],
    *,
    by: str,
    reason: str,
    now: float,
    until: float | None = None,
    policies: Policies = NO_POLICIES,
) -> Script[Condition]:
    """Open or close a breaker by hand; nodes hear of it at once."""

    def decide(texts: Texts, now: float) -> tuple[dict[str, str], tuple[str | None, str]]:
        after = _text(breaker.force(_standing(texts[name]), to, now, until))
        return {name: after}, (texts[name], after)

    before, after = yield from cells.change(SPACE, [name], decide, now)
    yield from audit.add(
        "breaker.force", name, by=by, reason=reason, now=now, before=before, after=after
    )
    yield from control.bump()
    return breaker.describe(_policy(policies, name), _standing(after), now)


def states(
    names: Iterable[str] | None = None, *, now: float, policies: Policies = NO_POLICIES
) -> Script[dict[str, Condition]]:
    """These breakers, or all that were ever used; unused ones are closed and left out."""
    texts = yield from cells.read(SPACE, names)
    return {
        name: breaker.describe(_policy(policies, name), _standing(text), now)
        for name, text in texts.items()
    }


def _change(
    names: Iterable[str],
    changed: Callable[[str, Standing], Standing],
    now: float,
    policies: Policies,
) -> Script[dict[str, Condition]]:
    """Change each breaker; returns those whose stored phase is another one now."""

    def decide(texts: Texts, now: float) -> tuple[dict[str, str], dict[str, Condition]]:
        before = {name: _standing(text) for name, text in texts.items()}
        after = {name: changed(name, standing) for name, standing in before.items()}
        turned = {
            name: breaker.describe(_policy(policies, name), standing, now)
            for name, standing in after.items()
            if _phase(standing) != _phase(before[name])
        }
        return {name: _text(standing) for name, standing in after.items()}, turned

    return (yield from cells.change(SPACE, names, decide, now))


def _phase(standing: Standing) -> str:
    return standing.get("phase", breaker.Phase.CLOSED)


def _policy(policies: Policies, name: str) -> BreakerPolicy:
    return policies.get(name, _DEFAULT)


def _standing(text: str | None) -> Standing:
    return {} if text is None else msgspec.json.decode(text, type=Standing)


def _text(standing: Standing) -> str:
    return msgspec.json.encode(standing).decode()
