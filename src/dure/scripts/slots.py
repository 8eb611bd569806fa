"""How many jobs of a capped thing may run in the whole fleet, dealt out to workers as slots.

A cap belongs to a lane, a kind or a limit. Each worker holds some of its slots and counts
its own running jobs against them; the sum over all workers never exceeds the cap. A cap
that was lowered is reached as workers give slots back: nothing running is stopped.
"""

from collections.abc import Iterable, Mapping

import msgspec

from dure.ports.rows import Query
from dure.ports.store import Script
from dure.scripts import cells
from dure.scripts.cells import Texts

SPACE = "slots"

Holders = dict[int, int]
"""Slots by worker."""


def take(name: str, worker: int, *, want: int, cap: int, now: float) -> Script[int]:
    """Raise what `worker` holds to `want` slots, as far as `cap` allows; returns what it holds.

    `want` is a total and not an addition, so asking again after a lost answer is harmless.
    It never takes slots away: use `give_back`.
    """

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], int]:
        holders = _holders(texts[name])
        held = holders.get(worker, 0)
        free = cap - sum(holders.values())
        total = held + max(min(want - held, free), 0)
        return ({name: _text({**holders, worker: total})} if total > held else {}), total

    return (yield from cells.change(SPACE, [name], decide, now))


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
