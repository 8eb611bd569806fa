"""Durations as people write them: `30`, `"30s"`, `"15m"`, `timedelta(minutes=15)`."""

import re
from datetime import timedelta
from typing import Final

Span = float | str | timedelta
"""A length of time: seconds, a text with a unit, or a timedelta."""

_UNIT_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?) *(ms|s|m|h|d|w) *")


def seconds_of(span: Span) -> float:
    """The length in seconds. Raises ValueError with an example when it cannot be read."""
    if isinstance(span, timedelta):
        seconds = span.total_seconds()
    elif isinstance(span, str):
        seconds = _parse(span.strip())
    else:
        seconds = float(span)
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"a duration must be finite and not negative, not {span!r}")
    return seconds


def _parse(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text):
        raise ValueError(
            f"cannot read {text!r} as a duration: write a number with a unit, "
            "like '500ms', '30s', '15m', '2h', '1d' or '1h30m'"
        )
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)


def text_of(seconds: float) -> str:
    """A short text for people: `0.25s`, `30s`, `15m`, `1h30m`, `2d3h`."""
    short = round(seconds, 3)
    if short < 59.95:  # what is above would be written as 60s
        return f"{short:.3g}s"
    whole = round(seconds)
    names = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    parts: list[str] = []
    for name, size in names:
        count, whole = divmod(whole, size)
        if count:
            parts.append(f"{count}{name}")
    return "".join(parts[:2])
