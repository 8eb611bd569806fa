"""The cookies of one host: kept as it sets them, sent back to it and to nobody else.

A Domain attribute never widens whom a cookie goes to: each host has its own session here.
"""

from collections.abc import Iterable
from email.utils import parsedate_to_datetime
from math import inf
from typing import Final, NamedTuple

COUNT_MAX: Final = 64
SIZE_MAX: Final = 4096
"""Characters of one cookie, and of the header they make together four times as many."""


class Cookie(NamedTuple):
    """One cookie; `until` is in seconds since 1970."""

    value: str
    path: str
    is_secure: bool
    until: float


class Cookies:
    """A host's cookies, bounded in number and size."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Cookie] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, lines: Iterable[str], path: str, now: float) -> None:
        """Take in the Set-Cookie lines of an answer from `path`."""
        for line in lines:
            if len(line) <= SIZE_MAX:
                self._take(line, path, now)

    def header(self, path: str, *, is_secure: bool, now: float) -> str:
        """The Cookie header for a request to `path`; empty for none."""
        path = path.partition("?")[0]
        pairs: list[str] = []
        for (name, _), cookie in list(self._kept.items()):
            if cookie.until <= now:
                del self._kept[name, cookie.path]
            elif (is_secure or not cookie.is_secure) and _is_under(path, cookie.path):
                pairs.append(f"{name}={cookie.value}")
        text = "; ".join(pairs)
        return text if len(text) <= 4 * SIZE_MAX else text[: 4 * SIZE_MAX].rpartition("; ")[0]

    def clear(self) -> None:
        """End the session."""
        self._kept.clear()

    def _take(self, line: str, path: str, now: float) -> None:
        pair, *attributes = line.split(";")
        name, found, value = pair.strip().partition("=")
        if not found or not name or not (name + value).isprintable():
            return
        said = {
            key.strip().lower(): text.strip()
            for key, _, text in (each.partition("=") for each in attributes)
        }
        where = said.get("path", "")
        if not where.startswith("/"):
            where = path.partition("?")[0].rpartition("/")[0] or "/"
        until = _until(said, now)
        key = (name, where)
        self._kept.pop(key, None)
        if until > now:
            if len(self._kept) >= COUNT_MAX:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = Cookie(value, where, "secure" in said, until)


def _until(said: dict[str, str], now: float) -> float:
    age = said.get("max-age")
    if age is not None and age.removeprefix("-").isdecimal():
        return now + float(age[:12])
    if "expires" in said:
        try:
            return parsedate_to_datetime(said["expires"].replace("-", " ")).timestamp()
        except (ValueError, TypeError, IndexError, OverflowError):
            return inf
    return inf


def _is_under(path: str, folder: str) -> bool:
    if not path.startswith(folder):
        return False
    return folder.endswith("/") or len(path) == len(folder) or path[len(folder)] == "/"
