"""Crawls as the store knows them: runs by name, what they saved, how their pages stand."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from dure.core.state import State
from dure.core.stream import kind_of, lane_of
from dure.ports.rows import Query, Row
from dure.ports.store import Script
from dure.scripts import cells, names
from dure.scripts.cells import Texts

SPACE = "crawl"
TUNING = "crawl.tuning"
FIGURES = "crawl.figures"


class Standing(NamedTuple):
    """Jobs of one kind in one state."""

    kind: int
    state: State
    jobs: int
    attempts: int


class Body(NamedTuple):
    """A kept page."""

    url: str
    status: int
    content_type: str
    body: bytes


def runs() -> Script[dict[str, str]]:
    """Every run by session, as it was written."""
    return (yield from cells.read(SPACE))


def write_run(session: str, text: str, now: float) -> Script[None]:
    """Write a run down."""

    def decide(_texts: Texts, _now: float) -> tuple[dict[str, str], None]:
        return {session: text}, None

    yield from cells.change(SPACE, [session], decide, now)


def tuning() -> Script[dict[str, str]]:
    """What was changed at run time, by spider."""
    return (yield from cells.read(TUNING))


def write_tuning(spider: str, text: str, now: float) -> Script[None]:
    """Change how a spider is run, on every node."""

    def decide(_texts: Texts, _now: float) -> tuple[dict[str, str], None]:
        return {spider: text}, None

    yield from cells.change(TUNING, [spider], decide, now)


def items(session: str, *, type: str = "", after: int = 0, most: int) -> Script[list[Row]]:  # noqa: A002
    """A page of what a session saved."""
    given = {"session": session, "type": type, "after": after, "most": most}
    return (yield Query("crawl_items", given))


def item_counts(session: str) -> Script[dict[str, int]]:
    """How many items of each type."""
    rows = yield Query("crawl_item_counts", {"session": session})
    return {row["type"]: row["items"] for row in rows}


def standings(session: str) -> Script[list[Standing]]:
    """How a session's jobs stand, by kind."""
    rows = yield Query("crawl_kinds", {"session": session})
    return [
        Standing(kind_of(row["stream"]), State(row["state"]), row["jobs"], row["attempts"] or 0)
        for row in rows
    ]


def waiting(session: str) -> Script[dict[tuple[str, str], int]]:
    """How many of a session's jobs could be claimed, by the names of kind and lane."""
    rows = yield Query("crawl_waiting", {"session": session})
    if not rows:
        return {}
    kinds = yield from names.kind_names()
    lanes = yield from names.lane_names(lane_of(row["stream"]) for row in rows)
    found: dict[tuple[str, str], int] = {}
    for row in rows:
        place = (kinds[kind_of(row["stream"])], lanes[lane_of(row["stream"])])
        found[place] = found.get(place, 0) + row["jobs"]
    return found


def errors(session: str, most: int) -> Script[Mapping[str, int]]:
    """What went wrong how often."""
    rows: list[Any] = yield Query("crawl_errors", {"session": session, "most": most})
    return {row["error"]: row["jobs"] for row in rows}


def body(key: str) -> Script[Body | None]:
    """A kept page, if it is still kept."""
    rows = yield Query("crawl_body", {"key": key})
    return Body(**rows[0]) if rows else None


def figures() -> Script[dict[str, str]]:
    """What each node last said of itself, by node."""
    return (yield from cells.read(FIGURES))


def write_figures(node: str, text: str, now: float, *, forget: list[str]) -> Script[None]:
    """A node says how it fares; what old nodes said is forgotten."""

    def decide(_texts: Texts, _now: float) -> tuple[dict[str, str], None]:
        return {node: text}, None

    if forget:
        yield from cells.delete(FIGURES, forget)
    yield from cells.change(FIGURES, [node], decide, now)
