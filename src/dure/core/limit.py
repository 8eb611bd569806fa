"""What a limit allows: a named resource, several windows at once, and how to write them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Final, Self
from zoneinfo import ZoneInfo

from dure.core.duration import seconds_of
from dure.core.ring import MICROSECONDS, SLICES, Day, Ring, Slices

REQUEST: Final = "request"
"""The unit of which every request costs exactly one."""

HOLD_DEFAULT: Final = 1.0
"""Seconds a permit may be kept, where the windows are long enough for it."""

WINDOW_SECONDS_MIN: Final = 0.1
WINDOW_SECONDS_MAX: Final = 366 * 86400.0

_DAY_SECONDS: Final = 86400.0
_CALENDAR: Final = "day:"
_WORDS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("s", "sec", "second"), 1.0),
    **dict.fromkeys(("m", "min", "minute"), 60.0),
    **dict.fromkeys(("h", "hour"), 3600.0),
    **dict.fromkeys(("d", "day"), _DAY_SECONDS),
    **dict.fromkeys(("w", "week"), 604800.0),
}
_LETTERS: Final = (("w", 604800), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
_UNIT: Final = re.compile(r"[A-Za-z][A-Za-z_-]*")
_TEXT: Final = re.compile(rf"(\d[\d_]*)\s*({_UNIT.pattern})?\s*/\s*(\S.*)")


@dataclass(frozen=True, slots=True)
class Window:
    """At most `count` of `unit` in any `seconds`, or in each day of a calendar.

    `calendar` is `day:` and a time zone (`day:Asia/Seoul`): the count starts over at
    midnight there. Without it the window slides.
    """

    count: int
    seconds: float
    unit: str = REQUEST
    calendar: str | None = None

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"a window must allow at least 1 {self.unit}, not {self.count}")
        if not WINDOW_SECONDS_MIN <= self.seconds <= WINDOW_SECONDS_MAX:
            raise ValueError(
                f"a window must last {WINDOW_SECONDS_MIN:g}s to 366 days, not {self.seconds}s"
            )
        if not _UNIT.fullmatch(self.unit):
            raise ValueError(f"a unit is one word, like 'tokens', not {self.unit!r}")
        if self.calendar is not None:
            _zone_of(self.calendar)
            if self.seconds != _DAY_SECONDS:
                raise ValueError(f"a calendar window lasts 86400s, not {self.seconds}s")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `20/s`, `15/min`, `1500/d`, `300/90s`, `1000000 tokens/m`, `1500/day:Asia/Seoul`."""
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            raise ValueError(
                f"cannot read {text!r} as a window: write a count, a unit unless it is "
                "requests, and a time, like '20/s', '15/m' or '1000000 tokens/m'"
            )
        count, unit, span = match.groups()
        unit = REQUEST if unit in {None, "requests"} else unit
        calendar = span if span.startswith(_CALENDAR) else None
        try:
            seconds = _DAY_SECONDS if calendar else _WORDS.get(span) or seconds_of(span)
            return cls(int(count), seconds, unit, calendar)
        except ValueError as error:
            raise ValueError(f"cannot read {text!r} as a window: {error}") from None

    @property
    def name(self) -> str:
        """The window as `parse` reads it, and as people see it."""
        unit = "" if self.unit == REQUEST else f" {self.unit}"
        return f"{self.count}{unit}/{self.calendar or _span_text(self.seconds)}"

    @property
    def key(self) -> str:
        """What is counted over which time. The count is left out, so it may change."""
        return f"{self.unit}/{self.calendar or _span_text(self.seconds)}"

    def ring(self, stored: list[int], written: int, now: int, hold: int) -> Ring:
        """The bookings `stored` at `written`, moved on to `now`; all in microseconds."""
        if self.calendar is not None:
            return Day(stored, now, zone=_zone_of(self.calendar), hold=hold)
        window = ceil(self.seconds * MICROSECONDS)
        return Slices(stored, written, now, window=window, hold=hold)


@dataclass(frozen=True, slots=True)
class Limit:
    """One resource: every request must fit in all its windows at once.

    With continuous demand a sliding window yields at least 95 % of its count as long as
    `hold` is no more than a sixtieth of it. A longer hold stays exact and costs more: the
    share is 60 / (61 + hold in sixtieths of the window, rounded up).
    """

    name: str
    windows: tuple[Window, ...] = ()
    max_running: int | None = None
    """How many of its jobs may run at the same time in the whole fleet."""
    rate_factor: float = 1.0
    """Scales every count while the resource asks to be slowed down."""
    hold: float | None = None
    """Seconds from booking to the latest use. None: 1, or a sixtieth of the shortest window."""

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a limit needs a name")
        where = f"limit {self.name!r}"
        if not self.windows and self.max_running is None:
            raise ValueError(f"{where} limits nothing: give it a window or max_running")
        keys = [window.key for window in self.windows]
        for key in keys:
            if keys.count(key) > 1:
                raise ValueError(f"{where} has two windows for {key}: keep the lower count")
        if self.max_running is not None and self.max_running < 1:
            raise ValueError(f"{where}: max_running must be at least 1, not {self.max_running}")
        if not 0.0 < self.rate_factor <= 1.0:
            raise ValueError(
                f"{where}: rate_factor must be over 0 and at most 1, not {self.rate_factor}"
            )
        if self.hold is not None and not 0.0 <= self.hold <= self._shortest / 2:
            raise ValueError(
                f"{where}: hold must be 0 to half of the shortest window "
                f"({self._shortest / 2:g}s), not {self.hold}"
            )

    @classmethod
    def from_dict(cls, stored: Mapping[str, object]) -> Self:
        """The limit that `to_dict` wrote; only name and windows must be there."""
        match {"max_running": None, "rate_factor": 1.0, "hold": None, **stored}:
            case {
                "name": str(name),
                "windows": [*texts],
                "max_running": int() | None as max_running,
                "rate_factor": int() | float() as rate_factor,
                "hold": int() | float() | None as hold,
            }:
                windows = tuple(Window.parse(str(text)) for text in texts)
                return cls(name, windows, max_running, rate_factor, hold)
        raise ValueError(
            f"cannot read {dict(stored)!r} as a limit: it needs 'name', 'windows' (a list like "
            "['15/m', '1500/d']) and may have the numbers 'max_running', 'rate_factor', 'hold'"
        )

    def to_dict(self) -> dict[str, object]:
        """Built-in types only, for a store or a settings file."""
        return {
            "name": self.name,
            "windows": [window.name for window in self.windows],
            "max_running": self.max_running,
            "rate_factor": self.rate_factor,
            "hold": self.hold,
        }

    @property
    def hold_seconds(self) -> float:
        """How long a permit may be kept before it is used; then it must be given back."""
        return min(HOLD_DEFAULT, self._shortest / SLICES) if self.hold is None else self.hold

    def allowance(self, window: Window, cost: int = 1) -> int:
        """What `window` allows at the present rate, and never less than one request costs."""
        return max(int(window.count * self.rate_factor), cost)

    @property
    def _shortest(self) -> float:
        return min((window.seconds for window in self.windows), default=_DAY_SECONDS)


def _zone_of(calendar: str) -> ZoneInfo:
    name = calendar.removeprefix(_CALENDAR)
    if name == calendar:
        raise ValueError(f"a calendar is 'day:' and a time zone, not {calendar!r}")
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(
            f"no time zone {name!r} here: use a name like 'Asia/Seoul' or 'UTC', "
            "and install tzdata where the system has no time zones"
        ) from None


@lru_cache(1024)
def _span_text(seconds: float) -> str:
    """Remembered, because every booking names its windows."""
    for letter, size in _LETTERS:
        number, rest = divmod(seconds, size)
        if not rest:
            return letter if number == 1 else f"{number:.0f}{letter}"
    return f"{seconds!r}s"
