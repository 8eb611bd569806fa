"""Batches: what was counted, when one may begin and end, and how long it will still take.

A batch is a set of jobs with a start, an end, counts and a report. Jobs are added while it
is OPEN; sealing it says that all of them are there; it is DONE when the last one is
finished. Whatever stops it earlier makes it INTERRUPTED, and that ends with a report too.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from itertools import accumulate, pairwise
from math import ceil, floor, sqrt
from statistics import quantiles
from types import MappingProxyType
from typing import Final, NamedTuple

from dure.core.duration import text_of


class BatchState(IntEnum):
    """Where a batch stands. The numbers are what the stores hold and never change."""

    OPEN = 0
    SEALED = 1
    DONE = 2
    INTERRUPTED = 3


class BatchEvent(StrEnum):
    """Everything that can happen to a batch."""

    SEAL = "seal"
    FINISH = "finish"
    INTERRUPT = "interrupt"


class BatchEffect(StrEnum):
    """What a transition does beside changing the state. A closed list: stores know each one."""

    COUNT = "count"
    STAMP_END = "stamp_end"
    REPORT = "report"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRow:
    """Where an event leads, and what happens on the way."""

    to: BatchState
    effects: tuple[BatchEffect, ...] = ()


_ENDED = (BatchEffect.COUNT, BatchEffect.STAMP_END, BatchEffect.REPORT)

BATCH_TABLE: Final[Mapping[tuple[BatchState, BatchEvent], BatchRow]] = MappingProxyType(
    {
        (BatchState.OPEN, BatchEvent.SEAL): BatchRow(to=BatchState.SEALED),
        (BatchState.SEALED, BatchEvent.FINISH): BatchRow(to=BatchState.DONE, effects=_ENDED),
        **{
            (state, BatchEvent.INTERRUPT): BatchRow(to=BatchState.INTERRUPTED, effects=_ENDED)
            for state in (BatchState.OPEN, BatchState.SEALED)
        },
    }
)

BATCH_FINAL: Final = frozenset({BatchState.DONE, BatchState.INTERRUPTED})
"""States nothing leaves: the batch has been counted and reported."""


def batch_refusal(state: BatchState, event: BatchEvent) -> str | None:
    """Why the pair is illegal, as a sentence; None when it is legal."""
    if (state, event) in BATCH_TABLE:
        return None
    if state in BATCH_FINAL:
        return f"the batch is over ({state.name}); start a new one"
    if event is BatchEvent.SEAL:
        return "the batch is sealed already; jobs can no longer be added"
    return "the batch is OPEN, jobs may still be added: seal it first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many jobs of a batch were added and how they ended.

    Also the change of such counts, to be added up: `Tally(success=1, attempts=3)`. A replay
    takes a job back with a negative count.
    """

    added: int = 0
    success: int = 0
    failed: int = 0
    skipped: int = 0
    """Ended as SUCCESS because there was nothing to do; not counted in `success`."""
    stale: int = 0
    cancelled: int = 0
    attempts: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            added=self.added + other.added,
            success=self.success + other.success,
            failed=self.failed + other.failed,
            skipped=self.skipped + other.skipped,
            stale=self.stale + other.stale,
            cancelled=self.cancelled + other.cancelled,
            attempts=self.attempts + other.attempts,
        )

    @property
    def finished(self) -> int:
        return self.success + self.failed + self.skipped + self.stale + self.cancelled

    @property
    def remaining(self) -> int:
        return max(self.added - self.finished, 0)

    def is_complete(self, sealed: bool) -> bool:
        """Whether the batch is over: no job is missing, and none can be added any more."""
        return sealed and self.remaining == 0


class Overlap(StrEnum):
    """What a batch does when an earlier one of its name is not over."""

    WAIT = "wait"
    """Begin when the earlier one is over."""
    SKIP = "skip"
    """Do without this one; that is normal and only noted."""
    REFUSE = "refuse"
    """Do without this one; that is an error of whoever asked for it."""
    ALLOW = "allow"
    """Run beside the earlier one."""


class BatchHead(NamedTuple):
    """What must be known of a batch to decide whether another may begin beside it."""

    id: int
    name: str
    state: BatchState
    started_at: float


class Start(NamedTuple):
    """Nothing is in the way."""


class WaitFor(NamedTuple):
    """Ask again when this batch is over."""

    batch: int
    sentence: str


class SkipBecause(NamedTuple):
    """Not this time, and that is normal."""

    batch: int
    sentence: str


class RefuseBecause(NamedTuple):
    """Not this time, and whoever asked must hear of it."""

    batch: int
    sentence: str


def may_start(
    running: Sequence[BatchHead], policy: Overlap, now: float
) -> Start | WaitFor | SkipBecause | RefuseBecause:
    """Whether a batch may begin, given the earlier ones of its name.

    Those that are over do not count, so a stale list does no harm. The one that has run
    longest is named; when it ends, the question is asked again.
    """
    alive = [head for head in running if head.state not in BATCH_FINAL]
    if not alive or policy is Overlap.ALLOW:
        return Start()
    first = min(alive, key=lambda head: (head.started_at, head.id))
    age = text_of(max(now - first.started_at, 0.0))
    obstacle = f"batch {first.id} ({first.name}) has been running for {age}"
    match policy:
        case Overlap.WAIT:
            return WaitFor(first.id, f"{obstacle}; this one begins when it is over")
        case Overlap.SKIP:
            return SkipBecause(first.id, f"{obstacle}; this one is left out")
        case _:
            advice = "wait for its end, interrupt it, or allow overlap"
            return RefuseBecause(first.id, f"{obstacle}: {advice}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How a batch went, written once when it ends."""

    id: int
    name: str
    state: BatchState
    started_at: float
    ended_at: float
    tally: Tally
    orphans_recovered: int = 0
    """Jobs an earlier run had left behind, taken back before this one began."""
    note: str = ""

    @property
    def duration(self) -> float:
        """Seconds from start to end; 0 if the clock went backwards in between."""
        return max(self.ended_at - self.started_at, 0.0)

    @property
    def interrupted(self) -> bool:
        return self.state is BatchState.INTERRUPTED

    def to_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON. Times are seconds since 1970."""
        counts = {"finished": self.tally.finished, "remaining": self.tally.remaining}
        return asdict(self) | {
            "state": self.state.name,
            "duration": self.duration,
            "interrupted": self.interrupted,
            "tally": asdict(self.tally) | counts,
        }

    def text(self) -> str:
        """One paragraph for people."""
        tally = self.tally
        began, ended = (datetime.fromtimestamp(at, UTC) for at in (self.started_at, self.ended_at))
        times = f"from {began:%Y-%m-%d %H:%M:%S} to {ended:%Y-%m-%d %H:%M:%S} UTC"
        counts = (
            (tally.success, "succeeded"),
            (tally.failed, "failed"),
            (tally.skipped, "skipped"),
            (tally.stale, "stale"),
            (tally.cancelled, "cancelled"),
            (tally.remaining, "not finished"),
        )
        ends = ", ".join(f"{count} {what}" for count, what in counts if count)
        verb = "was interrupted after" if self.interrupted else "took"
        run = f"Batch {self.id} ({self.name}) {verb} {text_of(self.duration)}, {times}"
        jobs = f"{_counted(tally.added, 'job')} in {_counted(tally.attempts, 'attempt')}: {ends}"
        sentences = [run, jobs if ends else "It had no jobs"]
        if self.orphans_recovered:
            orphans = _counted(self.orphans_recovered, "orphan")
            sentences.append(f"Before it began, {orphans} of an earlier run had to be recovered")
        if self.note:
            sentences.append(self.note.removesuffix("."))
        return ". ".join(sentences) + "."


@dataclass(frozen=True, slots=True, kw_only=True)
class Eta:
    """When the rest will be finished: three moments in seconds since 1970.

    Moments and not lengths, so that an estimate shown a minute later is still right.
    """

    low: float
    likely: float
    high: float | None
    """None when there is no telling: in the slowest part of the past nothing finished."""
    window: float = 0.0
    """Seconds of work, pauses left out, that the estimate is drawn from."""
    paused: float = 0.0
    """Seconds of pause that were left out."""

    def text(self, now: float) -> str:
        """Such as `14–22 min, from the last 10 minutes`."""
        low = max(self.low - now, 0.0)
        if self.high is None:
            size, unit, _ = _unit(low)
            span = f"at least {floor(low / size)} {unit}"
        elif self.high <= now:
            return "any moment now"
        else:
            size, unit, _ = _unit(self.high - now)
            start, end = floor(low / size), ceil((self.high - now) / size)
            span = f"{start}–{end} {unit}" if start < end else f"{end} {unit}"
        size, _, noun = _unit(self.window)
        past = _counted(round(self.window / size), noun)
        return f"{span}, from the last {past}" + ("; paused time excluded" if self.paused else "")


Sample = tuple[float, int]
"""A moment, and how many jobs were finished by then."""

_Step = tuple[float, int]
"""A length of time, and how many jobs were finished in it."""

_WINDOW: Final = 600.0
_SAMPLES_MIN: Final = 10
"""With fewer samples than this in the window, older ones are taken as well."""
_FINISHED_MIN: Final = 5
"""Fewer finished jobs than this say nothing; also the number a stretch should hold."""
_WORK_MIN: Final = 10.0
_STRETCHES_MAX: Final = 10
_NOISE: Final = 1.28
"""Standard deviations that leave a tenth on either side."""


def eta(
    samples: Sequence[Sample], remaining: int, now: float, paused_seconds: float = 0.0
) -> Eta | None:
    """When `remaining` jobs will be finished, as a range; None when too little is known.

    `paused_seconds` is how long the work was paused in the time the samples cover.

    Used are the samples of the last ten minutes of work, or the last ten samples when that
    is more, and the time since then: a stall that goes on counts. Pauses are cut out where
    the least was finished. The time that is left is divided into up to ten stretches of
    equal length, long enough for about five jobs each.

    - `likely` supposes the mean pace of the whole.
    - `low` and `high` suppose the pace that a tenth of the stretches exceeded, and the one
      that a tenth fell short of: what went up and down will go on doing so.
    - Neither is closer to the mean than chance allows (a count of N is good to about the
      square root of N). A few jobs at a steady pace do not make a narrow range.

    Five finished jobs and ten seconds of work are the least that tells anything.
    """
    if remaining <= 0:
        return Eta(low=now, likely=now, high=now)
    work = _without_pause(_steps(samples, now, paused_seconds), paused_seconds)
    seconds = sum(length for length, _ in work)
    finished = sum(count for _, count in work)
    if finished < _FINISHED_MIN or seconds < _WORK_MIN:
        return None
    paces = _paces(work, min(finished // _FINISHED_MIN, _STRETCHES_MAX))
    # Twice over, because a single value has no quantiles.
    tenths = quantiles([*paces, *paces], n=10, method="inclusive")
    noise = _NOISE * sqrt(finished)
    slow = min(tenths[0], (finished - noise) / seconds)
    fast = max(tenths[-1], (finished + noise) / seconds)
    return Eta(
        low=now + remaining / fast,
        likely=now + remaining * seconds / finished,
        high=now + remaining / slow if slow > 0 else None,
        window=seconds,
        paused=paused_seconds,
    )


def _steps(samples: Sequence[Sample], now: float, paused: float) -> list[_Step]:
    """The way from each recent sample to the next, and from the last to now.

    A count that falls, because finished jobs were replayed, is no work undone.
    """
    past = sorted(sample for sample in samples if sample[0] <= now)
    window = [sample for sample in past if sample[0] >= now - _WINDOW - paused]
    recent = window if len(window) >= _SAMPLES_MIN else past[-_SAMPLES_MIN:]
    marks = [*recent, *((now, count) for _, count in recent[-1:])]
    return [(later - at, max(more - count, 0)) for (at, count), (later, more) in pairwise(marks)]


def _without_pause(steps: Sequence[_Step], paused: float) -> list[_Step]:
    """The steps with `paused` seconds taken out, first where the pace was lowest.

    Nothing says when the pause was, only that hardly anything can have finished in it.
    """
    lengths = [length for length, _ in steps]
    timed = [i for i, length in enumerate(lengths) if length > 0]
    for i in sorted(timed, key=lambda i: (steps[i][1] / lengths[i], -lengths[i])):
        cut = min(lengths[i], paused)
        lengths[i] -= cut
        paused -= cut
    return [(length, count) for length, (_, count) in zip(lengths, steps, strict=True)]


def _paces(steps: Sequence[_Step], stretches: int) -> list[float]:
    """Jobs per second in each of so many stretches of equal length."""
    ends = list(accumulate((length for length, _ in steps), initial=0.0))
    counts = list(accumulate((count for _, count in steps), initial=0))
    length = ends[-1] / stretches
    marks: list[float] = []
    for moment in (length * i for i in range(stretches)):
        step = bisect_right(ends, moment) - 1
        seconds, count = steps[step]
        marks.append(counts[step] + count * (moment - ends[step]) / seconds)
    return [(later - at) / length for at, later in pairwise([*marks, counts[-1]])]


def _unit(seconds: float) -> tuple[float, str, str]:
    """The size and the names of the unit to express a length in."""
    for limit, size, short, noun in (
        (90, 1.0, "s", "second"),
        (5400, 60.0, "min", "minute"),
        (172800, 3600.0, "h", "hour"),
    ):
        if seconds <= limit:
            return size, short, noun
    return 86400.0, "days", "day"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
