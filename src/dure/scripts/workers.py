"""Who works here: each worker process with its lease, as one row.

A worker lives as long as its lease; the hot statement `beat` renews it. Nobody but the
sweeper removes the row, because only the sweeper also takes back the jobs behind it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from dure.core.errors import NotFound
from dure.ports.rows import Query, Row
from dure.ports.store import Script

RUNNING: Final = "running"
DRAINING: Final = "draining"
"""Takes no new jobs; finishes or gives back those it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One worker process as the store knows it; times are epoch seconds of the store."""

    id: int
    name: str
    host: str
    pid: int
    version: str
    kinds: tuple[str, ...]
    slots: int
    state: str
    started_at: float
    beat_at: float
    lease_until: float
    is_alive: bool


def register(
    name: str,
    host: str,
    *,
    pid: int,
    version: str,
    kinds: Iterable[str],
    slots: int,
    lease: float,
    now: float,
) -> Script[int]:
    """Enter a worker with a fresh lease of `lease` seconds; returns its id."""
    params = {
        "name": name,
        "host": host,
        "pid": pid,
        "version": version,
        "kinds": msgspec.json.encode(sorted(set(kinds))).decode(),
        "slots": slots,
        "now": now,
        "lease_until": now + lease,
    }
    rows = yield Query("worker_add", params)
    worker: int = rows[0]["id"]
    return worker


def drain(worker: int) -> Script[None]:
    """Show that the worker takes no new jobs. Raises NotFound when it was declared dead."""
    rows = yield Query("worker_drain", {"id": worker})
    if not rows:
        raise NotFound(f"There is no worker {worker}; it was declared dead.", "Register it again.")


def retire(worker: int) -> Script[None]:
    """End a worker's lease at its last beat, so that the sweeper buries it at once.

    The row is not deleted here: whether jobs still stand under this worker takes a scan
    that only the sweeper makes. After a clean drain it finds none, and removes the row;
    were one left behind, it is taken back like any other. Unknown workers are ignored.
    """
    yield Query("worker_retire", {"id": worker})


def listing(now: float) -> Script[list[Worker]]:
    """Every worker not yet buried, oldest first."""
    return [_worker(row, now) for row in (yield Query("workers_all"))]


def _worker(row: Row, now: float) -> Worker:
    return Worker(
        id=row["id"],
        name=row["name"],
        host=row["host"],
        pid=row["pid"],
        version=row["version"],
        kinds=tuple(msgspec.json.decode(row["kinds"], type=list[str])),
        slots=row["slots"],
        state=row["state"],
        started_at=row["started_at"],
        beat_at=row["beat_at"],
        lease_until=row["lease_until"],
        is_alive=row["lease_until"] > now,
    )
