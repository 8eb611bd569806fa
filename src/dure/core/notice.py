"""What the engine did, as values in the past tense: what a listener is told.

A notice is about something that is already true (a commit has returned), so hearing one is
never too early; a process that dies between the commit and the notice never gives it. Count
with them and write logs from them; what must not be missed belongs into the outcome instead.
"""

from typing import NamedTuple

from dure.core.state import Event, Priority, State


class Enqueued(NamedTuple):
    """Jobs of one kind, lane and priority were put in, by a program or as what follows a job."""

    kind: str
    lane: str
    priority: Priority
    jobs: int
    """How many are new."""
    doubles: int = 0
    """How many were not put in, because an unfinished job holds their unique key.
    Not known, and 0, for what follows a job."""
    is_follow_up: bool = False


class Claimed(NamedTuple):
    """A worker took jobs of one kind and lane; each starts when it has a slot."""

    worker: int
    kind: str
    lane: str
    jobs: int


class ClaimFailed(NamedTuple):
    """A worker could not get any job: the store did not answer."""

    worker: int
    error: str


class Started(NamedTuple):
    """A handler was entered."""

    job: int
    kind: str
    lane: str
    attempt: int
    worker: int


class Moved(NamedTuple):
    """A job changed its state: at the end of an attempt, by the sweeper, or by an operator."""

    job: int
    kind: str
    lane: str
    event: Event
    source: State
    to: State
    attempt: int
    due: float | None = None
    reason: str | None = None
    error: str | None = None
    seconds: float | None = None
    """How long the attempt ran; None when no attempt ended, or its worker did not say."""
    result: str | None = None
    """What a handler has answered, as JSON."""


class Refused(NamedTuple):
    """The end of an attempt came too late: the job was taken away, or is another worker's."""

    job: int
    kind: str
    lane: str
    attempt: int
    worker: int


class SweepBegan(NamedTuple):
    """A worker looks for jobs whose worker died. Each one found is a `Moved` with LEASE_LOST."""

    worker: int


class Swept(NamedTuple):
    """It has looked."""

    worker: int
    recovered: int
    seconds: float


class Promoted(NamedTuple):
    """Waiting jobs of one kind and lane fell due: RETRY_WAIT became PENDING."""

    kind: str
    lane: str
    jobs: int


class LeaseLost(NamedTuple):
    """This worker was declared dead by the store; it comes back as a new one."""

    worker: int


class LaneDisabled(NamedTuple):
    """A lane failed too often in a row."""

    lane: str
    failures: int


Notice = (
    Enqueued
    | Claimed
    | ClaimFailed
    | Started
    | Moved
    | Refused
    | SweepBegan
    | Swept
    | Promoted
    | LeaseLost
    | LaneDisabled
)
