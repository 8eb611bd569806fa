"""From what a handler did to what it means: an outcome, a cause."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, assert_never

from dure.core.decide import SUCCEEDED, Cause
from dure.core.outcome import DONE, Done, Fail, Outcome, Retry, Skip, Stale, Suspend, Wait
from dure.core.state import Event
from dure.engine.kind import ErrorRule, Terms

ERROR_LENGTH_MAX: Final = 2000

_OUTCOMES: Final = (Done, Retry, Wait, Suspend, Stale, Skip, Fail)


def outcome_of(answer: object) -> Outcome:
    """A handler's return value as an outcome; any other value is the result of success."""
    if answer is None:
        return DONE
    if isinstance(answer, _OUTCOMES):
        return answer
    return Done(result=answer)


def outcome_of_error(error: BaseException, terms: Terms) -> Outcome:
    """What an exception means for this kind: its most specific rule, or a retry by policy."""
    rule = _rule(type(error), terms.errors)
    if rule is None:
        return Retry(describe(error), after=_retry_after(error))
    outcome = rule(error) if callable(rule) else rule
    match outcome:
        case Retry("retry asked for", after):
            return Retry(describe(error), after)
        case Fail("failed"):
            return Fail(describe(error))
        case _:
            return outcome


def _rule(
    error: type[BaseException], rules: Mapping[type[BaseException], ErrorRule]
) -> ErrorRule | None:
    for cls in error.__mro__:
        if cls in rules:
            return rules[cls]
    return None


def _retry_after(error: BaseException) -> float | None:
    """Seconds another server asked us to wait, when the exception carries them."""
    after: Any = getattr(error, "retry_after", None)
    return float(after) if isinstance(after, int | float) and after >= 0 else None


def describe(error: BaseException) -> str:
    """An exception in one line, bounded, safe to store."""
    if isinstance(error, asyncio.TimeoutError) and not str(error):
        text = "TimeoutError: the operation took too long"
    else:
        text = f"{type(error).__name__}: {error}".rstrip(": ")
    text = text.replace("\x00", "\\0").encode(errors="backslashreplace").decode()
    return text if len(text) <= ERROR_LENGTH_MAX else text[: ERROR_LENGTH_MAX - 1] + "…"


def cause_of(outcome: Outcome) -> Cause:
    """What an outcome means to the transition table."""
    match outcome:
        case Done():
            return SUCCEEDED
        case Retry(error, after):
            return Cause(Event.RETRY, error=error, after=after)
        case Wait(seconds, reason):
            return Cause(Event.WAIT, reason=reason or None, after=seconds)
        case Suspend(reason, detail):
            return Cause(Event.SUSPEND, reason=reason, error=detail or None)
        case Stale(reason):
            return Cause(Event.STALE, reason=reason)
        case Skip(reason):
            return Cause(Event.SKIP, reason=reason or "skipped")
        case Fail(error):
            return Cause(Event.FAIL, error=error)
        case _:
            assert_never(outcome)
