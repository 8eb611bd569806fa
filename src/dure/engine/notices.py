"""Telling a program what the engine did: the one seam between the engine and observation.

Listeners are called at once, on the engine's own loop, one after another. That keeps them in
order and needs no queue that could overflow; a listener must be quick and must not block.
One that raises is heard of in the log, at most once a minute, and does no other harm.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from dure.core.decide import Transition
from dure.core.notice import Enqueued, Moved, Notice
from dure.core.stream import kind_of, lane_of, priority_of
from dure.engine.journal import tell
from dure.engine.names import Names
from dure.ports.clock import Clock, SystemClock
from dure.ports.rows import NewJob

N = TypeVar("N", bound=Notice)
Listener = Callable[[Any], None]

_COMPLAINT_SECONDS: Final = 60.0


class Notices:
    """Who listens to what. Shared by everything that one `App` starts in this process."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.heard: dict[type[Any], tuple[Listener, ...]] = {}
        """Listeners by the notice they asked for. Empty means that nothing has to be built."""
        self.failures = 0
        """How often a listener has raised."""
        self._monotonic = (clock or SystemClock()).monotonic
        self._complained_at: dict[Listener, float] = {}

    def listen(self, listener: Callable[[N], None], *wanted: type[N]) -> Callable[[], None]:
        """Call `listener` with each notice of the wanted types; the answer ends that."""
        for each in wanted:
            self.heard[each] = (*self.heard.get(each, ()), listener)

        def stop() -> None:
            for each in wanted:
                left = tuple(other for other in self.heard.get(each, ()) if other is not listener)
                self.heard[each] = left
                if not left:
                    del self.heard[each]

        return stop

    def tell(self, notice: Notice) -> None:
        """Say what happened to whoever wants to know."""
        for listener in self.heard.get(type(notice), ()):
            try:
                listener(notice)
            except Exception as error:  # whatever a listener does, the engine goes on
                self.failures += 1
                self._complain(listener, notice, error)

    def _complain(self, listener: Listener, notice: Notice, error: Exception) -> None:
        now = self._monotonic()
        if now - self._complained_at.get(listener, float("-inf")) >= _COMPLAINT_SECONDS:
            self._complained_at[listener] = now
            name = getattr(listener, "__qualname__", repr(listener))
            told = type(notice).__name__
            tell("listener.broke", logging.ERROR, listener=name, notice=told, error=repr(error))


def moved(
    move: Transition,
    kind: str,
    lane: str,
    seconds: float | None = None,
    result: str | None = None,
) -> Moved:
    """A committed transition as a notice."""
    return Moved(
        move.id,
        kind,
        lane,
        move.event,
        move.source,
        move.to,
        move.attempt,
        move.due,
        move.reason,
        move.error,
        seconds,
        result,
    )


def tell_enqueued(
    notices: Notices,
    names: Names,
    rows: Sequence[NewJob],
    are_new: Sequence[bool],
    *,
    is_follow_up: bool = False,
) -> None:
    """Say which jobs were put in, one notice for each stream."""
    counts: dict[int, list[int]] = {}
    for row, is_new in zip(rows, are_new, strict=True):
        counts.setdefault(row.stream, [0, 0])[not is_new] += 1
    for stream, (new, doubles) in counts.items():
        kind, lane = names.kind(kind_of(stream)), names.lane(lane_of(stream))
        notices.tell(Enqueued(kind, lane, priority_of(stream), new, doubles, is_follow_up))
