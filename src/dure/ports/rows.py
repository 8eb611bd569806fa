"""Rows that pass between the engine and a store: plain tuples, in column order."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dure.core.decide import Transition
from dure.core.outcome import Guard, Write
from dure.core.state import State


class NewJob(NamedTuple):
    """A job to insert, with its names already resolved to a stream."""

    stream: int
    body: str
    due: float | None = None
    """Epoch seconds before which it must not run; None: at once."""
    delay: float | None = None
    """Seconds from the store's own now; wins over nothing, `due` wins over it."""
    batch: int | None = None
    parent: int | None = None
    session: str | None = None
    subject: str | None = None
    epoch: int = 0
    tokens: int = 0
    key: str | None = None
    key_until: float | None = None
    """When set, the key stays taken until then; else until the job is finished."""


class Receipt(NamedTuple):
    """What became of one enqueue."""

    id: int
    is_new: bool
    """False: an unfinished job (or an unexpired period) already holds the unique key."""


class Ask(NamedTuple):
    """Up to `quota` jobs of one stream, from position `mark` on."""

    stream: int
    quota: int
    mark: int


class Claim(NamedTuple):
    """A job handed to a worker, under a fence."""

    id: int
    fence: int
    stream: int
    pos: int
    attempt: int
    body: str
    enqueued_at: float
    batch: int | None
    parent: int | None
    session: str | None
    subject: str | None
    epoch: int
    tokens: int
    key: str | None

    state = State.RUNNING  # type: ignore[misc]  # of the class, not a field
    """A claim is a running job."""


class Effects(NamedTuple):
    """What commits together with a transition, or not at all."""

    writes: Sequence[Write] = ()
    then: Sequence[NewJob] = ()
    guard: Guard | None = None


class Change(NamedTuple):
    """One transition to apply, and what goes with it."""

    transition: Transition
    stream: int
    """The job's stream afterwards."""
    result: str | None = None
    effects: Effects | None = None
    batch: int | None = None
    key: str | None = None
    subject: str | None = None
    epoch: int = 0
    skipped: bool = False


class Applied(NamedTuple):
    """What became of a group of changes; ids not named here were applied."""

    refused: frozenset[int] = frozenset()
    """Fenced off: the job is no longer in the expected state under the expected fence."""
    stale: frozenset[int] = frozenset()
    """The guard or the subject's epoch had moved on: nothing of them was applied."""
    broken: Mapping[int, str] = {}
    """A write or follow-up failed: nothing of them was applied. Id to error text."""
    streams: Sequence[int] = ()
    """Streams that received ready jobs."""


class Head(NamedTuple):
    """A stream with waiting work, and the position where it begins."""

    stream: int
    pos: int


Row = Mapping[str, Any]
"""A row of a script's query: by column name."""


class Query(NamedTuple):
    """A statement a script asks for, by the name of its `.sql` file."""

    name: str
    params: Mapping[str, Any] = {}
    where: str = ""
    """A condition for the marker `/*where*/` of the file: constants and `:names`, never values.
    Only `scripts/matching.py` writes one."""
    text: str = ""
    """The statement itself, for batteries and applications: on tables of their own migrations.
    It may use what the files may use; the name is then only what people see."""


class Migration(NamedTuple):
    """One step of a schema: forward only, run once, never edited afterwards."""

    version: int
    name: str
    text: str
