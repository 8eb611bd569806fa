"""How deep a queue is: one lane's waiting jobs of one kind, over its priorities."""

from dure.ports.rows import Query
from dure.ports.store import Script


def depth(first: int, last: int, most: int) -> Script[int]:
    """Waiting jobs of the streams `first` to `last`, counted up to `most`."""
    rows = yield Query("queue_depth", {"first": first, "last": last, "most": most})
    jobs: int = rows[0]["jobs"]
    return jobs


def is_anything_running() -> Script[bool]:
    """Whether any job is being run, by whatever worker."""
    return bool((yield Query("anything_running")))
