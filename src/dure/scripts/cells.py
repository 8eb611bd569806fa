"""Small values all nodes share, changed one after another by a pure function.

A cell is a text under a space and a name: what a limit has booked, where a breaker
stands, who leads. `change` is the only way to write one: it locks the rows, lets the
function decide, and writes what came out.

Locking and creating is one statement that takes the rows in the order of their names,
so two changes never wait for each other, not even when the rows do not exist yet. A row
that was created and never written holds the empty text, which counts as absent.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from dure.ports.rows import Query
from dure.ports.store import Script

T = TypeVar("T")

Texts = dict[str, str | None]
"""What the cells hold by name; None where there is nothing yet."""

Decide = Callable[[Texts, float], tuple[Mapping[str, str], T]]
"""Receives the present texts and now; returns the texts to write, and an answer."""


def change(space: str, names: Iterable[str], decide: Decide[T], now: float) -> Script[T]:
    """Lock the cells, let `decide` work, write what it changed, and return its answer.

    Nobody else changes these cells until the transaction ends. A script that changes
    several spaces must always do so in the same order.
    """
    wanted = sorted(set(names))
    if not wanted:
        return decide({}, now)[1]
    rows = yield Query("cells_lock", {"space": space, "names": wanted, "now": now})
    found = {row["name"]: row["value"] for row in rows}
    texts: Texts = {name: found[name] or None for name in wanted}
    after, answer = decide(texts, now)
    changed = sorted(name for name, text in after.items() if text != texts[name])
    if changed:
        params = {
            "space": space,
            "names": changed,
            "texts": [after[name] for name in changed],
            "now": now,
        }
        yield Query("cells_write", params)
    return answer


def read(space: str, names: Iterable[str] | None = None) -> Script[dict[str, str]]:
    """The texts of these cells, or of the whole space; absent ones are left out."""
    if names is None:
        rows = yield Query("cells_all", {"space": space})
    else:
        rows = yield Query("cells_of", {"space": space, "names": sorted(set(names))})
    return {row["name"]: row["value"] for row in rows}


def delete(space: str, names: Iterable[str]) -> Script[int]:
    """Forget these cells; how many there were."""
    wanted = sorted(set(names))
    yield Query("cells_hold", {"space": space, "names": wanted})
    rows = yield Query("cells_delete", {"space": space, "names": wanted})
    return sum(1 for row in rows if row["value"])
