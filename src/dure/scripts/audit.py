"""Who did what, why, and what was before and after: one row for each operator command."""

from dataclasses import dataclass

from dure.ports.rows import Query
from dure.ports.store import Script


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One command as it was carried out."""

    id: int
    at: float
    actor: str
    command: str
    target: str
    reason: str
    count: int
    before: str | None
    after: str | None


def add(
    command: str,
    target: str,
    *,
    by: str,
    reason: str,
    now: float,
    count: int = 1,
    before: str | None = None,
    after: str | None = None,
) -> Script[int]:
    """Write down a command in the transaction that carries it out; returns the entry's id."""
    params = {
        "at": now,
        "actor": by,
        "command": command,
        "target": target,
        "reason": reason,
        "count": count,
        "before": before,
        "after": after,
    }
    rows = yield Query("audit_add", params)
    entry: int = rows[0]["id"]
    return entry


def listing(limit: int, before_id: int | None = None) -> Script[list[Entry]]:
    """The newest entries first; `before_id` is the last one of the page before."""
    rows = yield Query("audit_page", {"limit": limit, "before_id": before_id})
    return [Entry(**row) for row in rows]
