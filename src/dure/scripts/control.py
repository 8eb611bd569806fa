"""The one number that grows with every change nodes must hear of.

Lanes, pauses, limits, breakers held by hand, settings and schedules: whoever changes one
of them raises the version in the same transaction, as the last lock it takes. Nodes read
the number often and the rest only when it has grown.
"""

from dure.ports.rows import Query
from dure.ports.store import Script


def version() -> Script[int]:
    """The present version; grows with every change, and only in order of commits."""
    rows = yield Query("control_version")
    present: int = rows[0]["version"]
    return present


def bump() -> Script[int]:
    """Raise the version and return it. Locks until the commit, so do everything else first."""
    rows = yield Query("control_bump")
    raised: int = rows[0]["version"]
    return raised
