"""Lanes: what each one is set to, what it has going on, and when it is disabled.

Failures in a row disable a lane for the whole fleet. It comes back by itself when its
time is over, or when an operator resets it. One that came back by itself is on probation:
it starts with one failure less than it may have, so the next failure disables it again
and the next success forgives everything.

Only lanes that were ever configured or disabled have a version over 0; nodes read those
and treat all others as default.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from types import EllipsisType
from typing import Final, NamedTuple

import msgspec

from dure.core.errors import NotFound, SettingInvalid
from dure.core.stream import pack
from dure.ports.rows import Query, Row
from dure.ports.store import Script
from dure.scripts import audit, control, names, queues

FAILURES_DEFAULT: Final = 0
"""As `failures_max`: the setting `lane.failures_max_default` decides."""
FAILURES_NEVER: Final = -1
"""As `failures_max`: no number of failures disables the lane."""
COUNT_MAX: Final = 10_000
"""How many jobs of a lane a listing looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One lane as the store knows it."""

    id: int
    name: str
    version: int
    weight: float
    max_running: int | None
    limits: tuple[str, ...]
    failures: int
    """In a row, since the last success."""
    failures_max: int
    disabled_at: float | None
    disabled_until: float | None
    """None in a disabled lane: until somebody resets it."""
    last_served_at: float | None

    @property
    def is_disabled(self) -> bool:
        return self.disabled_at is not None

    def failures_allowed(self, default: int) -> int:
        """How many failures in a row disable it; 0 when none do."""
        return max(self.failures_max or default, 0)


class Listed(NamedTuple):
    """A lane and its jobs; both counts come from its first 10,000 ready jobs."""

    lane: Lane
    waiting: int
    running: int


def get(name: str) -> Script[Lane]:
    """One lane. Raises NotFound."""
    rows = yield Query("lane_get", {"name": name})
    if not rows:
        raise NotFound(f"There is no lane {name!r}.", "A lane exists once a job was put in it.")
    return _lane(rows[0])


def changed_since(version: int) -> Script[list[Lane]]:
    """Lanes that were configured, disabled or enabled after `version` of the control row."""
    return [_lane(row) for row in (yield Query("lanes_changed", {"version": version}))]


def listing(limit: int, after_name: str = "") -> Script[list[Listed]]:
    """A page of lanes by name; `after_name` is the last one of the page before."""
    params = {"limit": limit, "after_name": after_name, "count_max": COUNT_MAX}
    rows = yield Query("lanes_page", params)
    return [Listed(_lane(row), row["waiting"], row["running"]) for row in rows]


def listed(name: str) -> Script[Listed]:
    """One lane and its jobs, counted as `listing` does. Raises NotFound."""
    lane = yield from get(name)
    low, high = pack(lane.id, 0, 0), pack(lane.id + 1, 0, 0)
    waiting = yield from queues.depth(low, high - 1, COUNT_MAX)
    rows = yield Query("waiting_lane_running", {"low": low, "high": high, "most": COUNT_MAX})
    return Listed(lane, waiting, rows[0]["jobs"])


def configure(
    name: str,
    *,
    by: str,
    reason: str,
    now: float,
    weight: float | EllipsisType = ...,
    max_running: int | EllipsisType | None = ...,
    limits: Sequence[str] | EllipsisType = ...,
    failures_max: int | EllipsisType = ...,
) -> Script[Lane]:
    """Change what is given and leave the rest; creates the lane if nobody has named it yet.

    Raises SettingInvalid. `max_running` None means no cap; for `failures_max` see
    FAILURES_DEFAULT and FAILURES_NEVER.
    """
    yield from names.lanes([name])
    before = yield from _locked(name)
    after = replace(
        before,
        weight=before.weight if weight is ... else float(weight),
        max_running=before.max_running if max_running is ... else max_running,
        limits=before.limits if limits is ... else tuple(limits),
        failures_max=before.failures_max if failures_max is ... else failures_max,
    )
    _refuse_nonsense(after)
    yield from audit.add(
        "lane.configure",
        name,
        by=by,
        reason=reason,
        now=now,
        before=_settings_text(before),
        after=_settings_text(after),
    )
    changed = replace(after, version=(yield from control.bump()))
    params = {
        "id": changed.id,
        "version": changed.version,
        "weight": changed.weight,
        "max_running": changed.max_running,
        "limits": msgspec.json.encode(changed.limits).decode(),
        "failures_max": changed.failures_max,
    }
    yield Query("lane_configure", params)
    return changed


def record_outcomes(
    outcomes: Mapping[int, tuple[int, bool]],
    *,
    now: float,
    default_failures_max: int,
    recover_after: float | None,
) -> Script[list[Lane]]:
    """Count failures in a row; returns the lanes that these disable, as they are now.

    For each lane id: failures since its last success, and whether there was a success.
    While a lane is disabled, outcomes are late answers of an earlier time and change
    nothing. `recover_after` None: a lane stays disabled until somebody resets it.
    """
    rows = yield Query("lanes_lock", {"ids": sorted(outcomes)})
    counted: list[Lane] = []
    for lane in map(_lane, rows):
        added, had_success = outcomes[lane.id]
        failures = (0 if had_success else lane.failures) + added
        if failures != lane.failures and not lane.is_disabled:
            counted.append(replace(lane, failures=failures))
    disabled = [
        replace(
            lane,
            disabled_at=now,
            disabled_until=None if recover_after is None else now + recover_after,
        )
        for lane in counted
        if 0 < lane.failures_allowed(default_failures_max) <= lane.failures
    ]
    ids = {lane.id for lane in disabled}
    yield from _write([lane for lane in counted if lane.id not in ids])
    return (yield from _announce(disabled))


def recover_due(now: float, *, default_failures_max: int = 0) -> Script[list[Lane]]:
    """Enable lanes whose time is over, on probation; returns them as they are now."""
    rows = yield Query("lanes_recovering", {"now": now})
    return (
        yield from _announce(
            [
                replace(
                    lane,
                    failures=max(lane.failures_allowed(default_failures_max) - 1, 0),
                    disabled_at=None,
                    disabled_until=None,
                )
                for lane in map(_lane, rows)
            ]
        )
    )


def reset(name: str, *, by: str, reason: str, now: float) -> Script[Lane]:
    """Enable a lane and forget its failures. Raises NotFound."""
    before = yield from _locked(name)
    after = replace(before, failures=0, disabled_at=None, disabled_until=None)
    yield from audit.add(
        "lane.reset",
        name,
        by=by,
        reason=reason,
        now=now,
        before=_standing_text(before),
        after=_standing_text(after),
    )
    return (yield from _announce([after]))[0]


def mark_served(ids: Iterable[int], now: float) -> Script[None]:
    """Note when lanes had their turn, so that a restart goes on with the longest waiting."""
    yield Query("lanes_lock", {"ids": sorted(set(ids))})
    yield Query("lanes_served", {"ids": sorted(set(ids)), "now": now})


def _locked(name: str) -> Script[Lane]:
    lane = yield from get(name)
    rows = yield Query("lanes_lock", {"ids": [lane.id]})
    return _lane(rows[0])


def _announce(lanes: Sequence[Lane]) -> Script[list[Lane]]:
    """Write locked lanes under a new version."""
    if not lanes:
        return []
    version = yield from control.bump()
    changed = [replace(lane, version=version) for lane in lanes]
    yield from _write(changed)
    return changed


def _write(lanes: Sequence[Lane]) -> Script[None]:
    """Write the failures of locked lanes, and whether they are disabled."""
    if not lanes:
        return
    params = {
        "ids": [lane.id for lane in lanes],
        "versions": [lane.version for lane in lanes],
        "failures": [lane.failures for lane in lanes],
        "disabled_at": [lane.disabled_at for lane in lanes],
        "disabled_until": [lane.disabled_until for lane in lanes],
    }
    yield Query("lanes_write", params)


def _refuse_nonsense(lane: Lane) -> None:
    where = f"Lane {lane.name!r}"
    if not (isfinite(lane.weight) and lane.weight > 0):
        raise SettingInvalid(
            f"{where} cannot have the weight {lane.weight}.",
            "Give a number over 0; 1 is an ordinary share. To stop a lane, pause it.",
        )
    if lane.max_running is not None and lane.max_running < 1:
        raise SettingInvalid(
            f"{where} cannot have max_running {lane.max_running}.",
            "Give at least 1, or nothing for no cap. To stop a lane, pause it.",
        )
    if lane.failures_max < FAILURES_NEVER:
        raise SettingInvalid(
            f"{where} cannot have failures_max {lane.failures_max}.",
            "Give at least 1, 0 for the default, or -1 to never disable it.",
        )


def _settings_text(lane: Lane) -> str:
    settings = {
        "weight": lane.weight,
        "max_running": lane.max_running,
        "limits": lane.limits,
        "failures_max": lane.failures_max,
    }
    return msgspec.json.encode(settings).decode()


def _standing_text(lane: Lane) -> str:
    standing = {
        "failures": lane.failures,
        "disabled_at": lane.disabled_at,
        "disabled_until": lane.disabled_until,
    }
    return msgspec.json.encode(standing).decode()


def _lane(row: Row) -> Lane:
    return Lane(
        id=row["id"],
        name=row["name"],
        version=row["version"],
        weight=row["weight"],
        max_running=row["max_running"],
        limits=tuple(msgspec.json.decode(row["limits"], type=list[str])),
        failures=row["failures"],
        failures_max=row["failures_max"],
        disabled_at=row["disabled_at"],
        disabled_until=row["disabled_until"],
        last_served_at=row["last_served_at"],
    )
