"""How many jobs of a capped thing may run in the whole fleet, dealt out to workers as slots.

A cap belongs to a lane, a kind or a limit. Each worker holds some of its slots and counts
its own running jobs against them; the sum over all workers never exceeds the cap. A cap
that was lowered is reached as workers give slots back: nothing running is stopped.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from dure.ports.rows import Query
from dure.ports.store import Script
from dure.scripts import cells
from dure.scripts.cells import Texts

SPACE = "slots"

Holders = dict[int, int]
"""Slots by worker."""


class Need(NamedTuple):
    """What a worker uses of a cap already, and how large the cap is."""

    used: int
    cap: int


def take(
    needs: Mapping[str, Need], worker: int, *, want: int, now: float
) -> Script[dict[str, int]]:
    """Let `worker` use `want` more slots of all these caps, or as many as the fullest has left.

    Returns what it holds of each, used ones included. Slots of several caps are taken together:
    nobody keeps those of one cap while waiting for another. What is taken is a total (used plus
    wanted), so asking again after a lost answer is harmless; slots held beyond it stay.
    """

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], dict[str, int]]:
        before = {name: _holders(texts[name]) for name in needs}
        held = {name: holders.get(worker, 0) for name, holders in before.items()}
        room = min(
            held[name] + max(need.cap - sum(before[name].values()), 0) - need.used
            for name, need in needs.items()
        )
        more = max(min(want, room), 0)
        total = {name: max(held[name], need.used + more) for name, need in needs.items()}
        return {
            name: _text({**before[name], worker: total[name]})
            for name in needs
            if more and total[name] > held[name]
        }, (total if more else held)

    return (yield from cells.change(SPACE, needs, decide, now))


def give_back(name: str, worker: int, *, keep: int, now: float) -> Script[int]:
    """Give back all slots but `keep`; returns what the worker still holds.

    What is named is a total, so asking again after a lost answer takes nothing more away.
    """

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], int]:
        holders = _holders(texts[name])
        held = holders.get(worker, 0)
        rest = min(held, max(keep, 0))
        return ({name: _text({**holders, worker: rest})} if rest < held else {}), rest

    return (yield from cells.change(SPACE, [name], decide, now))


def bury(workers: Iterable[int], now: float) -> Script[int]:
    """Free the slots of dead workers everywhere; returns how many slots that were."""
    dead = frozenset(workers)
    everything = yield from held()
    names = [name for name, holders in everything.items() if dead & holders.keys()]

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], int]:
        before = {name: _holders(text) for name, text in texts.items()}
        after = {
            name: {worker: count for worker, count in holders.items() if worker not in dead}
            for name, holders in before.items()
        }
        freed = _total(before) - _total(after)
        return {name: _text(holders) for name, holders in after.items()}, freed

    return (yield from cells.change(SPACE, names, decide, now))


def strays() -> Script[frozenset[int]]:
    """Workers that hold slots and are not registered any more: a late `take` of a dead one.

    The sweeper buries them together with the dead it finds, so that no slot is ever lost.
    """
    everything = yield from held()
    holding = frozenset(worker for holders in everything.values() for worker in holders)
    rows = yield Query("workers_known", {"ids": sorted(holding)})
    return holding - {row["id"] for row in rows}


def held(names: Iterable[str] | None = None) -> Script[dict[str, Holders]]:
    """Who holds how many slots of what; of everything when no names are given."""
    texts = yield from cells.read(SPACE, names)
    return {name: _holders(text) for name, text in texts.items()}


def _total(everything: Mapping[str, Holders]) -> int:
    return sum(sum(holders.values()) for holders in everything.values())


def _holders(text: str | None) -> Holders:
    return {} if text is None else msgspec.json.decode(text, type=dict[int, int])


def _text(holders: Holders) -> str:
    return msgspec.json.encode({w: holders[w] for w in sorted(holders) if holders[w]}).decode()
