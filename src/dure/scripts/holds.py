"""Holds: why nothing of some scope may run for now, whoever found it out.

A battery that learns that no work of a scope can succeed (an empty wallet, a wrong key) puts a
hold on it. That closes the way: breakers are forced open, a kind is paused. The hold remembers
what it closed, so resuming jobs by its reason ends it from any process, also from one that
knows nothing of the battery.
"""

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from dure.core.errors import NotFound
from dure.core.filter import JobFilter, Op, Text
from dure.ports.store import Script
from dure.scripts import audit, breakers, cells, pauses
from dure.scripts.cells import Texts
from dure.scripts.pauses import Scope

SPACE = "hold"


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """Why nothing is done in a scope, and until when."""

    reason: str
    """The one its jobs are SUSPENDED with."""
    why: str
    at: float
    until: float | None = None
    """None: until somebody resumes it."""
    is_swept: bool = False
    """Whether the waiting jobs have been SUSPENDED."""
    breakers: tuple[str, ...] = ()
    """Forced open with it, and closed when it ends."""
    kind: str | None = None
    """The one kind it is about, paused with it."""
    lane: str | None = None
    """The one lane it is about."""

    def is_meant(self, wanted: JobFilter) -> bool:
        """Whether resuming these jobs ends it: they are chosen by its reason, among others."""
        if not any(term.field == "reason" and term.op is Op.EQ for term in wanted.terms):
            return False
        about = {"reason": self.reason, "kind": self.kind, "lane": self.lane}
        return all(
            any(isinstance(each, Text) and each.matches(text) for each in term.values)
            is (term.op is Op.EQ)
            for term in wanted.terms
            if (text := about.get(term.field)) is not None
        )


def put(name: str, hold: Hold, *, by: str, now: float) -> Script[bool]:
    """Hold a scope: stop claims behind its breakers, or of its kind. False: it is held already."""

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], bool]:
        text = texts[name]
        old = _hold(text) if text else None
        if old is not None and (old.until is None or old.until > now):
            return {}, False
        return {name: _text(hold)}, True

    is_new = yield from cells.change(SPACE, [name], decide, now)
    if is_new:
        why = f"{hold.reason}: {hold.why}"
        if hold.kind is not None:
            yield from pauses.pause(Scope.KIND, hold.kind, by=by, reason=why, now=now)
        for breaker in sorted(hold.breakers):
            yield from breakers.force(breaker, "open", by=by, reason=why, now=now, until=hold.until)
    return is_new


def swept(name: str, now: float) -> Script[None]:
    """What waited in a scope has been SUSPENDED."""

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], None]:
        text = texts[name]
        if not text:
            return {}, None
        return {name: _text(msgspec.structs.replace(_hold(text), is_swept=True))}, None

    yield from cells.change(SPACE, [name], decide, now)


def lift(wanted: JobFilter, *, by: str, reason: str, now: float) -> Script[dict[str, Hold]]:
    """End the holds that resuming these jobs means, and open what they closed; which they were."""
    meant = {name: hold for name, hold in (yield from standing()).items() if hold.is_meant(wanted)}
    lifted = {}
    for name, hold in sorted(meant.items()):
        if not (yield from cells.delete(SPACE, [name])):
            continue
        lifted[name] = hold
        if hold.kind is not None:
            with suppress(NotFound):  # somebody has ended the pause by hand
                yield from pauses.resume(Scope.KIND, hold.kind, by=by, reason=reason, now=now)
        for breaker in sorted(hold.breakers):
            yield from breakers.force(breaker, "closed", by=by, reason=reason, now=now)
        yield from audit.add("hold.lift", name, by=by, reason=reason, now=now, before=_text(hold))
    return lifted


def standing(names: Sequence[str] | None = None) -> Script[dict[str, Hold]]:
    """These holds, or all of them, by scope."""
    texts = yield from cells.read(SPACE, names)
    return {name: _hold(text) for name, text in texts.items()}


def _hold(text: str) -> Hold:
    return msgspec.json.decode(text, type=Hold)


def _text(hold: Hold) -> str:
    return msgspec.json.encode(hold).decode()
