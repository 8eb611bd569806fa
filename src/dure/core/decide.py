"""What follows from an event: the one function that reads the transition table.

`decide` is pure: the shell brings the job, the event, the policy, the time and a draw in
[0, 1), and carries the answer out in one compare-and-set guarded by state and fence.
"""

from typing import Final, NamedTuple, Protocol

from dure.core.backoff import RetryPolicy
from dure.core.state import Event, State
from dure.core.table import TABLE, Effect, Row, refusal


class Subject(Protocol):
    """What `decide` must know of a job."""

    @property
    def id(self) -> int: ...
    @property
    def state(self) -> State: ...
    @property
    def fence(self) -> int: ...
    @property
    def attempt(self) -> int: ...


class Transition(NamedTuple):
    """One legal change of one job, ready to be applied if `source` and `fence` still hold."""

    id: int
    fence: int
    source: State
    event: Event
    to: State
    attempt: int
    due: float | None = None
    reason: str | None = None
    error: str | None = None


class Refusal(NamedTuple):
    """Why an event cannot happen to this job."""

    id: int
    event: Event
    sentence: str


class Cause(NamedTuple):
    """An event with what it carries."""

    event: Event
    reason: str | None = None
    error: str | None = None
    after: float | None = None
    """Seconds from now: a floor for retries, the delay itself for waits and resumes."""


SUCCEEDED: Final = Cause(Event.SUCCEED)


class _Step(NamedTuple):
    """A row of the table with its effects spelled out, worked out once at import."""

    to: State
    later: State | None
    spent: State | None
    sets_due: bool
    attempt: Effect | None
    keeps_reason: bool
    keeps_error: bool


def _step(row: Row) -> _Step:
    counting = (Effect.SPEND_ATTEMPT, Effect.REFUND_ATTEMPT, Effect.RESET_ATTEMPTS)
    return _Step(
        row.to,
        row.later,
        row.spent,
        Effect.SET_DUE in row.effects,
        next((effect for effect in row.effects if effect in counting), None),
        Effect.SET_REASON in row.effects,
        Effect.RECORD_ERROR in row.effects,
    )


_STEPS: Final = {pair: _step(row) for pair, row in TABLE.items()}


def decide(
    job: Subject, cause: Cause, policy: RetryPolicy, now: float, draw: float
) -> Transition | Refusal:
    """The transition that `cause` leads to, or why there is none."""
    state, attempt = job.state, job.attempt
    event, reason, error, after = cause
    step = _STEPS.get((state, event))
    if step is None:
        return Refusal(job.id, event, refusal(state, event) or "")
    to, later, spent, sets_due, counting, keeps_reason, keeps_error = step
    due = None
    if spent is not None and policy.is_spent(attempt):
        to = spent
    elif event is Event.LEASE_LOST and policy.lost is not None:
        due = now + policy.lost
    elif spent is not None:
        due = now + policy.delay(attempt, draw, after)
    elif sets_due and ((after or 0.0) > 0.0 or to is State.RETRY_WAIT):
        due = now + max(after or 0.0, 0.0)
        to = later or to
    if counting is not None:
        attempt = _count(attempt, counting)
    return Transition(
        job.id,
        job.fence,
        state,
        event,
        to,
        attempt,
        due,
        reason if keeps_reason else None,
        error if keeps_error else None,
    )


def _count(attempt: int, counting: Effect) -> int:
    if counting is Effect.SPEND_ATTEMPT:
        return attempt + 1
    if counting is Effect.REFUND_ATTEMPT:
        return max(attempt - 1, 0)
    return 0
