"""The version of what jobs are made for: a number per subject that only grows."""

from collections.abc import Iterable

from dure.ports.rows import Query
from dure.ports.store import Script


def raise_to(subject: str, epoch: int | None = None) -> Script[int]:
    """Raise the subject's epoch, by one when none is given; returns the one that holds.

    An epoch that is not higher than the present one changes nothing.
    """
    rows = yield Query("epoch_raise", {"subject": subject, "epoch": epoch})
    present: int = rows[0]["epoch"]
    return present


def current(subjects: Iterable[str]) -> Script[dict[str, int]]:
    """The epoch of each subject; 0 where none was ever raised."""
    wanted = sorted(set(subjects))
    rows = yield Query("epochs_of", {"subjects": wanted})
    return dict.fromkeys(wanted, 0) | {row["subject"]: row["epoch"] for row in rows}
