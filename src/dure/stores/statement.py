"""SQL text from `.sql` files, and the few dialect differences of shared statements.

Hot statements are native to each store. Statements of scripts are written once with named
parameters (`:name`); a store's own folder wins over the shared one. Four things are
rewritten, and only these: parameter style, `= any (:list)`, row locks (SQLite locks the
whole file for a writer, so `for update` and `for share` mean nothing there), and
`dure_argument(:key, ...)`, the text of what a job's arguments hold under a path of keys.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, NamedTuple

import msgspec

from dure.core.errors import ConfigError
from dure.ports.rows import Migration

_TOKEN: Final = re.compile(
    r"""(?P<plain>'(?:[^']|\'\')*'|"[^"]*"|--[^\n]*|/\*.*?\*/|::\w+)
      | =\ any\ \((?P<list>:\w+)\)
      | (?P<lock>\s+for\ (?:update|share)(?:\ skip\ locked)?\b)
      | \bdure_argument\((?P<keys>:\w+(?:,\ :\w+)*)\)
      | (?<![:\w]):(?P<name>[a-z_]\w*)""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
"""What may be rewritten; texts, quoted names and comments are matched to be left alone."""
_CONTROL: Final = re.compile(
    r"\s*(abort|begin|commit|end|release|rollback|savepoint|start)\b", re.IGNORECASE
)
_WHERE: Final = "/*where*/"
_SHAPES_MAX: Final = 1000
"""Compiled texts that are kept; people's filters come in any number of shapes."""


class Compiled(NamedTuple):
    """A statement in one store's own dialect, and the order of its parameters."""

    text: str
    names: tuple[str, ...]

    def arguments(self, params: Mapping[str, object]) -> list[object]:
        """The parameters in order. Raises ValueError naming what is missing or too much."""
        try:
            return [params[name] for name in self.names]
        except KeyError as missing:
            raise ValueError(
                f"the statement needs the parameter {missing.args[0]!r}, given were "
                f"{sorted(params)}: {' '.join(self.text.split())[:80]}"
            ) from None


@cache
def read(folder: str, name: str) -> str:
    """The text of `folder/sql/name.sql`, where folder is a store's package."""
    return (_root(folder) / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def shared(folder: str, name: str, where: str = "") -> str:
    """The text of a script's statement, with its condition if it takes one."""
    text = _script(folder, name)
    if (_WHERE in text) != bool(where):
        need = "needs a condition" if _WHERE in text else "has no place for a condition"
        raise ValueError(f"the statement {name!r} {need}: {_WHERE} marks the place")
    return text.replace(_WHERE, where)


@cache
def _script(folder: str, name: str) -> str:
    """The store's own statement if it has one, else the shared one."""
    own = _root(folder) / "sql" / f"{name}.sql"
    if own.is_file():
        return own.read_text(encoding="utf-8")
    return (files("dure.stores") / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def migrations(folder: str) -> list[tuple[int, str, str]]:
    """Version, name and text of each migration, in order."""
    found = []
    for entry in (_root(folder) / "migrations").iterdir():
        number, _, rest = entry.name.partition("_")
        if entry.name.endswith(".sql"):
            found.append((int(number), rest.removesuffix(".sql"), entry.read_text("utf-8")))
    return sorted(found)


def steps_of(folder: Traversable, dialect: str) -> list[Migration]:
    """The migrations of a battery or an application, in order. Raises ConfigError."""
    found: dict[int, Migration] = {}
    for place in (folder, folder / dialect):
        entries = place.iterdir() if place.is_dir() else ()
        here: set[int] = set()
        for entry in entries:
            number, _, rest = entry.name.partition("_")
            if not entry.name.endswith(".sql"):
                continue
            if not number.isascii() or not number.isdigit() or int(number) in here:
                raise ConfigError(
                    f"{entry.name!r} in {place} has no version number of its own.",
                    "Migrations are named 0001_what.sql, 0002_what.sql and so on.",
                )
            here.add(int(number))
            name, text = rest.removesuffix(".sql"), entry.read_text("utf-8")
            found[int(number)] = Migration(int(number), name, text)
    return [found[version] for version in sorted(found)]


def _root(folder: str) -> Traversable:
    return files("dure.stores") / folder


@lru_cache(_SHAPES_MAX)
def for_postgres(text: str) -> Compiled:
    """Numbered parameters; a name used twice is one parameter."""
    names: list[str] = []

    def rewrite(match: re.Match[str]) -> str:
        if name := match["name"]:
            return f"${_number(names, name)}"
        if keys := match["keys"]:
            return _TOKEN.sub(rewrite, _postgres_argument(keys))
        if listed := match["list"]:
            return f"= any (${_number(names, listed[1:])})"
        return match[0]

    return Compiled(_TOKEN.sub(rewrite, _checked(text)), tuple(names))


@lru_cache(_SHAPES_MAX)
def for_sqlite(text: str) -> Compiled:
    """Numbered parameters, lists through json_each, no row locks."""
    names: list[str] = []

    def rewrite(match: re.Match[str]) -> str:
        if name := match["name"]:
            return f"?{_number(names, name)}"
        if keys := match["keys"]:
            return _TOKEN.sub(rewrite, _sqlite_argument(keys))
        if listed := match["list"]:
            number = _number(names, listed[1:])
            return f"in (select value from json_each(?{number}))"  # noqa: S608 - a number
        return "" if match["lock"] else match[0]

    return Compiled(_TOKEN.sub(rewrite, _checked(text)), tuple(names))


def _number(names: list[str], name: str) -> int:
    if name not in names:
        names.append(name)
    return names.index(name) + 1


def _checked(text: str) -> str:
    """A write that ended the transaction would tear apart what must commit together."""
    if _CONTROL.match(text):
        raise ValueError(
            f"{' '.join(text.split())[:80]!r} begins or ends a transaction: leave it out, every "
            "statement runs in the transaction that records the outcome"
        )
    return text


def _postgres_argument(path: str) -> str:
    """As `json`, a number keeps its digits as written; PostgreSQL has no text with U+0000."""
    keys = [f"cast({name} as text)" for name in path.split(", ")]
    body = r"cast(replace(body, '\u0000', '\ufffd') as json)"
    value = " -> ".join((body, *keys))
    text = f"{' -> '.join((body, *keys[:-1]))} ->> {keys[-1]}"
    return f"case when json_typeof({value}) in ('string', 'number', 'boolean') then {text} end"


def _sqlite_argument(keys: str) -> str:
    """`->` answers JSON as written, so that a number keeps its digits and true is not 1."""
    path = f"""('$."' || {keys.replace(", ", ''' || '"."' || ''')} || '"')"""
    return (
        f"case json_type(body, {path}) when 'text' then body ->> {path} "
        f"when 'integer' then body -> {path} when 'real' then body -> {path} "
        f"when 'true' then 'true' when 'false' then 'false' end"
    )


def sqlite_value(value: object) -> object:
    """Lists travel to SQLite as JSON; everything else as it is."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return msgspec.json.encode(value).decode()
    return value
