"""What the leader does again and again: promote what is due, take back what was left behind,
remove what is old.

Every step is bounded by a limit and safe to repeat; two leaders at once do no harm.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from dure.core.state import State
from dure.ports.rows import Query, Row
from dure.ports.store import Script
from dure.scripts.jobs import WorkerRow, take_positions, worker_of

PARTITION_DAYS: Final = 8
"""Days of partitions that exist from today on, so that a leader may be away for a week."""
_WINDOWS_MAX: Final = 10


class Orphan(NamedTuple):
    """A running job that nobody looks after; a subject of `decide`."""

    id: int
    fence: int
    attempt: int
    stream: int
    kind_id: int
    worker: int | None
    batch: int | None
    key: str | None
    subject: str | None
    epoch: int

    @property
    def state(self) -> State:
        """Only a running job can be orphaned."""
        return State.RUNNING


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizon:
    """What keeps PostgreSQL from removing dead rows, and how many of dure_live wait for it."""

    seconds: float | None
    """Age of the oldest transaction that still may see them; None when there is none."""
    pid: int | None
    dead_rows: int


def promote(now: float, limit: int) -> Script[list[tuple[int, int]]]:
    """Make waiting jobs whose time has come PENDING, the longest due first.

    Returns how many, by stream. Jobs of a paused session are SUSPENDED instead, as they are
    when they are enqueued: RUNNING jobs may have come back to wait after it was paused.
    """
    due = yield Query("due_jobs", {"now": now, "most": limit})
    held = [row["id"] for row in due if row["held"]]
    if held:
        yield Query("due_hold", {"ids": held})
    ready = [row["id"] for row in due if not row["held"]]
    if not ready:
        return []
    positions = yield from take_positions(len(ready))
    streams: dict[int, int] = {}
    for row in (yield Query("promote", {"ids": ready, "positions": positions})):
        streams[row["stream"]] = streams.get(row["stream"], 0) + 1
    return sorted(streams.items())


def dead_workers(now: float) -> Script[list[WorkerRow]]:
    """Workers whose lease has ended."""
    return [worker_of(row) for row in (yield Query("dead_workers", {"now": now}))]


def orphans(worker: int, limit: int) -> Script[list[Orphan]]:
    """Running jobs of a worker; scans the ready jobs, which only a death is worth."""
    rows = yield Query("orphans", {"worker": worker, "most": limit})
    return [_orphan(row) for row in rows]


def unowned(limit: int) -> Script[list[Orphan]]:
    """Running jobs whose worker has no row at all; scans the ready jobs.

    A worker that was thought dead may still get a last claim through. Were it buried
    between that claim and the commit, nobody else would ever look at those jobs.
    """
    return [_orphan(row) for row in (yield Query("unowned", {"most": limit}))]


def _orphan(row: Row) -> Orphan:
    return Orphan(**row)


def bury(worker: int, now: float) -> Script[bool]:
    """Remove a dead worker's row, only when no job runs under it any more; scans as `orphans`."""
    return bool((yield Query("bury", {"worker": worker, "now": now})))


def prune(before: float, limit: int, *, now: float) -> Script[int]:
    """Remove what finished before `before`, and unique keys whose period is over at `now`.

    Returns how many rows were deleted; call again at once while that is not less than
    `limit`. PostgreSQL drops whole days instead (not counted) and deletes rows only where
    no partition held their day. It waits half a second at most for readers of the history: then
    the whole step fails and is done the next time.
    """
    gone = yield from _prune_history(before, limit)
    gone += len((yield Query("prune_attempts", {"before": before, "most": limit})))
    gone += len((yield Query("prune_keys", {"now": now, "most": limit})))
    yield Query("partitions_add", {"now": now, "days": PARTITION_DAYS})
    yield Query("partitions_drop", {"before": before})
    return gone


def _prune_history(before: float, limit: int) -> Script[int]:
    """Walk finished jobs by id, a window at a time, from where the last walk stopped.

    No index holds the time at which successes ended. Ids rise with the time of enqueueing,
    so a window of jobs that are all too young to have ended before `before` ends the walk,
    and the next one starts from the oldest again.
    """
    place = yield Query("prune_place")
    start = after = msgspec.json.decode(place[0]["value"], type=int) if place else 0
    gone = 0
    for _ in range(_WINDOWS_MAX):
        window = yield Query("prune_window", {"after": after, "most": limit - gone})
        old = [row["id"] for row in window if row["finished_at"] < before]
        if old:
            gone += len((yield Query("prune_history", {"ids": old, "before": before})))
        is_last = len(window) == 0 or all(row["enqueued_at"] >= before for row in window)
        after = 0 if is_last else window[-1]["id"]
        if is_last or gone >= limit:
            break
    if after != start:
        yield Query("prune_place_keep", {"value": str(after), "at": before})
    return gone


def fresh_positions() -> Script[int]:
    """The newest position handed out; every later one is higher."""
    value: int = (yield Query("positions_last"))[0]["pos"]
    return value


def stuck_horizon() -> Script[Horizon | None]:
    """What holds vacuum back; None on SQLite, which has no such thing."""
    rows = yield Query("stuck_horizon")
    return Horizon(**rows[0]) if rows else None
