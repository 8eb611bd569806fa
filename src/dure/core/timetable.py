"""When a schedule fires: cron expressions, intervals, and what becomes of missed firings.

A timetable is a pure function of time. Every node that asks it about the same moment gets
the same answer, so the moment of a firing can serve as its key and one node wins it. Nothing
is derived from when a process started or when the last run ended, so nothing drifts.

Cron and the change of clocks, as in Debian's cron:

- An expression with a fixed minute and hour (`30 2 * * *`, `0,30 1-4 * * *`) fires once for
  each time it names. A local time that the clock skips fires at the first moment after the
  gap; a local time that comes twice fires the first time only.
- An expression whose minute or hour begins with `*` (`*/30 * * * *`, `0 */2 * * *`) follows
  the clock on the wall: what lies in a skipped hour does not fire, what lies in a repeated
  hour fires twice. With `*` for the hour, that is simply one firing after another.

Intervals are absolute: `every 20m` fires at the multiples of 20 minutes since 1970 UTC, and
no time zone changes that.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import takewhile
from typing import Final, NamedTuple, Self
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from dure.core.duration import Span, seconds_of, text_of

LOOK_BACK: Final = 1000
"""How many overdue firings are looked at. Older ones are neither fired nor counted, so that a
schedule which slept for a year costs no more than one which slept for a day."""

_GRACE: Final = 60.0
_EXAMPLE: Final = "*/5 * * * *"
_SHAPE: Final = (
    f"write five cron fields (minute hour day-of-month month day-of-week), like {_EXAMPLE!r}, "
    "or an interval, like 'every 30s'"
)
_FIELDS: Final = (
    ("minute", "0-59", "*/5"),
    ("hour", "0-23", "9-17"),
    ("day-of-month", "1-31, L (the last) or LW (the last weekday)", "1,15"),
    ("month", "1-12 or JAN-DEC", "1-6"),
    ("day-of-week", "0-7 (0 and 7 are Sunday), SUN-SAT, 5L (last Friday) or 5#2", "MON-FRI"),
)
_REFERENCE: Final = datetime(2024, 1, 1, tzinfo=UTC)
"""Where the search for a first firing begins. Any day will do: the weekdays of leap days come
round within 40 years, and the search covers 50."""

_ORDINAL: Final = re.compile(r"\b([2-9])([123])th\b")
_ENDINGS: Final = {"1": "st", "2": "nd", "3": "rd"}


class Missed(StrEnum):
    """What becomes of firings that nobody was there for."""

    SKIP = "skip"
    """Nothing: only what is still within its grace fires."""
    ONCE = "once"
    """One firing stands for all of them: the next one still within its grace, or the latest."""
    ALL = "all"
    """Each fires, up to a bound."""


@dataclass(frozen=True, slots=True)
class Cron:
    """Five cron fields, read in a time zone."""

    expression: str
    zone: ZoneInfo

    def __post_init__(self) -> None:
        if reason := _refusal(self.expression):
            raise ValueError(reason)

    @property
    def gap_min(self) -> float:
        """Two firings are never closer than this many seconds."""
        return 60.0

    def next_after(self, moment: float) -> float:
        """The first firing later than `moment`, in seconds since 1970."""
        # Whole seconds: `fromtimestamp` would round the last microsecond of a minute up,
        # and the firing at the full minute would be lost.
        start = datetime.fromtimestamp(math.floor(moment), self.zone)
        # In a repeated hour the search begins with the first pass and can answer with
        # moments of it that are already gone.
        times = (at.timestamp() for at in CronSim(self.expression, start))
        return next(at for at in times if at > moment)

    def describe(self) -> str:
        words: str = CronSim(self.expression, _REFERENCE).explain()
        words = _ORDINAL.sub(lambda m: m[1] + m[2] + _ENDINGS[m[2]], words)
        return f"{words}, {self.zone.key} time"


@dataclass(frozen=True, slots=True)
class Every:
    """A fixed number of seconds, counted from the start of 1970 UTC."""

    seconds: float

    def __post_init__(self) -> None:
        if not 1.0 <= self.seconds < float("inf"):
            raise ValueError(
                f"an interval must be at least 1s and finite, not {self.seconds}s: "
                "for faster work let the handler loop, or enqueue jobs directly"
            )

    @property
    def gap_min(self) -> float:
        """Two firings are never closer than this many seconds."""
        return self.seconds

    def next_after(self, moment: float) -> float:
        """The first firing later than `moment`, in seconds since 1970."""
        step = math.floor(moment / self.seconds)
        # The quotient of two floats may land on either side of a whole number.
        while step * self.seconds <= moment:
            step += 1
        return step * self.seconds

    def describe(self) -> str:
        return f"Every {text_of(self.seconds)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timetable:
    """A rhythm, and what to do about the firings that were missed."""

    rhythm: Cron | Every
    grace: float
    """A firing late by no more than this many seconds counts as on time."""
    missed: Missed = Missed.ONCE
    catch_up_max: int = 100
    """Never more firings than this at once; the latest ones are kept."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.grace < float("inf"):
            raise ValueError(f"grace must be a finite number >= 0, not {self.grace}")
        if not 1 <= self.catch_up_max <= LOOK_BACK:
            raise ValueError(f"catch_up_max must lie in 1..{LOOK_BACK}, not {self.catch_up_max}")

    @classmethod
    def parse(
        cls,
        rhythm: Span,
        tz: str = "UTC",
        *,
        missed: Missed = Missed.ONCE,
        grace: Span | None = None,
        catch_up_max: int = 100,
    ) -> Self:
        """Read five cron fields, `every 30s`, or a plain length of time.

        Without `grace` a firing may be a minute late, or one interval if that is shorter.
        Raises ValueError saying which part is wrong, with an example.
        """
        zone = _zone(tz)
        beat = _rhythm(rhythm, zone)
        allowed = min(_GRACE, beat.gap_min) if grace is None else seconds_of(grace)
        return cls(rhythm=beat, grace=allowed, missed=missed, catch_up_max=catch_up_max)

    def next_after(self, moment: float) -> float:
        """The first firing later than `moment`; both in seconds since 1970."""
        return self.rhythm.next_after(moment)

    def describe(self) -> str:
        """One English sentence for people."""
        match self.missed:
            case Missed.SKIP:
                rest = "missed firings are skipped"
            case Missed.ONCE:
                rest = "one firing makes up for all that were missed"
            case _:
                rest = f"missed firings are made up for, at most {self.catch_up_max} at once"
        return f"{self.rhythm.describe()}; {rest}."


class Firing(NamedTuple):
    """What to fire now, and when to look again."""

    fire_at: tuple[float, ...]
    """The moments that fire, oldest first; each is the key of its firing."""
    next_at: float
    missed: int
    """How many came too late for their grace, made up for or not; at most `LOOK_BACK`."""


def due(timetable: Timetable, next_at: float, now: float) -> Firing:
    """What a schedule whose next firing stands at `next_at` must do at `now`.

    `next_at` fires even when it is not a moment of the rhythm, so a first firing can be put
    anywhere; from then on the rhythm rules.
    """
    if now < next_at:
        return Firing((), next_at, 0)
    overdue = _overdue(timetable.rhythm, next_at, now)
    on_time = tuple(at for at in overdue if now - at <= timetable.grace)
    match timetable.missed:
        case Missed.SKIP:
            chosen = on_time
        case Missed.ONCE:
            chosen = on_time or overdue[-1:]
        case _:
            chosen = overdue
    return Firing(
        chosen[-timetable.catch_up_max :],
        timetable.next_after(now),
        len(overdue) - len(on_time),
    )


def _overdue(rhythm: Cron | Every, next_at: float, now: float) -> tuple[float, ...]:
    """The latest `LOOK_BACK` firings in `next_at..now`, oldest first.

    Looks back from `now`, twice as far each time, until it has enough or reaches `next_at`.
    """
    reach = rhythm.gap_min * LOOK_BACK
    while now - reach > next_at:
        found = tuple(_between(rhythm, now - reach, now))
        if len(found) >= LOOK_BACK:
            return found[-LOOK_BACK:]
        reach *= 2
    return (next_at, *_between(rhythm, next_at, now))[-LOOK_BACK:]


def _between(rhythm: Cron | Every, after: float, until: float) -> Iterator[float]:
    return takewhile(lambda at: at <= until, _following(rhythm, after))


def _following(rhythm: Cron | Every, moment: float) -> Iterator[float]:
    while True:
        moment = rhythm.next_after(moment)
        yield moment


def _rhythm(rhythm: Span, zone: ZoneInfo) -> Cron | Every:
    if not isinstance(rhythm, str):
        return Every(seconds_of(rhythm))
    words = rhythm.split()
    if len(words) > 1 and words[0].lower() == "every":
        return Every(seconds_of(" ".join(words[1:])))
    return Cron(" ".join(words), zone)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(
            f"unknown time zone {name!r}: write a name from the IANA database, "
            "like 'Asia/Seoul', 'Europe/Berlin' or 'UTC'"
        ) from None


def _refusal(expression: str) -> str | None:
    """Why a cron expression cannot be used, as a sentence; None when it can."""
    fields = expression.split()
    if len(fields) != len(_FIELDS):
        return f"cannot read {expression!r} as a schedule: {_SHAPE}"
    for position, (name, takes, example) in enumerate(_FIELDS):
        alone = ["*"] * len(_FIELDS)
        alone[position] = fields[position]
        if not _is_readable(" ".join(alone)):
            return (
                f"the {name} field {fields[position]!r} of {expression!r} is wrong: it takes "
                f"{takes}, '*', lists, ranges and steps, like {example!r} "
                f"(a whole expression: {_EXAMPLE!r})"
            )
    if not _is_readable(expression) or next(CronSim(expression, _REFERENCE), None) is None:
        return (
            f"{expression!r} never fires: its day-of-month {fields[2]!r}, month {fields[3]!r} "
            f"and day-of-week {fields[4]!r} never fall on one day; "
            "for the last day of a month write L, like '0 0 L 2 *'"
        )
    return None


def _is_readable(expression: str) -> bool:
    try:
        CronSim(expression, _REFERENCE)
    except CronSimError:
        return False
    return True
