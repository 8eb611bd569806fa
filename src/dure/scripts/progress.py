"""How far batches and sessions are: their counts, and how fast jobs of them end."""

from collections.abc import Iterable
from typing import Final

from dure.core.batch import Sample, Tally
from dure.core.state import State
from dure.ports.rows import Query, Row
from dure.ports.store import Script

SPAN_SECONDS: Final = 2
"""How exactly the moments are known at which jobs ended."""
FINISHES_MAX: Final = 50_000
"""How many of the newest finished jobs a pace is drawn from."""


def unfolded(batches: Iterable[int]) -> Script[dict[int, Tally]]:
    """What has been counted for these batches and not yet added to them.

    Read the batches first: what is folded in between is then missing, and never twice there.
    """
    rows = yield Query("tallies_of", {"batches": sorted(set(batches))})
    return {row["batch"]: Tally(**{k: v for k, v in row.items() if k != "batch"}) for row in rows}


def finishes_of_batch(batch: int, finished: int) -> Script[list[Sample]]:
    """How many jobs of a batch had ended at recent moments; `finished` is the number now."""
    params = {"of": batch, "seconds": SPAN_SECONDS, "most": FINISHES_MAX}
    return _samples((yield Query("finishes_of_batch", params)), finished)


def finishes_of_session(session: str, finished: int) -> Script[list[Sample]]:
    """How many jobs of a session had ended at recent moments; `finished` is the number now."""
    params = {"of": session, "seconds": SPAN_SECONDS, "most": FINISHES_MAX}
    return _samples((yield Query("finishes_of_session", params)), finished)


def session_counts(session: str) -> Script[dict[State, int]]:
    """How many jobs of a session stand in each state; reads an index entry for each of them."""
    rows = yield Query("session_counts", {"session": session})
    return {State(row["state"]): row["jobs"] for row in rows}


def _samples(rows: list[Row], finished: int) -> list[Sample]:
    """Rows of spans and counts as moments and running totals, which end at `finished`."""
    if not rows:
        return []
    total = finished - sum(row["jobs"] for row in rows)
    samples = [(float(rows[0]["span"] * SPAN_SECONDS), total)]
    for row in rows:
        total += row["jobs"]
        samples.append((float((row["span"] + 1) * SPAN_SECONDS), total))
    return samples
