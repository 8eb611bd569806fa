"""What is paused: everything, a kind, a lane or a session, by whom and why.

A pause of a kind, a lane or everything is watched by the nodes, which then take no such
work. A session has no stream of its own, so its waiting jobs are suspended one by one:
`session_jobs` hands them out for that.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum

import msgspec

from dure.core.errors import NotFound, SettingInvalid
from dure.core.state import State
from dure.ports.rows import Query, Row
from dure.ports.store import Script
from dure.scripts import audit, control

REASON = "paused"
"""The reason under which the jobs of a paused session are suspended."""


class Scope(StrEnum):
    """What a pause stops."""

    ALL = "all"
    KIND = "kind"
    LANE = "lane"
    SESSION = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """One pause as the store knows it."""

    scope: Scope
    name: str
    """Of the kind, lane or session; empty for everything."""
    reason: str
    by: str
    at: float
    drain: bool
    """True: running jobs may end. False: they are stopped and given back."""

    @property
    def target(self) -> str:
        """What is paused, for people."""
        return "everything" if self.scope is Scope.ALL else f"{self.scope} {self.name!r}"


def pause(
    scope: Scope | str, name: str = "", *, by: str, reason: str, drain: bool = True, now: float
) -> Script[Pause]:
    """Pause it; what is paused already goes on being so, for the new reason.

    Raises SettingInvalid when the scope is unknown or the name missing.
    """
    wanted = Pause(
        scope=_scope(scope),
        name=_name(scope, name),
        reason=reason,
        by=by,
        at=now,
        drain=drain,
    )
    before = yield from _locked(wanted)
    rows = yield Query("pause_put", {**asdict(wanted), "scope": wanted.scope.value})
    after = _pause(rows[0])
    yield from audit.add(
        "pause",
        after.target,
        by=by,
        reason=reason,
        now=now,
        before=_text(before),
        after=_text(after),
    )
    yield from control.bump()
    return after


def resume(
    scope: Scope | str, name: str = "", *, by: str, reason: str, now: float
) -> Script[Pause]:
    """End a pause and return what it was. Raises NotFound when there is none."""
    params = {"scope": _scope(scope).value, "name": _name(scope, name)}
    rows = yield Query("pause_end", params)
    if not rows:
        what = "Everything" if params["scope"] == Scope.ALL else f"The {scope} {name!r}"
        others = yield from active()
        known = ", ".join(each.target for each in others) or "nothing"
        raise NotFound(f"{what} is not paused.", f"Paused at the moment: {known}.")
    before = _pause(rows[0])
    yield from audit.add(
        "resume", before.target, by=by, reason=reason, now=now, before=_text(before)
    )
    yield from control.bump()
    return before


def active() -> Script[list[Pause]]:
    """Every pause, by scope and name."""
    return [_pause(row) for row in (yield Query("pauses_all"))]


def session_jobs(
    session: str,
    states: Iterable[State] = (State.PENDING, State.RETRY_WAIT),
    *,
    limit: int,
    after: int = 0,
) -> Script[list[Row]]:
    """A page of a session's unfinished jobs, whole rows by id; `after` is the last id before."""
    params = {
        "session": session,
        "states": [int(state) for state in states],
        "limit": limit,
        "after": after,
    }
    return (yield Query("session_jobs", params))


def _locked(wanted: Pause) -> Script[Pause | None]:
    rows = yield Query("pause_lock", {"scope": wanted.scope.value, "name": wanted.name})
    return _pause(rows[0]) if rows else None


def _scope(scope: Scope | str) -> Scope:
    try:
        return Scope(scope)
    except ValueError:
        raise SettingInvalid(
            f"There is no scope {scope!r}.", f"Pause one of {', '.join(Scope)}."
        ) from None


def _name(scope: Scope | str, name: str) -> str:
    if scope == Scope.ALL:
        return ""
    if not name:
        raise SettingInvalid(f"A pause of a {scope} needs its name.", "Or pause 'all'.")
    return name


def _text(pause: Pause | None) -> str | None:
    return None if pause is None else msgspec.json.encode(pause).decode()


def _pause(row: Row) -> Pause:
    return Pause(
        scope=Scope(row["scope"]),
        name=row["name"],
        reason=row["reason"],
        by=row["by"],
        at=row["at"],
        drain=bool(row["drain"]),
    )
