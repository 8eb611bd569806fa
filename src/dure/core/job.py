"""A job as its author sees it: a plain value that says what to run and how.

Calling a kind builds one; nothing happens until it is enqueued. The record of a job
in a store is `dure.ports.rows.Record`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from typing import Any, Final

from dure.core.duration import Span, seconds_of
from dure.core.state import Priority

LANE_DEFAULT: Final = "default"
_NUMBERS_END: Final = 2**63
"""The first whole number that no store can keep."""
FOREVER: Final = 1e12
"""Until when a key is taken for good, in epoch seconds: further than any store's clock gets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """Refuse a second job under the same key.

    By default the key is free again when the job is finished. With `period` it stays
    taken until the end of the period, finished or not; with `forever` until somebody
    forgets it (`dure keys forget`). `scope` says what the key is unique within: its kind,
    its lane, or everything.
    """

    key: str
    scope: str = "kind"
    period: Span | None = None
    forever: bool = False

    def __post_init__(self) -> None:
        if self.scope not in {"kind", "lane", "global"}:
            raise ValueError(f"unknown scope {self.scope!r}: use 'kind', 'lane' or 'global'")
        if not self.key:
            raise ValueError("a unique key cannot be empty")
        if self.period is not None and seconds_of(self.period) <= 0:
            raise ValueError("the period of a unique key must be longer than nothing")
        if self.period is not None and self.forever:
            raise ValueError("a unique key is taken for a period or forever, not both")

    def stored(self, kind: str, lane: str) -> str:
        """The key as stores hold it and people see it: the scope comes first."""
        match self.scope:
            case "kind":
                return f"kind:{_plain(kind)}:{self.key}"
            case "lane":
                return f"lane:{_plain(lane)}:{self.key}"
        return f"global:{self.key}"

    def until(self, now: float) -> float | None:
        """Until when it stays taken; None: as long as its job is unfinished."""
        if self.forever:
            return FOREVER
        if self.period is None:
            return None
        seconds = seconds_of(self.period)
        return (now // seconds + 1) * seconds


def _plain(name: str) -> str:
    """A name without colons, so that it is plain where it ends and the key begins."""
    return name.replace("%", "%25").replace(":", "%3A")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The conditions a job runs under; one value is shared by all jobs that say nothing else."""

    lane: str = LANE_DEFAULT
    priority: Priority = Priority.NORMAL
    delay: float = 0.0
    """Seconds from enqueueing until it may run."""
    at: float | None = None
    """A moment (epoch seconds, UTC) before which it does not run; wins over `delay`."""
    unique: Unique | None = None
    session: str | None = None
    parent: int | None = None
    batch: int | None = None
    subject: str | None = None
    epoch: int = 0
    """Version of `subject` the job was made for; an older one than the store's is STALE."""
    tokens: int = 0
    """Units to reserve on limits that count more than requests."""

    is_plain: bool = field(init=False, repr=False, compare=False, default=True)
    """Whether lane and priority are all that is said; worked out once per value."""

    def __post_init__(self) -> None:
        rest = (self.at, self.unique, self.session, self.parent, self.batch, self.subject)
        said = any(value is not None for value in rest)
        numbers = self.delay or self.epoch or self.tokens
        object.__setattr__(self, "is_plain", not said and not numbers)
        if not self.is_plain or type(self.priority) is not Priority:
            self._check()

    def _check(self) -> None:
        """Refuse what no store could keep, or would take for something else."""
        object.__setattr__(self, "priority", Priority(self.priority))
        for name, moment in (("delay", self.delay), ("at", self.at or 0.0)):
            if not isfinite(moment):
                raise ValueError(f"a job's {name} must be a finite number of seconds, not {moment}")
        numbers = (self.epoch, self.tokens, self.parent or 0, self.batch or 0)
        for name, number in zip(("epoch", "tokens", "parent", "batch"), numbers, strict=True):
            if not 0 <= number < _NUMBERS_END:
                raise ValueError(f"a job's {name} must be 0 or more and storable, not {number}")

    def to_dict(self) -> dict[str, Any]:
        """What differs from the default, as plain values."""
        said = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.init and getattr(self, each.name) != each.default
        }
        if self.unique is not None:
            seconds = None if self.unique.period is None else seconds_of(self.unique.period)
            said["unique"] = {
                "key": self.unique.key,
                "scope": self.unique.scope,
                "period": seconds,
                "forever": self.unique.forever,
            }
        if "priority" in said:
            said["priority"] = int(self.priority)
        return said

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> "Options":
        """The value `to_dict` was made from."""
        given = dict(said)
        if "priority" in given:
            given["priority"] = Priority(given["priority"])
        if given.get("unique") is not None:
            given["unique"] = Unique(**given["unique"])
        return cls(**given)


PLAIN: Final = Options()


@dataclass(frozen=True, slots=True)
class Job:
    """What to run, with which arguments, and how. A value: nothing runs until it is enqueued."""

    kind: str
    body: str
    """The arguments as a JSON object, written by the kind that built the job."""
    how: Options = PLAIN

    @property
    def args(self) -> dict[str, Any]:
        """The arguments by name."""
        args: dict[str, Any] = json.loads(self.body)
        return args

    def options(
        self,
        *,
        lane: str | None = None,
        priority: Priority | None = None,
        delay: Span | None = None,
        at: float | None = None,
        unique: str | Unique | None = None,
        session: str | None = None,
        parent: int | None = None,
        batch: int | None = None,
        subject: str | None = None,
        epoch: int | None = None,
        tokens: int | None = None,
    ) -> "Job":
        """The same job under other conditions; what is not given stays as it was."""
        given = {
            "lane": lane,
            "priority": priority,
            "delay": None if delay is None else seconds_of(delay),
            "at": at,
            "unique": Unique(key=unique) if isinstance(unique, str) else unique,
            "session": session,
            "parent": parent,
            "batch": batch,
            "subject": subject,
            "epoch": epoch,
            "tokens": tokens,
        }
        changed: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
        return Job(self.kind, self.body, replace(self.how, **changed)) if changed else self
