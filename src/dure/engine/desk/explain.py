"""Why a job is not running: the facts `core.waiting` asks for, gathered in a few reads.

What a kind declares (its limits, its breaker, its timeout, its attempts) is known only where
its program is at hand; everything else is in the store.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from dure.core.breaker import Phase
from dure.core.settings import Value, defaults, parse
from dure.core.state import State
from dure.core.waiting import (
    Disabled,
    Facts,
    Full,
    Limited,
    Occupancy,
    Paused,
    Reason,
    Run,
    Tripped,
    why,
)
from dure.engine.kind import PER_LANE, Terms
from dure.ports.store import Script
from dure.scripts import breakers, jobs, limits, settings, slots
from dure.scripts.jobs import PauseRow, Record, WaitingFacts
from dure.scripts.limits import Standing

_NO_LIMITS: Final = "[]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a job is where it is."""

    record: Record
    reason: Reason
    is_complete: bool
    """False when the kind's own limits and breaker could not be looked at."""


def explain(job: int, terms_of: Mapping[str, Terms], *, now: float) -> Script[Explanation | None]:
    """The explanation of one job; None when there is no such job."""
    known = yield from jobs.waiting_facts(job, now=now)
    if known is None:
        return None
    record, terms = known.record, terms_of.get(known.record.kind)
    values = values_of((yield from settings.overrides()))
    drawn = _limits_of(known, terms)
    standings = yield from limits.used(drawn, now=now)
    caps = _caps(known, terms, standings, int(values["lane.cap_default"]))
    facts = Facts(
        state=record.state,
        kind=record.kind,
        lane=record.lane,
        priority=record.priority,
        session=record.session,
        due_at=record.due,
        reason=record.reason,
        error=record.error,
        attempt=record.attempt,
        max_attempts=terms.retry.max_attempts if terms else None,
        finished_at=record.finished_at,
        running_on=_run(known, terms),
        everything_paused=_paused(known.pauses, "all"),
        kind_paused=_paused(known.pauses, "kind"),
        lane_paused=_paused(known.pauses, "lane"),
        session_paused=_paused(known.pauses, "session"),
        lane_disabled=_disabled(known),
        lane_cap=_cap(known),
        workers_alive=known.workers_alive,
        workers_knowing_kind=known.workers_knowing_kind,
        breakers=(yield from _tripped(record, terms, now)),
        limits=_limited(standings, now),
        limits_missing=tuple(name for name in drawn if name not in standings),
        full=(yield from _full(caps)),
        ahead=known.ahead,
        lanes_ahead=known.lanes_ahead or 0,
    )
    return Explanation(record=record, reason=why(facts, now), is_complete=terms is not None)


def values_of(overrides: Mapping[str, settings.Override]) -> dict[str, Value]:
    """Every setting with the value that is in force; what cannot be read has its default."""
    values = defaults()
    for key, override in overrides.items():
        if key in values:
            values[key] = parse(key, override.value)
    return values


def _run(known: WaitingFacts, terms: Terms | None) -> Run | None:
    record, worker = known.record, known.worker
    if record.state is not State.RUNNING or worker is None:
        return None
    since = record.enqueued_at if record.claimed_at is None else record.claimed_at
    timeout = terms.timeout if terms else None
    return Run(
        worker.name,
        since,
        worker.lease_until,
        None if timeout is None else since + timeout,
        knows_timeout=terms is not None,
    )


def _paused(pauses: Iterable[PauseRow], scope: str) -> Paused | None:
    found = next((pause for pause in pauses if pause.scope == scope), None)
    return None if found is None else Paused(found.reason, found.by, found.at)


def _disabled(known: WaitingFacts) -> Disabled | None:
    lane = known.lane
    if lane is None or lane.disabled_at is None:
        return None
    return Disabled(lane.failures, lane.disabled_until)


def _cap(known: WaitingFacts) -> Occupancy | None:
    lane = known.lane
    if lane is None or lane.max_running is None or known.lane_running is None:
        return None
    return Occupancy(known.lane_running, lane.max_running)


def _limits_of(known: WaitingFacts, terms: Terms | None) -> list[str]:
    """The limits a job draws on: its kind's and its lane's."""
    lane = known.lane
    of_lane = msgspec.json.decode(lane.limits if lane else _NO_LIMITS, type=list[str])
    return sorted({*of_lane, *(terms.limits if terms else ())})


def _limited(found: Mapping[str, Standing], now: float) -> tuple[Limited, ...]:
    """Limits with a full window, or that somebody has blocked, with what binds longest."""
    full: list[Limited] = []
    for name, standing in found.items():
        ends = [(use.free_at, use.window) for use in standing.windows if use.free_at is not None]
        if standing.blocked_until is not None:
            ends.append((standing.blocked_until, "asked to pause"))
        if ends and max(ends)[0] > now:
            free_at, window = max(ends)
            full.append(Limited(name, window, free_at))
    return tuple(full)


def _full(caps: Mapping[str, tuple[str, int]]) -> Script[tuple[Full, ...]]:
    """Those of the caps whose slots are all taken."""
    held = yield from slots.held(caps)
    return tuple(
        Full(what, most)
        for cell, (what, most) in caps.items()
        if sum(held.get(cell, {}).values()) >= most
    )


def _caps(
    known: WaitingFacts, terms: Terms | None, found: Mapping[str, Standing], default: int
) -> dict[str, tuple[str, int]]:
    """The caps a job is under besides its lane's own, by the name of their slots."""
    record, caps = known.record, {}
    if default and (known.lane is None or known.lane.max_running is None):
        caps[f"lane:{record.lane}"] = (f"lane {record.lane!r}", default)
    if terms is not None and terms.max_running:
        caps[f"kind:{record.kind}"] = (f"kind {record.kind!r}", terms.max_running)
    for name, standing in found.items():
        if standing.limit.max_running:
            caps[f"limit:{name}"] = (f"limit {name!r}", standing.limit.max_running)
    return caps


def _tripped(record: Record, terms: Terms | None, now: float) -> Script[tuple[Tripped, ...]]:
    """The kind's breaker, when it is not closed."""
    if terms is None or terms.breaker is None:
        return ()
    is_own = terms.breaker == PER_LANE
    name = f"{record.kind}:{record.lane}" if is_own else terms.breaker
    states = yield from breakers.states([name], now=now)
    return tuple(
        Tripped(name, condition.until, condition.forced)
        for name, condition in states.items()
        if condition.phase is not Phase.CLOSED
    )
