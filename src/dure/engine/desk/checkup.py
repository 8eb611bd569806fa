"""The health of the whole fleet, as far as the store knows it: one finding a component."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from dure.core.breaker import Condition, Phase
from dure.core.duration import text_of
from dure.core.stream import kind_of
from dure.ports.rows import Head
from dure.ports.store import Script
from dure.scripts import breakers, lanes, names, pauses, upkeep, workers
from dure.scripts.lanes import Lane
from dure.scripts.pauses import Pause
from dure.scripts.upkeep import Horizon
from dure.scripts.workers import Worker

BURIAL_SECONDS: Final = 60.0
"""A worker that is dead for so long and not buried has nobody left to do it."""
HORIZON_SECONDS: Final = 900.0
"""Transactions older than this keep PostgreSQL from removing dead rows."""
_NAMES_MAX: Final = 5
_START: Final = "Start a worker: `dure run MODULE`."


class Verdict(StrEnum):
    """How a component is."""

    GOOD = "good"
    WARNING = "warning"
    """Works, but somebody should know."""
    BAD = "bad"
    """Work stands still, or will."""


class Finding(NamedTuple):
    """One component, how it is, and what to do about it."""

    component: str
    verdict: Verdict
    sentence: str
    fix: str = ""


def findings(
    heads: Sequence[Head], declared: Iterable[str], *, now: float
) -> Script[list[Finding]]:
    """Every component; `heads` are the streams with waiting work, `declared` the kinds at hand."""
    everyone = yield from workers.listing(now)
    known = yield from names.kind_names()
    waiting = {known.get(kind_of(head.stream), "") for head in heads}
    paused = yield from pauses.active()
    changed = yield from lanes.changed_since(0)
    states = yield from breakers.states(now=now)
    horizon = yield from upkeep.stuck_horizon()
    found = [
        _workers(everyone, (yield from _lost(everyone, now)), has_work=bool(heads)),
        _kinds(waiting, everyone, declared),
        _pauses(paused, now),
        _lanes(lane for lane in changed if lane.is_disabled),
        _breakers(states),
    ]
    return found if horizon is None else [*found, _horizon(horizon)]


def _lost(everyone: Sequence[Worker], now: float) -> Script[list[Worker]]:
    """Workers long gone whose jobs nobody took back; scans the ready jobs for each of them."""
    found = []
    for worker in everyone:
        if not worker.is_alive and now - worker.lease_until > BURIAL_SECONDS:
            left = yield from upkeep.orphans(worker.id, 1)
            found += [worker] if left else []
    return found


def _workers(everyone: Sequence[Worker], lost: Sequence[Worker], *, has_work: bool) -> Finding:
    alive = sum(worker.is_alive for worker in everyone)
    if lost:
        sentence = f"{_listed(w.name for w in lost)} died and nobody took back what it ran"
        fix = "Look at the logs of the live workers: each of them sweeps every few seconds."
        return Finding("workers", Verdict.BAD, sentence, fix if alive else _START)
    if not alive and has_work:
        return Finding("workers", Verdict.BAD, "none is alive, and jobs wait", _START)
    return Finding("workers", Verdict.GOOD, f"{alive} alive" if alive else "none, nothing waits")


def _kinds(waiting: set[str], everyone: Sequence[Worker], declared: Iterable[str]) -> Finding:
    alive = [worker for worker in everyone if worker.is_alive]
    served = {kind for worker in alive for kind in worker.kinds}
    unknown = sorted(waiting - served)
    if not alive:
        return Finding("kinds", Verdict.GOOD, "no worker is there to know them")
    if not unknown:
        return Finding("kinds", Verdict.GOOD, "workers know every kind that waits")
    at_hand = set(declared)
    fix = "Start a worker with the program that declares it, or cancel the jobs."
    if at_hand & set(unknown):
        fix = "The program at hand declares it: restart the workers with it."
    sentence = f"jobs of kind {_listed(unknown)} wait, and no live worker knows it"
    return Finding("kinds", Verdict.BAD, sentence, fix)


def _pauses(paused: Sequence[Pause], now: float) -> Finding:
    if not paused:
        return Finding("pauses", Verdict.GOOD, "nothing is paused")
    told = [
        f"{pause.target} since {text_of(max(now - pause.at, 0.0))} by {pause.by}"
        + (f" ({pause.reason})" if pause.reason else "")
        for pause in paused
    ]
    fix = "Resume what need not be paused any more: `dure resume`, `dure lanes resume NAME`."
    return Finding("pauses", Verdict.WARNING, "paused: " + _joined(told), fix)


def _lanes(disabled: Iterable[Lane]) -> Finding:
    names_ = [lane.name for lane in disabled]
    if not names_:
        return Finding("lanes", Verdict.GOOD, "none is disabled")
    sentence = f"{_listed(names_)} disabled after failures in a row"
    fix = "See what failed, `dure jobs list --filter 'state:failed lane:NAME'`; then "
    return Finding("lanes", Verdict.WARNING, sentence, fix + "`dure lanes reset NAME`.")


def _breakers(states: Mapping[str, Condition]) -> Finding:
    tripped = {name: c for name, c in states.items() if c.phase is not Phase.CLOSED}
    if not tripped:
        return Finding("breakers", Verdict.GOOD, "all are closed")
    told = [f"{name!r} is {condition.sentence}" for name, condition in sorted(tripped.items())]
    fix = "Look after the resource; it closes by itself, or with `dure breakers close NAME`."
    return Finding("breakers", Verdict.WARNING, _joined(told), fix)


def _horizon(horizon: Horizon) -> Finding:
    age = horizon.seconds or 0.0
    if age < HORIZON_SECONDS:
        return Finding(
            "vacuum", Verdict.GOOD, f"{horizon.dead_rows} dead rows, nothing holds it up"
        )
    sentence = (
        f"the transaction of process {horizon.pid} is {text_of(age)} old and keeps "
        f"{horizon.dead_rows} dead rows alive"
    )
    fix = f"End it: `select pg_terminate_backend({horizon.pid})`."
    return Finding("vacuum", Verdict.BAD, sentence, fix)


def _listed(names_: Iterable[str]) -> str:
    return _joined([repr(name) for name in names_])


def _joined(parts: Sequence[str]) -> str:
    shown = "; ".join(parts[:_NAMES_MAX])
    more = len(parts) - _NAMES_MAX
    return f"{shown} and {more} more" if more > 0 else shown
