"""Why an ask ended without a value: exceptions that carry the job's outcome.

    AiError
    ├── Transient          try again by the kind's policy
    ├── Throttled          not before a moment; costs no attempt
    ├── Suspended          until somebody acts; costs no attempt
    ├── Rejected           failed for good
    └── Refused            the model will not answer: the job is skipped, with the cause

A handler lets them pass: `terms()` maps them. It may catch `Refused` to do without a value.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dure.core.errors import DureError
from dure.core.outcome import Fail, Outcome, Retry, Skip, Suspend, Wait
from dure.engine.kind import ErrorRule


class AiError(DureError):
    """An ask without a value."""

    code = "ai"

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


class Transient(AiError):
    code = "ai_transient"
    retryable = True

    def __init__(self, why: str, *, after: float | None = None, counts: bool = True) -> None:
        # A floor of 0 seconds says to the breaker that the provider is well.
        super().__init__(why, Retry(why, after if counts or after is not None else 0.0))


class Throttled(AiError):
    code = "ai_throttled"
    retryable = True

    def __init__(self, why: str, seconds: float) -> None:
        super().__init__(why, Wait(seconds, why))
        self.seconds = seconds


class Suspended(AiError):
    code = "ai_suspended"

    def __init__(self, reason: str, why: str) -> None:
        super().__init__(why, Suspend(reason, why))
        self.reason = reason


class Rejected(AiError):
    code = "ai_rejected"

    def __init__(self, why: str) -> None:
        super().__init__(why, Fail(why))


class Refused(AiError):
    code = "ai_refused"

    def __init__(self, why: str) -> None:
        super().__init__(why, Skip(why))


def _outcome(error: AiError) -> Outcome:
    return error.outcome


ERRORS: Final[Mapping[type[BaseException], ErrorRule]] = MappingProxyType({AiError: _outcome})
"""What they mean to the engine."""
