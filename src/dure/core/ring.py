"""What one window of a limit has booked: a row of time slices, or one calendar day.

Times are whole microseconds, so that no slice boundary depends on how a float rounds.

A sliding window of W is cut into 60 slices. Any stretch of time as long as W touches at
most 61 of them; if the last 61 never hold more than the limit, no such stretch does. A
permit may be used up to `hold` after it was booked, so as many slices more as `hold` is
long are counted too:

    booked   |--|--|--| ... |--|--|     61 slices plus those `hold` covers
    used        |--|--| ... |--|--|     any W, wherever it starts

A calendar day starts over at midnight in its zone. What was booked within `hold` of
midnight may be used after it, and therefore counts in both days.
"""

from datetime import date, datetime, timedelta
from itertools import accumulate
from typing import Final
from zoneinfo import ZoneInfo

SLICES: Final = 60
"""Parts a sliding window is cut into. More would waste less and take more room."""

MICROSECONDS: Final = 1_000_000


class Slices:
    """The last slices of a sliding window, oldest first, ending with the current one."""

    __slots__ = ("_counts", "_head", "_span", "_width")

    def __init__(
        self, counts: list[int], written: int, now: int, *, window: int, hold: int
    ) -> None:
        """Take up `counts` as they were at `written` and move on to `now`, which is not earlier."""
        # The extra microsecond makes 60 slices longer than the window even after a time
        # that lies between two microseconds was rounded.
        self._width = window // SLICES + 1
        self._span = SLICES + 1 + -(-hold // self._width)
        self._head = now // self._width
        steps = min(self._head - written // self._width, self._span) if counts else 1
        self._counts = (counts + [0] * steps)[-self._span :]

    @property
    def used(self) -> int:
        return sum(self._counts)

    @property
    def stored(self) -> list[int]:
        return self._counts

    def add(self, slot: int, amount: int) -> None:
        """Change what was booked at `slot`; nothing happens if that slice has left."""
        place = slot // self._width - self._head - 1
        if -len(self._counts) <= place < 0:
            self._counts[place] = max(self._counts[place] + amount, 0)

    def free_at(self, excess: int) -> int:
        """When at least `excess`, of what is booked now, has left."""
        totals = accumulate(self._counts)
        place = next(i for i, total in enumerate(totals) if total >= excess)
        oldest = self._head - len(self._counts) + 1
        return (oldest + place + self._span) * self._width


class Day:
    """The calendar day that contains now, with what was booked so late that it counts twice."""

    __slots__ = ("_ends", "_hold", "_late", "_starts", "_used", "_zone")

    def __init__(self, stored: list[int], now: int, *, zone: ZoneInfo, hold: int) -> None:
        """Take up the day that was `stored`, or start the one that contains `now`."""
        self._zone = zone
        self._hold = hold
        self._starts, self._ends, self._used, self._late = stored or (0, 0, 0, 0)
        if now >= self._ends:
            starts, ends = _day_of(now, zone)
            self._used = self._late if starts == self._ends else 0
            self._starts, self._ends, self._late = starts, ends, 0

    @property
    def used(self) -> int:
        return self._used

    @property
    def stored(self) -> list[int]:
        return [self._starts, self._ends, self._used, self._late]

    def add(self, slot: int, amount: int) -> None:
        """Change what was booked at `slot`; nothing happens if it does not count today."""
        if self._starts - self._hold <= slot < self._ends:
            self._used = max(self._used + amount, 0)
            if slot + self._hold >= self._ends:
                self._late = max(self._late + amount, 0)

    def free_at(self, excess: int) -> int:
        """When at least `excess`, of what is booked now, counts no more."""
        if self._used - self._late >= excess:
            return self._ends
        return _day_of(self._ends, self._zone)[1]


Ring = Slices | Day


def _day_of(moment: int, zone: ZoneInfo) -> tuple[int, int]:
    today = datetime.fromtimestamp(moment // MICROSECONDS, zone).date()
    return _midnight(today, zone), _midnight(today + timedelta(days=1), zone)


def _midnight(day: date, zone: ZoneInfo) -> int:
    start = datetime(day.year, day.month, day.day, tzinfo=zone)
    return int(start.timestamp()) * MICROSECONDS
