"""The numbers that stand for the names of kinds and lanes, and the names behind them.

Numbers are given once and never change. Any number of nodes may name the same things at
the same time: of several inserts one wins, and all of them read what won. A script that
also changes lanes or jobs asks for names first, because naming takes a lock.
"""

from collections.abc import Iterable
from itertools import islice

from dure.core.errors import KindInvalid
from dure.core.stream import KINDS_MAX
from dure.ports.rows import Query, Row
from dure.ports.store import Script


def kinds(names: Iterable[str]) -> Script[dict[str, int]]:
    """The ids of kinds, new ones for those that have none yet.

    Raises KindInvalid when all ids, 1 to 16383, are taken.
    """
    wanted = sorted(set(names))
    found = _ids((yield Query("kinds_of", {"names": wanted})))
    if len(found) == len(wanted):
        return found
    # Ids are counted out by hand to keep them small, so only one node may do it at a time.
    yield Query("kinds_lock")
    taken = {row["name"]: row["id"] for row in (yield Query("kinds_all"))}
    missing = [name for name in wanted if name not in taken]
    used = frozenset(taken.values())
    free = list(islice((i for i in range(1, KINDS_MAX) if i not in used), len(missing)))
    if len(free) < len(missing):
        raise KindInvalid(
            f"There is no room for {len(missing)} more kinds, like {missing[0]!r}: "
            f"{len(used)} of {KINDS_MAX - 1} are named.",
            "Put what differs from job to job into its arguments, not into its kind.",
        )
    if missing:
        yield Query("kinds_add", {"ids": free, "names": missing})
    return {name: taken[name] for name in wanted if name in taken} | dict(
        zip(missing, free, strict=True)
    )


def lanes(names: Iterable[str]) -> Script[dict[str, int]]:
    """The ids of lanes, new ones for those that have none yet."""
    wanted = sorted(set(names))
    found = _ids((yield Query("lanes_of", {"names": wanted})))
    missing = [name for name in wanted if name not in found]
    if missing:
        found |= _ids((yield Query("lanes_add", {"names": missing})))
    beaten = [name for name in missing if name not in found]
    if beaten:
        found |= _ids((yield Query("lanes_of", {"names": beaten})))
    return found


def kind_names() -> Script[dict[int, str]]:
    """Every kind by its id."""
    return {row["id"]: row["name"] for row in (yield Query("kinds_all"))}


def lane_names(ids: Iterable[int]) -> Script[dict[int, str]]:
    """The names of lanes by id; an id nobody has is left out."""
    rows = yield Query("lane_names", {"ids": sorted(set(ids))})
    return {row["id"]: row["name"] for row in rows}


def _ids(rows: list[Row]) -> dict[str, int]:
    return {row["name"]: row["id"] for row in rows}
