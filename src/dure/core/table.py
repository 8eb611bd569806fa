"""The transition table: every (state, event) pair is a row here or is refused.

Nothing else in Dure knows which state follows which. `decide` is the one function
that reads it; the diagram in ARCHITECTURE.md and the checks in the stores' schemas
are rendered from it.

A row may name up to three targets. `to` is the rule. `later` applies when the job
carries a due time in the future, `spent` when its attempts are used up: it is then
finished like any other final job, and not due again whatever the effects say.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from dure.core.state import FINAL, Event, State


class Effect(StrEnum):
    """What a transition does beside changing the state. A closed list: stores know each one."""

    SPEND_ATTEMPT = "spend_attempt"
    REFUND_ATTEMPT = "refund_attempt"
    RESET_ATTEMPTS = "reset_attempts"
    GRANT_LEASE = "grant_lease"
    DROP_LEASE = "drop_lease"
    RECORD_ERROR = "record_error"
    SET_DUE = "set_due"
    SET_REASON = "set_reason"
    NEW_POSITION = "new_position"
    STAMP_FINISH = "stamp_finish"
    CLEAR_FINISH = "clear_finish"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Where an event leads, and what happens on the way."""

    to: State
    effects: tuple[Effect, ...] = ()
    later: State | None = None
    spent: State | None = None

    @property
    def targets(self) -> frozenset[State]:
        """Every state this row can lead to."""
        return frozenset(s for s in (self.to, self.later, self.spent) if s is not None)


_PENDING, _RUNNING, _WAITING = State.PENDING, State.RUNNING, State.RETRY_WAIT
_SUSPENDED = State.SUSPENDED
_DONE = (Effect.DROP_LEASE, Effect.STAMP_FINISH)
_ENDED = (Effect.DROP_LEASE, Effect.SET_REASON, Effect.STAMP_FINISH)
_BROKEN = (Effect.DROP_LEASE, Effect.RECORD_ERROR, Effect.SET_DUE)
_AGAIN = (Effect.NEW_POSITION, Effect.SET_DUE)

NEW: Final = None
"""The state of a job that does not exist yet."""

TABLE: Final[Mapping[tuple[State | None, Event], Row]] = MappingProxyType(
    {
        (NEW, Event.ENQUEUE): Row(to=_PENDING, later=_WAITING, effects=_AGAIN),
        (_WAITING, Event.DUE): Row(to=_PENDING, effects=(Effect.NEW_POSITION,)),
        (_PENDING, Event.CLAIM): Row(
            to=_RUNNING, effects=(Effect.SPEND_ATTEMPT, Effect.GRANT_LEASE)
        ),
        (_RUNNING, Event.SUCCEED): Row(to=State.SUCCESS, effects=_DONE),
        (_RUNNING, Event.SKIP): Row(to=State.SUCCESS, effects=_ENDED),
        (_RUNNING, Event.RETRY): Row(to=_WAITING, spent=State.FAILED, effects=_BROKEN),
        (_RUNNING, Event.TIMEOUT): Row(to=_WAITING, spent=State.FAILED, effects=_BROKEN),
        (_RUNNING, Event.LEASE_LOST): Row(to=_WAITING, spent=State.FAILED, effects=_BROKEN),
        (_RUNNING, Event.WAIT): Row(
            to=_WAITING,
            effects=(Effect.DROP_LEASE, Effect.REFUND_ATTEMPT, Effect.SET_REASON, Effect.SET_DUE),
        ),
        (_RUNNING, Event.GIVE_BACK): Row(
            to=_PENDING,
            effects=(Effect.DROP_LEASE, Effect.REFUND_ATTEMPT, Effect.NEW_POSITION),
        ),
        (_RUNNING, Event.SUSPEND): Row(
            to=_SUSPENDED,
            effects=(
                Effect.DROP_LEASE,
                Effect.REFUND_ATTEMPT,
                Effect.SET_REASON,
                Effect.RECORD_ERROR,
            ),
        ),
        (_RUNNING, Event.FAIL): Row(
            to=State.FAILED,
            effects=(Effect.DROP_LEASE, Effect.RECORD_ERROR, Effect.STAMP_FINISH),
        ),
        **{
            (state, Event.SUSPEND): Row(to=_SUSPENDED, effects=(Effect.SET_REASON,))
            for state in (_PENDING, _WAITING)
        },
        **{
            (state, Event.RESUME): Row(to=_PENDING, later=_WAITING, effects=_AGAIN)
            for state in (_SUSPENDED, _WAITING)
        },
        **{
            (state, event): Row(to=to, effects=_ENDED)
            for state in (_PENDING, _RUNNING, _WAITING, _SUSPENDED)
            for event, to in ((Event.STALE, State.STALE), (Event.CANCEL, State.CANCELLED))
        },
        **{
            (state, Event.REPLAY): Row(
                to=_PENDING,
                later=_WAITING,
                effects=(Effect.CLEAR_FINISH, Effect.RESET_ATTEMPTS, *_AGAIN),
            )
            for state in (State.FAILED, State.STALE, State.CANCELLED)
        },
    }
)


def sources_of(event: Event) -> frozenset[State]:
    """The states in which `event` is legal."""
    return frozenset(s for s, e in TABLE if e is event and s is not None)


def targets_of(event: Event) -> frozenset[State]:
    """Every state `event` can lead to."""
    return frozenset(t for (_, e), row in TABLE.items() if e is event for t in row.targets)


def refusal(state: State | None, event: Event) -> str | None:
    """Why the pair is illegal, as a sentence; None when it is legal."""
    if (state, event) in TABLE:
        return None
    if state is NEW:
        return f"{event} needs a job that exists: enqueue it first"
    if event is Event.ENQUEUE:
        return f"the job exists already and is {state.name}"
    if state in FINAL:
        return f"the job is finished ({state.name}); only replay can bring back a job, and " + (
            "a successful one is enqueued anew instead"
            if state is State.SUCCESS
            else f"{event} does not"
        )
    legal = " or ".join(sorted(s.name for s in sources_of(event)))
    return f"{event} needs a job that is {legal}; this one is {state.name}"


def diagram() -> str:
    """The table as a Mermaid state diagram, for the documentation."""
    edges: dict[tuple[str, str], list[str]] = {}
    for (state, event), row in TABLE.items():
        start = "[*]" if state is None else state.name
        for target, note in ((row.to, ""), (row.later, " (due later)"), (row.spent, " (spent)")):
            if target is not None:
                edges.setdefault((start, target.name), []).append(event.value + note)
    lines = [f"    {a} --> {b}: {', '.join(events)}" for (a, b), events in edges.items()]
    ends = [f"    {s.name} --> [*]" for s in State if s in FINAL]
    return "\n".join(["stateDiagram-v2", *lines, *ends])
