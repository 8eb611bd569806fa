"""Numbers, moments and foreign texts as people read them in a terminal."""

from collections.abc import Mapping
from datetime import UTC, datetime
from unicodedata import east_asian_width

from dure.core.duration import text_of

NONE = "-"
"""What stands where there is nothing."""


def length(seconds: float) -> str:
    """A length of time; never below nothing, though two clocks may differ a little."""
    return text_of(max(seconds, 0.0))


def away(moment: float | None, now: float) -> str:
    """`5m ago`, `in 2h`."""
    if moment is None:
        return NONE
    return f"in {length(moment - now)}" if moment > now else f"{length(now - moment)} ago"


def stamp(moment: float, now: float) -> str:
    """`2026-11-18 21:00:05 UTC (5m ago)`."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S} UTC ({away(moment, now)})"


def counted(number: int, noun: str, *, capped: bool = False) -> str:
    """`1 job`, `10,000+ jobs`."""
    many = "" if number == 1 and not capped else "es" if noun.endswith("ch") else "s"
    return f"{number:,}{'+' if capped else ''} {noun}{many}"


def states(counts: Mapping[str, int]) -> str:
    """`3 pending, 1 failed`; what is 0 is left out."""
    return ", ".join(f"{number:,} {name}" for name, number in counts.items() if number) or "none"


def clean(text: str) -> str:
    """One line that cannot command a terminal."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(map(_shown, line))


def _shown(character: str) -> str:
    return character if character.isprintable() else ascii(character)[1:-1]


def width(text: str) -> int:
    """Columns a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(c) in {"W", "F"} else 1 for c in text)


def cut(text: str, most: int) -> str:
    """The text in at most so many columns."""
    if width(text) <= most:
        return text
    while text and width(text) >= most:
        text = text[:-1]
    return text + "…"
