"""Who serves what alone: a host, for one, belongs to a single node, so that its pace holds.

A tenure is a slot of a cap of one, held without a job: the sweeper frees it with the other
slots of a worker that died. Beside it lies what its holder learned, for whoever comes next.
"""

from collections.abc import Iterable, Mapping

import msgspec

from dure.ports.store import Script
from dure.scripts import cells
from dure.scripts.cells import Texts
from dure.scripts.slots import SPACE

LEARNED = "tenure"


def take(names: Iterable[str], worker: int, *, most: int, now: float) -> Script[dict[str, str]]:
    """Take up to `most` that nobody holds; returns those held now, with what was learned.

    Asking again after a lost answer is harmless.
    """

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], list[str]]:
        mine = _text(worker)
        kept = [name for name, text in texts.items() if text == mine]
        free = [name for name, text in texts.items() if text in {None, "{}"}][:most]
        return dict.fromkeys(free, mine), [*kept, *free]

    taken = yield from cells.change(SPACE, names, decide, now)
    learned = yield from cells.read(LEARNED, taken)
    return {name: learned.get(name, "") for name in taken}


def give(learned: Mapping[str, str], worker: int, now: float) -> Script[None]:
    """Give these back, and leave what was learned; what another holds meanwhile stays."""

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], None]:
        mine = _text(worker)
        return {name: "{}" for name, text in texts.items() if text == mine}, None

    yield from cells.change(SPACE, learned, decide, now)
    yield from note(learned, now)


def note(learned: Mapping[str, str], now: float) -> Script[None]:
    """Write down what was learned while it is held."""
    worth = {name: text for name, text in learned.items() if text}

    def decide(_texts: Texts, _now: float) -> tuple[dict[str, str], None]:
        return worth, None

    yield from cells.change(LEARNED, worth, decide, now)


def _text(worker: int) -> str:
    return msgspec.json.encode({str(worker): 1}).decode()
