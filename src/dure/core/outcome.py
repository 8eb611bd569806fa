"""What a handler may answer: what should become true, as values.

Returning one of these, or any other value (which means `Done(result=value)`), is the
only way a handler speaks to the engine. Raising means "this failed"; the kind's error
rules and retry policy say what follows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from dure.core.job import Job


@dataclass(frozen=True, slots=True)
class Write:
    """One statement on the application's own tables, with named parameters (`:name`).

    It runs in the transaction that records the outcome, so either both happen or neither.
    """

    sql: str
    params: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Guard:
    """A query that must still answer `expected` when the outcome is committed.

    If the first column of its first row differs, nothing is written and the job is STALE.
    """

    sql: str
    params: Mapping[str, object]
    expected: object


@dataclass(frozen=True, slots=True)
class Done:
    """The work is finished: keep the result, apply the writes, enqueue what follows."""

    result: object = None
    _: KW_ONLY
    writes: Sequence[Write] = ()
    then: Sequence[Job] = ()
    guard: Guard | None = None
    used: Mapping[str, int] | None = None
    """Units really used, per limit unit, to settle what was reserved (tokens)."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Failed, worth another attempt. `after` seconds is a floor below the policy's own delay."""

    error: str = "retry asked for"
    after: float | None = None
    _: KW_ONLY
    is_failure: bool | None = None
    """Whether a breaker counts it against the resource; None: unless `after` was asked for."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Not now: run again after `seconds`. Uses no attempt."""

    seconds: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Suspend:
    """Stop until somebody resumes it by this reason. Uses no attempt."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Stale:
    """The subject has moved on; the result would be for an older version."""

    reason: str = "the subject changed"


@dataclass(frozen=True, slots=True)
class Skip:
    """There is nothing to do here, and that is normal."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Fail:
    """Failed for good: another attempt would not help."""

    error: str = "failed"


Outcome = Done | Retry | Wait | Suspend | Stale | Skip | Fail

DONE: Final = Done()
"""Plain success without a result; shared because it is by far the most common answer."""
