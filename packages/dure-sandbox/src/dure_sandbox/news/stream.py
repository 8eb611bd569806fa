"""Which articles exist at a moment: one in every slot of time, each section its share, forever.

The number of an article is the number of its slot, so the newest ones of any day are found by
arithmetic and nothing is stored.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Final

from dure_sandbox.lots import chosen, drawn, mixed
from dure_sandbox.news.sections import PRESSES, SECTION_IDS, Press

KOREA: Final = timezone(timedelta(hours=9))
DAY_SECONDS: Final = 86_400

SHARED_SHARE: Final = 0.06
EDITED_SHARE: Final = 0.08
DELETED_SHARE: Final = 0.02
MANGLED_SHARE: Final = 0.02
MOVED_SHARE: Final = 0.01


class Look(Enum):
    """What the page of an article is like."""

    PLAIN = "plain"
    MANGLED = "mangled"
    """Markup as a broken template leaves it; the text can still be found."""
    MOVED = "moved"
    """A link to another part of the site, which is built differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known about an article before a word of it is written."""

    number: int
    sections: tuple[str, ...]
    press: Press
    published_at: float
    edited_at: float | None
    deleted_at: float | None
    look: Look

    @property
    def oid(self) -> str:
        return self.press.oid

    @property
    def aid(self) -> str:
        return f"{self.number:010d}"

    def version(self, now: float) -> int:
        return int(self.edited_at is not None and now >= self.edited_at)

    def is_deleted(self, now: float) -> bool:
        return self.deleted_at is not None and now >= self.deleted_at


class Stream:
    """All articles of all times, `per_day` a day."""

    def __init__(self, seed: int, per_day: int) -> None:
        self._seed = mixed(seed, 0x2E35)
        self._slot = DAY_SECONDS / per_day

    def newest(self, now: float) -> int:
        """The number of the newest article; the next one comes after it."""
        number = int(now / self._slot)
        return number if self.published_at(number) <= now else number - 1

    def published_at(self, number: int) -> float:
        """Whole seconds, as pages show them."""
        return float(int((number + 0.9 * drawn(self._seed, number, 1)) * self._slot))

    def facts(self, number: int) -> Facts:
        seed = self._seed
        published = self.published_at(number)
        edited = deleted = None
        if drawn(seed, number, 2) < EDITED_SHARE:
            edited = published + 300 + int(7200 * drawn(seed, number, 3))
        if drawn(seed, number, 4) < DELETED_SHARE:
            deleted = published + 600 + int(6 * 3600 * drawn(seed, number, 5))
        draw = drawn(seed, number, 6)
        look = Look.PLAIN
        if draw < MANGLED_SHARE:
            look = Look.MANGLED
        elif draw < MANGLED_SHARE + MOVED_SHARE:
            look = Look.MOVED
        return Facts(
            number=number,
            sections=self.sections(number),
            press=chosen(PRESSES, seed, number, 7),
            published_at=published,
            edited_at=edited,
            deleted_at=deleted,
            look=look,
        )

    def sections(self, number: int) -> tuple[str, ...]:
        """Its section; some articles are listed in a second one as well."""
        place = self._place(number)
        own = SECTION_IDS[place]
        if drawn(self._seed, number, 8) >= SHARED_SHARE:
            return (own,)
        step = 1 + mixed(self._seed, number, 9) % (len(SECTION_IDS) - 1)
        return own, SECTION_IDS[(place + step) % len(SECTION_IDS)]

    def listed(self, section: str, before: int, oldest: float, now: float) -> Iterator[Facts]:
        """Articles of a section below a number, newest first, that are still there."""
        number = before - 1
        while number >= 0 and self.published_at(number) >= oldest:
            if section in self.sections(number):
                facts = self.facts(number)
                if not facts.is_deleted(now):
                    yield facts
            number -= 1

    def number_at(self, moment: float) -> int:
        """The first number whose slot begins at or after a moment."""
        return -int(-moment // self._slot)

    def near(self, moment: float, tail: int) -> int | None:
        """The article of about that moment whose number ends in those five digits."""
        guess = int(moment / self._slot)
        number = guess - (guess - tail + 50_000) % 100_000 + 50_000
        return number if number >= 0 and abs(number - guess) <= 2 + 1 / self._slot else None

    def _place(self, number: int) -> int:
        """Each block of eight articles has one of every section, in a drawn order."""
        block, place = divmod(number, len(SECTION_IDS))
        return (place + mixed(self._seed, block, 10)) % len(SECTION_IDS)


def text_of(moment: float) -> str:
    """A moment as pages write it, in Korea."""
    return datetime.fromtimestamp(moment, KOREA).strftime("%Y-%m-%d %H:%M:%S")


def day_of(moment: float) -> str:
    return datetime.fromtimestamp(moment, KOREA).strftime("%Y%m%d")


def start_of(day: str) -> float:
    """When a day of the form YYYYMMDD begins in Korea. Raises ValueError."""
    return datetime.strptime(day, "%Y%m%d").replace(tzinfo=KOREA).timestamp()
