"""Batches: opened one after another, counted exactly, closed once, always reported.

Jobs never touch the row of their batch. Every transaction that adds or ends jobs leaves
one tally row; `fold` moves those into the batch. A batch is closed only when it is sealed,
its counts agree, and no tally of it is left, so a fold that saw only a part of the
tallies cannot end a batch too early. Closing is a compare-and-set: one fold does it.

The report is what the row says when the batch ends. Until `reported` has stored it, the
batch is among `unreported`, whatever crashes in between.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from dure.core.batch import (
    BATCH_FINAL,
    BatchEvent,
    BatchHead,
    BatchState,
    Overlap,
    RefuseBecause,
    Report,
    SkipBecause,
    Start,
    Tally,
    WaitFor,
    batch_refusal,
    may_start,
)
from dure.core.errors import IllegalTransition, NotFound
from dure.ports.rows import Query, Row
from dure.ports.store import Script
from dure.scripts import cells

SPACE: Final = "batch"
"""The cell that is locked while it is decided whether a batch of a name may begin."""

_COUNTS: Final = ("added", "success", "failed", "skipped", "stale", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch as the store knows it; times are epoch seconds."""

    id: int
    name: str
    state: BatchState
    opened_at: float
    sealed_at: float | None
    ended_at: float | None
    lease_until: float | None
    """Until when the one who opened it is believed to be alive; only while it is open."""
    tally: Tally
    orphans: int
    report: str | None
    """The report as JSON once it was sent."""
    note: str

    @property
    def head(self) -> BatchHead:
        return BatchHead(self.id, self.name, self.state, self.opened_at)

    def summary(self, now: float) -> Report:
        """The report; of an unfinished batch, as if it ended now."""
        return Report(
            id=self.id,
            name=self.name,
            state=self.state,
            started_at=self.opened_at,
            ended_at=now if self.ended_at is None else self.ended_at,
            tally=self.tally,
            orphans_recovered=self.orphans,
            note=self.note,
        )


def open_(
    name: str,
    overlap: Overlap,
    *,
    now: float,
    lease: float | None = None,
    orphans: int = 0,
    note: str = "",
) -> Script[int | WaitFor | SkipBecause | RefuseBecause]:
    """Open a batch and return its id, or say why not now.

    Of several nodes that ask at once, each decides after the other. With a `lease` the
    opener must `renew` until it seals; `orphans` are jobs it recovered before it began.
    """
    yield from cells.change(SPACE, [name], lambda _texts, _now: ({}, None), now)
    rows = yield Query("batches_unfinished", {"name": name})
    decision = may_start([_batch(row).head for row in rows], overlap, now)
    if not isinstance(decision, Start):
        return decision
    params = {
        "name": name,
        "now": now,
        "lease_until": None if lease is None else now + lease,
        "orphans": orphans,
        "note": note,
    }
    rows = yield Query("batch_open", params)
    batch: int = rows[0]["id"]
    return batch


def seal(batch: int, now: float) -> Script[Batch]:
    """Say that all its jobs are there. Raises NotFound, IllegalTransition."""
    present = yield from _locked(batch, BatchEvent.SEAL)
    after = replace(present, state=BatchState.SEALED, sealed_at=now, lease_until=None)
    yield from _write(after)
    return after


def interrupt(batch: int, note: str, now: float) -> Script[Batch]:
    """End a batch before its time, with what it has counted so far.

    Its jobs are not touched; those that still end are counted and no longer reported.
    Raises NotFound, IllegalTransition.
    """
    # Tallies before the batch, as everybody locks them: the other order could deadlock.
    rows = yield Query("tallies_take_batch", {"batch": batch})
    yield from _count(rows)
    present = yield from _locked(batch, BatchEvent.INTERRUPT)
    after = replace(
        present, state=BatchState.INTERRUPTED, ended_at=now, lease_until=None, note=note
    )
    yield from _write(after)
    return after


def renew(batch: int, lease: float, now: float) -> Script[bool]:
    """Renew the opener's lease; False when the batch is not open any more."""
    rows = yield Query("batch_renew", {"id": batch, "lease_until": now + lease})
    return bool(rows)


def fold(now: float, limit: int = 10_000) -> Script[list[Batch]]:
    """Count up to `limit` tallies and close what is complete; returns the batches closed now."""
    rows = yield Query("tallies_take", {"limit": limit})
    yield from _count(rows)
    return [_batch(row) for row in (yield Query("batches_close", {"now": now}))]


def reported(batch: int, now: float) -> Script[None]:
    """Store the report of an ended batch as sent; the first one stays.

    Call it once the report is enqueued under a key of the batch: whoever dies in between
    enqueues nothing twice. Raises NotFound.
    """
    report = (yield from get(batch)).summary(now).to_dict()
    text = msgspec.json.encode(report).decode()
    yield Query("batch_reported", {"id": batch, "report": text})


def unreported(limit: int) -> Script[list[Batch]]:
    """Ended batches whose report was not sent, oldest first. Reads the table of batches."""
    return [_batch(row) for row in (yield Query("batches_unreported", {"limit": limit}))]


def orphans(name: str | None, now: float) -> Script[list[Batch]]:
    """Open batches, of this name or any, whose opener's lease has expired."""
    rows = yield Query("batches_orphaned", {"name": name, "now": now})
    return [_batch(row) for row in rows]


def get(batch: int) -> Script[Batch]:
    """One batch. Raises NotFound."""
    rows = yield Query("batch_get", {"id": batch})
    if not rows:
        raise _unknown(batch)
    return _batch(rows[0])


def listing(
    name: str | None = None,
    state: BatchState | None = None,
    *,
    limit: int,
    before_id: int | None = None,
) -> Script[list[Batch]]:
    """The newest batches first, all or of one name or state; a page at a time."""
    params = {
        "name": name,
        "state": None if state is None else state.name.lower(),
        "before_id": before_id,
        "limit": limit,
    }
    return [_batch(row) for row in (yield Query("batches_page", params))]


def _count(rows: Sequence[Row]) -> Script[None]:
    """Add tallies to their batches, always in the order of ids."""
    sums: dict[int, list[int]] = {}
    for row in rows:
        counts = sums.setdefault(row["batch"], [0] * len(_COUNTS))
        for place, column in enumerate(_COUNTS):
            counts[place] += row[column]
    for batch in sorted(sums):
        yield Query("batch_count", {"id": batch, **dict(zip(_COUNTS, sums[batch], strict=True))})


def _locked(batch: int, event: BatchEvent) -> Script[Batch]:
    rows = yield Query("batch_lock", {"id": batch})
    if not rows:
        raise _unknown(batch)
    present = _batch(rows[0])
    refusal = batch_refusal(present.state, event)
    if refusal is not None:
        raise IllegalTransition(f"Cannot {event} batch {batch} ({present.name}): {refusal}.")
    return present


def _write(batch: Batch) -> Script[None]:
    assert batch.state in BATCH_FINAL or batch.ended_at is None
    params = {
        "id": batch.id,
        "state": batch.state.name.lower(),
        "sealed_at": batch.sealed_at,
        "ended_at": batch.ended_at,
        "lease_until": batch.lease_until,
        "note": batch.note,
    }
    yield Query("batch_write", params)


def _unknown(batch: int) -> NotFound:
    return NotFound(f"There is no batch {batch}.", "List batches to find its id.")


def _batch(row: Row) -> Batch:
    return Batch(
        id=row["id"],
        name=row["name"],
        state=BatchState[row["state"].upper()],
        opened_at=row["opened_at"],
        sealed_at=row["sealed_at"],
        ended_at=row["ended_at"],
        lease_until=row["lease_until"],
        tally=Tally(**{column: row[column] for column in _COUNTS}),
        orphans=row["orphans"],
        report=row["report"],
        note=row["note"],
    )
