"""Why a job is not running: one sentence, and the moment at which that changes.

`why` is pure: the shell gathers the `Facts` in a few indexed reads and shows what comes
back on every surface, so that the command line, the dashboard and the API agree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from dure.core.duration import text_of
from dure.core.state import FINAL, Priority, State

_QUOTE_LENGTH_MAX: Final = 200
"""How much of an error or a reason a sentence repeats."""


class Paused(NamedTuple):
    """Somebody has stopped a part of the work."""

    reason: str
    by: str
    since: float


class Disabled(NamedTuple):
    """A lane that failed too often in a row; `until` is None when only a person enables it."""

    failures: int
    until: float | None


class Occupancy(NamedTuple):
    """How many jobs of a lane are running, and how many may."""

    running: int
    most: int


class Full(NamedTuple):
    """A cap over all workers that is reached: what it is on, as text, and how many it allows."""

    what: str
    most: int


class Limited(NamedTuple):
    """A limit with no room: the window that binds, as text, and when it has room again."""

    name: str
    window: str
    free_at: float


class Tripped(NamedTuple):
    """A breaker that is not closed; `open_until` is None when it is half-open, or when
    somebody opened it by hand for as long as nobody closes it."""

    name: str
    open_until: float | None
    is_forced: bool = False


class Spent(NamedTuple):
    """A budget with nothing left; `renews_at` is None when only a person raises it."""

    name: str
    amount: str
    renews_at: float | None


class Run(NamedTuple):
    """The attempt under way: who runs it, and how long it may."""

    worker: str
    since: float
    lease_until: float
    timeout_at: float | None
    knows_timeout: bool = True
    """False where nobody can say whether it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that `why` must know. What does not apply stays at its default."""

    state: State
    kind: str
    lane: str
    priority: Priority = Priority.NORMAL
    session: str | None = None
    due_at: float | None = None
    reason: str | None = None
    """Why it was suspended, asked to wait, was skipped, cancelled or became stale."""
    error: str | None = None
    """What went wrong in the last attempt that failed."""
    attempt: int = 0
    max_attempts: int | None = 1
    """None when only the program of its kind can say."""
    finished_at: float | None = None
    running_on: Run | None = None
    everything_paused: Paused | None = None
    kind_paused: Paused | None = None
    lane_paused: Paused | None = None
    session_paused: Paused | None = None
    lane_disabled: Disabled | None = None
    lane_cap: Occupancy | None = None
    workers_alive: int = 0
    workers_knowing_kind: int = 0
    budget: Spent | None = None
    breakers: tuple[Tripped, ...] = ()
    limits: tuple[Limited, ...] = ()
    limits_missing: tuple[str, ...] = ()
    """Limits it draws on that nobody has defined, or that somebody has removed."""
    full: tuple[Full, ...] = ()
    """Caps other than the lane's: of its kind, or of a limit."""
    ahead: int = 0
    """Jobs of the same lane, kind and priority which are served before it."""
    lanes_ahead: int = 0
    """Lanes whose turn comes before this one's in the current round."""
    rate: float | None = None
    """Jobs started per second, of this lane, kind and priority; None when not known."""


class Reason(NamedTuple):
    """One sentence for people, the moment it ends (epoch seconds) if known, a stable code."""

    sentence: str
    until: float | None
    code: str


def why(facts: Facts, now: float) -> Reason:
    """The first of these that holds; what lasts longer or needs a person comes first.

    | code                                     | holds when                                   |
    |------------------------------------------|----------------------------------------------|
    | success, failed, stale, cancelled        | the job is finished                          |
    | running, lease_expired                   | it is running; its worker has gone silent    |
    | suspended                                | somebody must resume it                      |
    | retry_wait, asked_to_wait, delayed       | its due time has not come                    |
    | everything_paused, kind_paused,          | somebody paused it                           |
    | lane_paused, session_paused              |                                              |
    | lane_disabled                            | its lane failed too often in a row           |
    | no_worker, kind_unknown                  | no live worker, or none that knows the kind  |
    | budget_spent                             | a budget it draws on is used up              |
    | breaker_open, breaker_half_open          | a resource it needs is failing               |
    | limit_missing, limit                     | a limit it draws on is gone, or has no room  |
    | lane_cap, cap                            | its lane, its kind or a limit runs as many   |
    |                                          | jobs as it may                               |
    | turn                                     | nothing: others come first                   |

    A waiting job whose way is barred by a pause or a disabled lane says both, and ends
    when the later of the two does.
    """
    if facts.state in FINAL:
        return _finished(facts, now)
    match facts.state:
        case State.RUNNING:
            return _running(facts, now)
        case State.SUSPENDED:
            sentence = f"SUSPENDED{_quoted(facts.reason)}; it waits until somebody resumes it."
            return Reason(sentence, None, "suspended")
        case State.RETRY_WAIT:
            return _waiting(facts, now)
        case _:
            clause, until, code = _barred(facts, now) or _held_up(facts, now) or _turn(facts, now)
            return Reason(f"PENDING: {clause}.", until, code)


def _finished(facts: Facts, now: float) -> Reason:
    success = facts.state is State.SUCCESS
    at = "" if facts.finished_at is None else f" {_ago(facts.finished_at, now)}"
    note = facts.error if facts.state is State.FAILED else facts.reason
    after = f" after attempt {_attempt(facts)}" if facts.attempt else ""
    end = "." if success else "; only a replay runs it again."
    sentence = f"{facts.state.name}{at}{after}{_quoted(note)}{end}"
    return Reason(sentence, None, facts.state.name.lower())


def _running(facts: Facts, now: float) -> Reason:
    run = facts.running_on
    if run is None:
        return Reason(f"RUNNING, attempt {_attempt(facts)}.", None, "running")
    if run.lease_until <= now:
        sentence = (
            f"RUNNING, but the lease of worker {run.worker!r} expired "
            f"{_ago(run.lease_until, now)}; the sweeper takes the job back any moment."
        )
        return Reason(sentence, run.lease_until, "lease_expired")
    stop = f"; {_stop(run.timeout_at, now)}" if run.knows_timeout else ""
    sentence = (
        f"RUNNING on worker {run.worker!r} for {_length(now - run.since)}, attempt "
        f"{_attempt(facts)}{stop}."
    )
    return Reason(sentence, run.timeout_at, "running")


def _stop(timeout_at: float | None, now: float) -> str:
    return "it has no timeout" if timeout_at is None else f"it is stopped {_in(timeout_at, now)}"


def _waiting(facts: Facts, now: float) -> Reason:
    due = now if facts.due_at is None else facts.due_at
    if facts.reason:
        start, code = f"RETRY_WAIT as the handler asked{_quoted(facts.reason)}", "asked_to_wait"
    elif facts.attempt:
        start = f"RETRY_WAIT after attempt {_attempt(facts)}{_quoted(facts.error)}"
        code = "retry_wait"
    else:
        start, code = "RETRY_WAIT because it was enqueued for later", "delayed"
    bar = _barred(facts, now)
    if bar is None:
        again = "" if code == "delayed" else " again"
        return Reason(f"{start}; runs{again} {_in(due, now)}.", due, code)
    until = None if bar.until is None else max(due, bar.until)
    return Reason(f"{start}; due {_in(due, now)}, but {bar.sentence}.", until, code)


def _barred(facts: Facts, now: float) -> Reason | None:
    """What people, or failures in a row, have switched off."""
    for pause, what, code in (
        (facts.everything_paused, "everything", "everything_paused"),
        (facts.kind_paused, f"kind {facts.kind!r}", "kind_paused"),
        (facts.lane_paused, f"lane {facts.lane!r}", "lane_paused"),
        (facts.session_paused, f"session {facts.session!r}", "session_paused"),
    ):
        if pause is not None:
            by = f" by {_line(pause.by)}" if pause.by else ""
            sentence = (
                f"{what} was paused {_ago(pause.since, now)}{by}{_quoted(pause.reason)} "
                "and waits until somebody resumes it"
            )
            return Reason(sentence, None, code)
    if facts.lane_disabled is None:
        return None
    failures, until = facts.lane_disabled
    end = "somebody enables it" if until is None else f"it is tried again {_in(until, now)}"
    sentence = f"lane {facts.lane!r} is disabled after {_count(failures, 'failure')} in a row until"
    return Reason(f"{sentence} {end}", until, "lane_disabled")


def _held_up(facts: Facts, now: float) -> Reason | None:
    """What the work needs and does not get at the moment."""
    return next((found for check in _CHECKS if (found := check(facts, now))), None)


def _unattended(facts: Facts, _now: float) -> Reason | None:
    if facts.workers_alive == 0:
        return Reason("no worker is alive", None, "no_worker")
    if facts.workers_knowing_kind == 0:
        sentence = f"no worker knows kind {facts.kind!r} ({facts.workers_alive} alive)"
        return Reason(sentence, None, "kind_unknown")
    return None


def _over_budget(facts: Facts, now: float) -> Reason | None:
    if facts.budget is None:
        return None
    name, amount, renews_at = facts.budget
    end = "waits until somebody raises it" if renews_at is None else f"renews {_in(renews_at, now)}"
    return Reason(f"budget {name!r} is spent{_quoted(amount)} and {end}", renews_at, "budget_spent")


def _broken(facts: Facts, now: float) -> Reason | None:
    if not facts.breakers:
        return None
    by_hand = next((b.name for b in facts.breakers if b.is_forced and b.open_until is None), None)
    if by_hand is not None:
        sentence = f"breaker {by_hand!r} was opened by hand and waits until somebody closes it"
        return Reason(sentence, None, "breaker_open")
    still_open = [(b.open_until, b.name) for b in facts.breakers if b.open_until is not None]
    until, name = max(still_open, default=(now, facts.breakers[0].name))
    if until > now:
        sentence = f"breaker {name!r} is open and lets a probe through {_in(until, now)}"
        return Reason(sentence, until, "breaker_open")
    sentence = f"breaker {name!r} is half-open and lets only probes through until it closes"
    return Reason(sentence, None, "breaker_half_open")


def _used_up(facts: Facts, now: float) -> Reason | None:
    if facts.limits_missing:
        sentence = (
            f"limit {facts.limits_missing[0]!r} is not defined; it waits until somebody defines it"
        )
        return Reason(sentence, None, "limit_missing")
    full = [limit for limit in facts.limits if limit.free_at > now]
    if not full:
        return None
    name, window, free_at = max(full, key=lambda limit: limit.free_at)
    sentence = f"limit {name!r} is used up{_quoted(window)} and has room {_in(free_at, now)}"
    return Reason(sentence, free_at, "limit")


def _crowded(facts: Facts, _now: float) -> Reason | None:
    cap = facts.lane_cap
    if cap is None or cap.running < cap.most:
        return _capped(facts)
    sentence = (
        f"lane {facts.lane!r} runs {cap.running} of at most {_count(cap.most, 'job')}; "
        "it starts the next one when one of them ends"
    )
    return Reason(sentence, None, "lane_cap")


def _capped(facts: Facts) -> Reason | None:
    if not facts.full:
        return None
    what, most = facts.full[0]
    sentence = (
        f"{what} runs at most {_count(most, 'job')} at a time, and as many are running; "
        "it starts the next one when one of them ends"
    )
    return Reason(sentence, None, "cap")


_CHECKS: Final[tuple[Callable[[Facts, float], Reason | None], ...]] = (
    _unattended,
    _over_budget,
    _broken,
    _used_up,
    _crowded,
)


def _turn(facts: Facts, now: float) -> Reason:
    if not facts.ahead and not facts.lanes_ahead:
        return Reason("it is next; a worker takes it any moment", now, "turn")
    queue = (
        f"{_count(facts.ahead, 'job')} of its lane, kind and priority ({facts.priority.name}) and "
        f"{_count(facts.lanes_ahead, 'lane')} come first"
    )
    if not facts.rate:
        lately = "" if facts.rate is None else ", as none was served lately"
        return Reason(f"{queue}; there is no estimate{lately}", None, "turn")
    until = now + (facts.ahead + 1) / facts.rate
    pace = f"at {facts.rate:.3g} jobs/s"
    return Reason(f"{queue}; it starts in about {_length(until - now)} {pace}", until, "turn")


def _attempt(facts: Facts) -> str:
    most = facts.max_attempts
    return str(facts.attempt) if most is None else f"{facts.attempt} of {most}"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _quoted(text: str | None) -> str:
    """The text in brackets; nothing when there is none."""
    line = _line(text or "")
    return f" ({line})" if line else ""


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTE_LENGTH_MAX else line[: _QUOTE_LENGTH_MAX - 1] + "…"


def _length(seconds: float) -> str:
    """Clocks of two machines differ a little, so a length may come out below nothing."""
    return text_of(max(seconds, 0.0))


def _ago(moment: float, now: float) -> str:
    return f"{_length(now - moment)} ago"


def _in(moment: float, now: float) -> str:
    return f"in {_length(moment - now)}" if moment > now else "any moment"
