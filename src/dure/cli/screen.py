"""Where a command's words go: data to stdout in the form asked for, talk to stderr."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, Any, Final, NamedTuple

from dure.cli.wording import NONE, clean, cut, width
from dure.core.errors import ConfigError, DureError

VERSION: Final = 1
"""Of the JSON documents: it changes when a field is removed or means something else."""

Item = Mapping[str, Any]
"""One thing as JSON shows it."""

_GAP: Final = "  "
_COLOURS: Final = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "grey": 90, "bold": 1}
_CUT_MIN: Final = 20
_STATES: Final = {
    "RUNNING": "blue",
    "RETRY_WAIT": "yellow",
    "SUSPENDED": "yellow",
    "SUCCESS": "green",
    "FAILED": "red",
    "STALE": "grey",
    "CANCELLED": "grey",
}


class Column(NamedTuple):
    """A column of a table: its title and the text of an item in it."""

    title: str
    text: Callable[[Any], str | None]
    is_number: bool = False


class Screen:
    """The streams of one command, and how to write to them."""

    def __init__(
        self,
        form: str = "table",
        *,
        is_quiet: bool = False,
        has_colour: bool = True,
        out: IO[str] | None = None,
        err: IO[str] | None = None,
    ) -> None:
        self.form = form
        self._is_quiet = is_quiet
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._has_colour = has_colour and not os.environ.get("NO_COLOR")
        self._has_progress = False

    def listing(
        self, what: str, items: Sequence[Item], columns: Sequence[Column], *, empty: str
    ) -> None:
        """Many things: a table, one JSON document, a line each, or their ids."""
        match self.form:
            case "json":
                self._json({"version": VERSION, "what": what, "items": items})
            case "ndjson":
                for item in items:
                    self._json(item, indent=None)
            case "ids":
                for item in items:
                    self.write(str(item["id"] if "id" in item else item["name"]))
            case _ if items:
                self._table(items, columns)
            case _:
                self.say(empty)

    def card(self, what: str, item: Item, lines: Iterable[tuple[str, str | None]]) -> None:
        """One thing: a line for each of its properties, or JSON."""
        match self.form:
            case "json":
                self._json({"version": VERSION, "what": what, "item": item})
            case "ndjson":
                self._json(item, indent=None)
            case "ids":
                self.write(str(item["id"] if "id" in item else item["name"]))
            case _:
                shown = [(title, text) for title, text in lines if text is not None]
                size = max((len(title) for title, _ in shown), default=0)
                for title, text in shown:
                    if not size:
                        self.write(text)
                        continue
                    self.write(f"{self.paint(title.ljust(size), 'grey')}{_GAP}{self._state(text)}")

    def done(self, item: Item, sentence: str) -> None:
        """What a command has done: JSON where that is asked for, else a sentence on stderr."""
        if self.form in {"json", "ndjson"}:
            indent = 2 if self.form == "json" else None
            self._json({"version": VERSION, "what": "result", "item": item}, indent=indent)
        else:
            self.say(sentence)

    def write(self, line: str) -> None:
        self._out.write(line + "\n")

    def say(self, sentence: str) -> None:
        """Talk, which `--quiet` leaves out."""
        if not self._is_quiet:
            self.clear()
            self._err.write(sentence + "\n")

    def fail(self, error: DureError) -> None:
        """What went wrong, and what to do."""
        self.clear()
        if self.form in {"json", "ndjson"}:
            problem = {"code": error.code, "message": error.message, "hint": error.hint}
            document = {"version": VERSION, "what": "error", "item": problem}
            self._err.write(json.dumps(document, ensure_ascii=False) + "\n")
        else:
            self._err.write(f"{self.paint('error:', 'red', self._err)} {clean(error.message)}\n")
            if error.hint:
                self._err.write(f"  {clean(error.hint)}\n")

    def progress(self, sentence: str) -> None:
        """A line that the next one overwrites; only on a terminal."""
        if self._err.isatty() and not self._is_quiet:
            columns = shutil.get_terminal_size().columns
            self._err.write(f"\r\x1b[K{cut(sentence, columns - 1)}")
            self._err.flush()
            self._has_progress = True

    def clear(self) -> None:
        """Remove the line of `progress`."""
        if self._has_progress:
            self._err.write("\r\x1b[K")
            self._has_progress = False

    def confirm(self, question: str, *, is_sure: bool) -> bool:
        """Ask; without a terminal to ask on, whoever wants it done must say `--yes`."""
        if is_sure:
            return True
        if not (sys.stdin.isatty() and self._err.isatty()):
            raise ConfigError(
                f"{question} Nobody is there to ask.", "Add --yes to do it, or --dry-run to look."
            )
        self._err.write(f"{question} [y/N] ")
        self._err.flush()
        return sys.stdin.readline().strip().lower() in {"y", "yes"}

    def paint(self, text: str, colour: str, stream: IO[str] | None = None) -> str:
        """The text in colour, where the stream shows colours."""
        if not (self._has_colour and (stream or self._out).isatty()):
            return text
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"

    def _state(self, text: str) -> str:
        colour = _STATES.get(text.strip())
        return text if colour is None else self.paint(text, colour)

    def _json(self, document: object, indent: int | None = 2) -> None:
        self.write(json.dumps(document, ensure_ascii=False, indent=indent))

    def _table(self, items: Sequence[Item], columns: Sequence[Column]) -> None:
        """Aligned columns; on a terminal the last one is cut to fit."""
        rows = [[clean(column.text(item) or NONE) for column in columns] for item in items]
        sizes = [
            max(width(column.title), *(width(row[place]) for row in rows))
            for place, column in enumerate(columns)
        ]
        room = None
        if self._out.isatty():
            before = sum(sizes[:-1]) + len(_GAP) * (len(sizes) - 1)
            room = max(shutil.get_terminal_size().columns - before, _CUT_MIN)
        titles = [column.title for column in columns]
        self.write(self.paint(self._row(titles, sizes, columns, room), "grey"))
        for row in rows:
            self.write(self._row(row, sizes, columns, room))

    def _row(
        self,
        texts: Sequence[str],
        sizes: Sequence[int],
        columns: Sequence[Column],
        room: int | None,
    ) -> str:
        cells = []
        for place, text in enumerate(texts):
            is_last = place == len(texts) - 1
            shown = cut(text, room) if is_last and room is not None else text
            gap = " " * (sizes[place] - width(shown))
            if columns[place].is_number:
                cells.append(gap + shown)
            else:
                cells.append(self._state(shown) + ("" if is_last else gap))
        return _GAP.join(cells).rstrip()
