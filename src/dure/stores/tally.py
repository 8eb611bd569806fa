"""What enqueued jobs and applied changes add to the counts of their batches."""

from collections.abc import Sequence
from typing import Final

from dure.core.state import State
from dure.ports.rows import Change, NewJob

Counts = tuple[int, int, int, int, int, int]
"""Added, success, failed, skipped, stale, cancelled."""

_COLUMN: Final = {State.SUCCESS: 1, State.FAILED: 2, State.STALE: 4, State.CANCELLED: 5}
_SKIPPED: Final = 3


def tallies_of_changes(applied: Sequence[Change]) -> dict[int, Counts]:
    """Deltas per batch of jobs that reached a final state."""
    found: dict[int, list[int]] = {}
    for change in applied:
        if change.batch is not None and change.transition.to in _COLUMN:
            column = _SKIPPED if change.skipped else _COLUMN[change.transition.to]
            found.setdefault(change.batch, [0] * 6)[column] += 1
    return {batch: (c[0], c[1], c[2], c[3], c[4], c[5]) for batch, c in found.items()}


def tallies_of_jobs(jobs: Sequence[NewJob]) -> dict[int, Counts]:
    """Deltas per batch of jobs that joined one."""
    found: dict[int, int] = {}
    for job in jobs:
        if job.batch is not None:
            found[job.batch] = found.get(job.batch, 0) + 1
    return {batch: (count, 0, 0, 0, 0, 0) for batch, count in found.items()}
