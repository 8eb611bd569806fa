"""A table of a scenario file, read strictly: every mistake is named with its place and a way out.

A plan made from a misspelt key would be a plan for something else, and nobody would notice.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeVar

from dure.core.duration import seconds_of
from dure.core.errors import ConfigError

T = TypeVar("T")

_FIRST: Final = "`dure simulate plan --example` prints a file that works."
FOREVER: Final = 366 * 86400.0
"""The longest time that a scenario may name, in seconds."""


class ScenarioMissing(ConfigError):
    """There is no scenario to read."""

    code = "scenario_missing"


class ScenarioInvalid(ConfigError):
    """A scenario says something that cannot be, or that nobody understands."""

    code = "scenario_invalid"


class Table:
    """One table of a file. What was not asked for when it is closed is a mistake."""

    def __init__(self, values: Mapping[str, object], source: str, place: str = "") -> None:
        self._values = values
        self._source = source
        self._place = place
        self._asked: dict[str, None] = {}

    @classmethod
    def load(cls, path: Path, changes: Mapping[str, object]) -> "Table":
        """The outermost table of a file, changed. Raises ScenarioMissing or ScenarioInvalid."""
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ScenarioMissing(f"Cannot read {path}: {reason}.", _FIRST) from error
        except ValueError as error:  # of the syntax, or of the encoding
            raise ScenarioInvalid(f"{path} is not TOML: {error}.", _FIRST) from error
        return cls({**values, **changes}, str(path))

    def wrong(self, key: str, problem: str, hint: str = "") -> ScenarioInvalid:
        """The error about one key."""
        where = f"{self._place}.{key}" if self._place else key
        return ScenarioInvalid(f"{self._source}: {where} {problem}.", hint or _FIRST)

    def has(self, key: str) -> bool:
        self._asked[key] = None
        return key in self._values

    def raw(self, key: str) -> object:
        """Whatever is there. Raises ScenarioInvalid where nothing is."""
        if not self.has(key):
            raise self.wrong(key, "is missing", f"Write `{key} = ...` there.")
        return self._values[key]

    def whole(self, key: str, default: int, low: int, high: int) -> int:
        """A whole number within bounds."""
        if self.has(key) and not isinstance(self._values[key], int):
            raise self.wrong(key, f"must be a whole number, not {self._values[key]!r}")
        return int(self.number(key, default, low, high))

    def number(self, key: str, default: float, low: float, high: float) -> float:
        """A number within bounds."""
        if not self.has(key):
            return default
        value: Any = self._values[key]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number and low <= value <= high):
            raise self.wrong(key, f"must be a number of {low:g} to {high:g}, not {value!r}")
        return float(value)

    def text(self, key: str, default: str) -> str:
        return self._of(key, default, str, "a text in quotes") if self.has(key) else default

    def switch(self, key: str) -> bool:
        """True or false; false where nothing is said."""
        return self._of(key, False, bool, "true or false") if self.has(key) else False

    def span(self, key: str, default: float) -> float:
        """A length of time in seconds: a number, or a text such as `15m`."""
        if not self.has(key):
            return default
        value = self._values[key]
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise self.wrong(key, f"must be a length of time like '15m', not {value!r}")
        seconds = self.parsed(key, lambda: seconds_of(value))
        if seconds > FOREVER:
            raise self.wrong(key, f"must be at most 366d, not {value!r}")
        return seconds

    def names(self, key: str) -> tuple[str, ...]:
        """A list of names; a single one needs no brackets."""
        value = self._values.get(key, []) if self.has(key) else []
        listed = [value] if isinstance(value, str) else value
        if not (isinstance(listed, list) and all(isinstance(name, str) for name in listed)):
            raise self.wrong(key, f"must be a list of names, not {value!r}")
        return tuple(dict.fromkeys(listed))

    def parsed(self, key: str, read: Callable[[], T]) -> T:
        """What `read` makes of a key's value; its ValueError becomes an error with a place."""
        try:
            return read()
        except ValueError as error:
            raise self.wrong(key, f"cannot be used: {error}") from error

    def table(self, key: str) -> "Table":
        """A table inside this one; an empty one where there is none."""
        found: dict[str, object] = self._of(key, {}, dict, "a table") if self.has(key) else {}
        return Table(found, self._source, f"{self._place}.{key}" if self._place else key)

    def tables(self, key: str) -> list["Table"]:
        """A list of tables, written as `[[key]]`, numbered from 1."""
        noun = f"tables, each under [[{key}]]"
        rows: list[Any] = self._of(key, [], list, noun) if self.has(key) else []
        if not all(isinstance(row, dict) for row in rows):
            raise self.wrong(key, f"must be {noun}")
        return [Table(row, self._source, f"{key}[{n}]") for n, row in enumerate(rows, 1)]

    def __iter__(self) -> Iterator[str]:
        """What somebody has written here."""
        return iter(self._values)

    def named(self) -> Iterator[tuple[str, "Table"]]:
        """All tables inside this one, which may have any name."""
        for name in self._values:
            if not name.strip():
                raise self.wrong("''", "is no name", "Give it one that people will recognise.")
            yield name, self.table(name)

    def known(self, key: str, name: str, names: Mapping[str, object], noun: str) -> str:
        """A name that must be one of these."""
        if name in names:
            return name
        listed = ", ".join(list(names)[:10]) or "none"
        raise self.wrong(
            key, f"names {noun} {name!r}, which is not there", _near(name, names, listed)
        )

    def close(self) -> None:
        """All was asked for. Raises ScenarioInvalid for the first key that nobody knows."""
        for key in self._values:
            if key not in self._asked:
                known = ", ".join(sorted(self._asked))
                raise self.wrong(key, "is unknown", _near(key, self._asked, known))

    def _of(self, key: str, default: T, form: Any, noun: str) -> T:
        value: Any = self._values.get(key, default)
        if not isinstance(value, form):
            raise self.wrong(key, f"must be {noun}, not {value!r}")
        found: T = value
        return found


def _near(word: str, known: Mapping[str, object], listed: str) -> str:
    near = "".join(f"Did you mean {name!r}? " for name in get_close_matches(word, known, n=1))
    return f"{near}Known here: {listed}."
