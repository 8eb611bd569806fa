"""What a running handler can ask about itself: `dure.current()`."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from dure.core.errors import Refused
from dure.core.state import Priority
from dure.core.stream import priority_of
from dure.engine.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One run of one job, as its handler sees it."""

    job: int
    fence: int
    number: int
    """1 for the first attempt."""
    kind: str
    lane: str
    enqueued_at: float
    session: str | None
    batch: int | None
    parent: int | None
    priority: Priority = Priority.NORMAL

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this job: for services that refuse doubles."""
        return f"dure-{self.job}"


CURRENT: Final[ContextVar[Work | Attempt]] = ContextVar("dure_work")
"""The work itself where its node runs; in a child process what the node told about it."""


def current() -> Attempt:
    """The attempt this code runs in. Raises Refused outside a handler."""
    try:
        work = CURRENT.get()
    except LookupError:
        raise Refused(
            "There is no running job here.", "Call `dure.current()` inside a handler."
        ) from None
    return work if isinstance(work, Attempt) else attempt_of(work)


def attempt_of(work: Work) -> Attempt:
    """What the handler of a work may know of it; of a chunk, its first job."""
    claim = work.claims[0]
    return Attempt(
        job=claim.id,
        fence=claim.fence,
        number=claim.attempt,
        kind=work.kind.name,
        lane=work.lane,
        enqueued_at=claim.enqueued_at,
        session=claim.session,
        batch=claim.batch,
        parent=claim.parent,
        priority=priority_of(claim.stream),
    )
