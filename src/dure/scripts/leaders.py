"""Who leads: for each name of a duty at most one worker at a time, under a lease.

The lease is judged by the store's clock alone. A leader must stop trusting itself before
its lease ends, counted from before it asked.
"""

import msgspec

from dure.ports.store import Script
from dure.scripts import cells
from dure.scripts.cells import Texts

SPACE = "leader"


class Lead(msgspec.Struct, frozen=True):
    """Who leads, and until when."""

    worker: int
    until: float


def lead(name: str, worker: int, lease: float, now: float) -> Script[bool]:
    """Take or renew the lead for `lease` seconds; False while somebody else has it."""

    def decide(texts: Texts, now: float) -> tuple[dict[str, str], bool]:
        present = _lead(texts[name])
        if present is not None and present.worker != worker and present.until > now:
            return {}, False
        return {name: _text(Lead(worker, now + lease))}, True

    return (yield from cells.change(SPACE, [name], decide, now))


def resign(name: str, worker: int, now: float) -> Script[bool]:
    """Leave the lead to whoever asks next; False when the worker did not have it."""

    def decide(texts: Texts, now: float) -> tuple[dict[str, str], bool]:
        present = _lead(texts[name])
        if present is None or present.worker != worker or present.until <= now:
            return {}, False
        return {name: _text(Lead(worker, now))}, True

    return (yield from cells.change(SPACE, [name], decide, now))


def leader_of(name: str, now: float) -> Script[Lead | None]:
    """Who leads at the moment."""
    texts = yield from cells.read(SPACE, [name])
    present = _lead(texts.get(name))
    return present if present is not None and present.until > now else None


def _lead(text: str | None) -> Lead | None:
    return None if text is None else msgspec.json.decode(text, type=Lead)


def _text(lead: Lead) -> str:
    return msgspec.json.encode(lead).decode()
