"""Budgets: money set aside before each call, so that a day's sum is never overspent.

A budget's counter holds what is spent and what is set aside, for one day of its calendar. A
call sets its worst case aside first and is corrected afterwards. One that died in between
stays counted: it may have been billed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from dure.ai.price import Amount, nano
from dure.core.errors import ConfigError
from dure.ports.store import Script
from dure.scripts import cells
from dure.scripts.cells import Texts

SPACE: Final = "ai.budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be spent in a day: by the account, and by each lane of it."""

    per_day: Amount | None = None
    per_lane: Amount | None = None
    tz: str = "UTC"
    """Where the day begins at midnight."""

    def __post_init__(self) -> None:
        if self.per_day is None and self.per_lane is None:
            raise ConfigError("A budget needs an amount.", "Give per_day, per_lane or both.")
        for amount in (self.per_day, self.per_lane):
            if amount is not None:
                nano(amount, "a budget")
        zone(self.tz)


class Counter(msgspec.Struct, frozen=True):
    """The stored value of one budget."""

    day: str = ""
    spent: int = 0
    aside: int = 0
    """Set aside for calls that have not been settled."""


class Line(NamedTuple):
    """One budget a call draws on."""

    name: str
    most: int
    is_lane: bool


class Spent(NamedTuple):
    """Nothing was set aside: this budget has not enough left for the call."""

    line: Line
    left: int
    may_come_back: bool
    """Whether it would be enough if nothing were set aside for others."""


def lines_of(budget: Budget, account: str, lane: str) -> list[Line]:
    """The budgets a call of a lane draws on."""
    found = []
    if budget.per_day is not None:
        found.append(Line(account, nano(budget.per_day), is_lane=False))
    if budget.per_lane is not None:
        found.append(Line(f"{account} {lane}", nano(budget.per_lane), is_lane=True))
    return found


def reserve(
    counters: Mapping[str, Counter], lines: Sequence[Line], day: str, amount: int
) -> dict[str, Counter] | Spent:
    """Set `amount` aside in all lines or in none. Pure."""
    after: dict[str, Counter] = {}
    for line in lines:
        now = _today(counters[line.name], day)
        left = line.most - now.spent - now.aside
        if amount > left:
            return Spent(line, left, now.spent + amount <= line.most)
        after[line.name] = Counter(day, now.spent, now.aside + amount)
    return after


def settle(counter: Counter, day: str, amount: int, cost: int) -> Counter:
    """Of what was set aside on `day`, `cost` was spent; another day's counter forgot it. Pure."""
    if counter.day != day:
        return counter
    return Counter(day, counter.spent + cost, max(counter.aside - amount, 0))


def reserved(lines: Sequence[Line], day: str, amount: int, now: float) -> Script[Spent | None]:
    """Set an amount aside; None when that was possible."""

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], Spent | None]:
        counters = {name: _counter(text) for name, text in texts.items()}
        after = reserve(counters, lines, day, amount)
        if isinstance(after, Spent):
            return {}, after
        return {name: _text(counter) for name, counter in after.items()}, None

    return (yield from cells.change(SPACE, [line.name for line in lines], decide, now))


Settlements = Mapping[tuple[str, str], tuple[int, int]]
"""Amounts that were set aside, and what was spent of them, by budget and day."""


def settled(ended: Settlements, now: float) -> Script[None]:
    """Correct counters by what calls really cost."""

    def decide(texts: Texts, _now: float) -> tuple[dict[str, str], None]:
        after: dict[str, str] = {}
        for (name, day), (amount, cost) in ended.items():
            counter = _counter(after.get(name, texts[name]))
            after[name] = _text(settle(counter, day, amount, cost))
        return after, None

    yield from cells.change(SPACE, {name for name, _ in ended}, decide, now)


def standing(names: Sequence[str] | None = None) -> Script[dict[str, Counter]]:
    """What is spent and set aside, by budget."""
    texts = yield from cells.read(SPACE, names)
    return {name: _counter(text) for name, text in texts.items()}


def day_of(now: float, tz: str) -> str:
    """The calendar day of a moment."""
    return datetime.fromtimestamp(now, zone(tz)).date().isoformat()


def midnight_after(now: float, tz: str) -> float:
    """When the next day begins there."""
    here = datetime.fromtimestamp(now, zone(tz))
    return datetime.combine(here.date() + timedelta(days=1), time(), zone(tz)).timestamp()


def month_after(now: float) -> float:
    """The first of the next month, 00:00 UTC."""
    here = datetime.fromtimestamp(now, UTC)
    year, month = (here.year + 1, 1) if here.month == 12 else (here.year, here.month + 1)
    return datetime(year, month, 1, tzinfo=UTC).timestamp()


def zone(tz: str) -> ZoneInfo:
    """A time zone by name. Raises ConfigError."""
    try:
        return ZoneInfo(tz)
    except (KeyError, ValueError, OSError):
        raise ConfigError(
            f"There is no time zone {tz!r} here.", "Use a name like 'Asia/Seoul' or 'UTC'."
        ) from None


def _today(counter: Counter, day: str) -> Counter:
    return counter if counter.day == day else Counter(day)


def _counter(text: str | None) -> Counter:
    return Counter() if text is None else msgspec.json.decode(text, type=Counter)


def _text(counter: Counter) -> str:
    return msgspec.json.encode(counter).decode()
