"""Schedules: what is declared, what is due, and one firing for all nodes.

Every node may find a schedule due. Whoever moves `next_at` from the value it read to the
next one has won; all others move nothing. The job is enqueued before that, under a unique
key made of the schedule and the moment: a node that dies in between has lost nothing, and
the one that finds the schedule still due enqueues nothing twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dure.core.errors import NotFound, Refused
from dure.ports.rows import Query, Row
from dure.ports.store import Script
from dure.scripts import audit, control


class Declared(NamedTuple):
    """A schedule as a program declares it; all texts but the name are the caller's own."""

    name: str
    timetable: str
    zone: str
    missed: str
    """The policy for firings that were missed."""
    job: str
    """What to enqueue."""
    next_at: float | None
    """The first firing, when the schedule is new or its timetable has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One schedule as the store knows it."""

    name: str
    version: int
    timetable: str
    zone: str
    missed: str
    job: str
    next_at: float | None
    last_at: float | None
    fired: int
    missed_count: int
    paused: bool


def declare(schedules: Sequence[Declared]) -> Script[list[str]]:
    """Store new and changed schedules; returns their names.

    A schedule with the same timetable keeps its next firing, so restarting a program
    neither delays nor repeats one. Pauses and counts stay.
    """
    changed: list[str] = []
    for declared in sorted(schedules, key=lambda each: each.name):
        rows = yield Query("schedule_declare", declared._asdict())
        changed += [row["name"] for row in rows]
    yield from _announce(changed)
    return changed


def due(now: float) -> Script[list[Schedule]]:
    """Schedules to fire now, longest overdue first; paused ones are not."""
    return [_schedule(row) for row in (yield Query("schedules_due", {"now": now}))]


def fire(
    name: str,
    expected: float,
    *,
    next_at: float | None,
    last_at: float,
    fired: int = 1,
    missed: int = 0,
) -> Script[bool]:
    """Claim the firing planned for `expected`; True for exactly one of all who ask.

    False also when the schedule was paused, removed or changed since it was read.
    """
    params = {
        "name": name,
        "expected": expected,
        "next_at": next_at,
        "last_at": last_at,
        "fired": fired,
        "missed": missed,
    }
    return bool((yield Query("schedule_fire", params)))


def pause(name: str, *, by: str, reason: str, now: float) -> Script[Schedule]:
    """Hold all its firings. Raises NotFound when there is no such schedule."""
    present = yield from _locked(name)
    after = replace(present, paused=True)
    yield from _hold(after, "schedule.pause", by=by, reason=reason, now=now)
    return after


def resume(
    name: str, *, by: str, reason: str, now: float, next_at: float | None = None
) -> Script[Schedule]:
    """Fire again, from `next_at` on if given; else what was missed meanwhile is due.

    Raises NotFound when it is not paused.
    """
    present = yield from _locked(name)
    if not present.paused:
        raise NotFound(f"The schedule {name!r} is not paused.", "Nothing needs to be resumed.")
    after = replace(present, paused=False, next_at=present.next_at if next_at is None else next_at)
    yield from _hold(after, "schedule.resume", by=by, reason=reason, now=now)
    return after


def bring_forward(name: str, *, by: str, reason: str, now: float) -> Script[Schedule]:
    """Make its next firing due now; the one after that follows the timetable again.

    Raises NotFound when there is no such schedule, Refused when it is paused.
    """
    present = yield from _locked(name)
    if present.paused:
        raise Refused(f"The schedule {name!r} is paused.", "Resume it first.")
    after = replace(present, next_at=now)
    yield from _hold(after, "schedule.fire", by=by, reason=reason, now=now)
    return after


def remove(name: str, *, by: str, reason: str, now: float) -> Script[None]:
    """Forget a schedule that no program declares any more. Raises NotFound."""
    present = yield from _locked(name)
    yield Query("schedule_remove", {"name": name})
    yield from audit.add(
        "schedule.remove", name, by=by, reason=reason, now=now, before=present.timetable
    )
    yield from control.bump()


def get(name: str) -> Script[Schedule]:
    """One schedule. Raises NotFound."""
    rows = yield Query("schedule_get", {"name": name})
    if not rows:
        raise _unknown(name)
    return _schedule(rows[0])


def listing() -> Script[list[Schedule]]:
    """Every schedule by name."""
    return [_schedule(row) for row in (yield Query("schedules_all"))]


def _locked(name: str) -> Script[Schedule]:
    rows = yield Query("schedule_lock", {"name": name})
    if not rows:
        raise _unknown(name)
    return _schedule(rows[0])


def _hold(schedule: Schedule, command: str, *, by: str, reason: str, now: float) -> Script[None]:
    params = {"name": schedule.name, "paused": schedule.paused, "next_at": schedule.next_at}
    yield Query("schedule_hold", params)
    yield from audit.add(command, schedule.name, by=by, reason=reason, now=now)
    yield from _announce([schedule.name])


def _announce(names: Sequence[str]) -> Script[None]:
    """Give locked schedules the new version of the control row."""
    if names:
        version = yield from control.bump()
        yield Query("schedules_stamp", {"names": names, "version": version})


def _unknown(name: str) -> NotFound:
    return NotFound(f"There is no schedule {name!r}.", "List schedules to find its name.")


def _schedule(row: Row) -> Schedule:
    return Schedule(**{**row, "paused": bool(row["paused"])})
