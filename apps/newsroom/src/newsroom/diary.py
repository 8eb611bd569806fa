"""The fifteen events of the newsroom's log (A11), as `event_type` of structured lines.

ai_job_start        a handler was entered
ai_job_error        an attempt failed, for whatever reason; what followed is its own line
ai_job_suspended    SUSPENDED: somebody must act
ai_job_retry_wait   RETRY_WAIT
ai_job_failed       FAILED: a dead letter
ai_worker_found     a worker took jobs
ai_worker_error     a worker lost its lease and comes back as a new one
ai_lock_failed      a worker could not take jobs: the store did not answer
ai_already_running  an attempt ended for a job that others have taken over meanwhile
ai_api_error        the model's answer was an error
ai_api_timeout      the model did not answer in time
ai_sweeper_start, ai_sweeper_complete
ai_job_stuck_recovered, ai_job_retry_wait_to_pending
"""

import logging
from typing import Final

import dure
from dure.ai import Verdict
from dure.core.notice import (
    Claimed,
    ClaimFailed,
    LeaseLost,
    Moved,
    Notice,
    Promoted,
    Refused,
    Started,
    SweepBegan,
    Swept,
)
from dure.core.state import Event, State
from dure.engine.journal import tell
from newsroom.prompts import KINDS

LOG: Final = logging.getLogger("newsroom")
EVENT_TYPES: Final = (
    "ai_job_start",
    "ai_job_error",
    "ai_job_suspended",
    "ai_job_retry_wait",
    "ai_job_failed",
    "ai_worker_found",
    "ai_worker_error",
    "ai_lock_failed",
    "ai_already_running",
    "ai_api_error",
    "ai_api_timeout",
    "ai_sweeper_start",
    "ai_sweeper_complete",
    "ai_job_stuck_recovered",
    "ai_job_retry_wait_to_pending",
)
_ERRORS: Final = frozenset({Event.RETRY, Event.TIMEOUT, Event.FAIL, Event.SUSPEND})
_STATES: Final = {
    State.SUSPENDED: ("ai_job_suspended", logging.WARNING),
    State.RETRY_WAIT: ("ai_job_retry_wait", logging.WARNING),
    State.FAILED: ("ai_job_failed", logging.ERROR),
}


def keep_diary(app: dure.App) -> None:
    """Write down what the engine does with AI jobs, from now on."""
    heard = (Claimed, ClaimFailed, LeaseLost, Moved, Promoted, Refused, Started, SweepBegan)
    app.notices.listen(_hear, *heard, Swept)


def api_failed(*, model: str, schema: str, verdict: Verdict, seconds: float) -> None:
    """A call of the model ended without an answer."""
    event = "ai_api_timeout" if is_timeout(verdict) else "ai_api_error"
    _tell(
        event,
        logging.WARNING,
        model=model,
        schema=schema,
        disposition=verdict.disposition,
        code=verdict.code,
        why=verdict.why,
        seconds=round(seconds, 3),
    )


def is_timeout(verdict: Verdict) -> bool:
    """Whether nobody answered in time."""
    return "timed_out" in verdict.why


def _hear(notice: Notice) -> None:
    match notice:
        case Moved() if notice.kind in KINDS:
            _moved(notice)
        case Started() if notice.kind in KINDS:
            _tell("ai_job_start", logging.INFO, **_job(notice), worker=notice.worker)
        case Claimed() if notice.kind in KINDS:
            _tell(
                "ai_worker_found", kind=notice.kind, lane=notice.lane, jobs=notice.jobs,
                worker=notice.worker,
            )  # fmt: skip
        case ClaimFailed():
            _tell("ai_lock_failed", logging.ERROR, worker=notice.worker, error=notice.error)
        case LeaseLost():
            _tell("ai_worker_error", logging.ERROR, worker=notice.worker, error="lease lost")
        case Refused() if notice.kind in KINDS:
            _tell("ai_already_running", logging.WARNING, **_job(notice), worker=notice.worker)
        case SweepBegan():
            _tell("ai_sweeper_start", worker=notice.worker)
        case Swept():
            _tell(
                "ai_sweeper_complete", worker=notice.worker, recovered=notice.recovered,
                seconds=round(notice.seconds, 3),
            )  # fmt: skip
        case Promoted() if notice.kind in KINDS:
            _tell(
                "ai_job_retry_wait_to_pending", kind=notice.kind, lane=notice.lane,
                jobs=notice.jobs,
            )  # fmt: skip
        case _:
            pass


def _moved(moved: Moved) -> None:
    job = _job(moved)
    if moved.event is Event.LEASE_LOST:
        _tell("ai_job_stuck_recovered", logging.WARNING, **job, to=moved.to.name, due=moved.due)
    elif moved.event in _ERRORS and moved.source is State.RUNNING:
        _tell("ai_job_error", logging.WARNING, **job, error=moved.error, reason=moved.reason)
    if moved.to in _STATES and moved.source is not State.SUSPENDED:
        event, level = _STATES[moved.to]
        why = {"error": moved.error, "reason": moved.reason, "due": moved.due}
        said = {name: value for name, value in why.items() if value is not None}
        _tell(event, level, **job, **said)


def _job(notice: Moved | Started | Refused) -> dict[str, object]:
    return {
        "job": notice.job,
        "kind": notice.kind,
        "lane": notice.lane,
        "attempt": notice.attempt,
    }


def _tell(event: str, level: int = logging.INFO, **fields: object) -> None:
    tell(event, level, log=LOG, **fields)
