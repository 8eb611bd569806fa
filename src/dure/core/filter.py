"""JobFilter: the one way to say which jobs are meant, for the command line, the API and the web.

    state:failed kind:fetch.* lane:acme error:Timeout age>1h args.code:005930 -reason:QUOTA

Terms are separated by spaces and must all hold. A term is a field, a sign and a value:

- `:` is equal, `!=` is not equal, and a minus before a term with `:` says the same.
- `a,b` means any of them: `state:failed,stale`; with `!=`, none of them.
- `*` at the start or the end of a text stands for anything; alone it asks that there be a
  value at all: `session:*`, `-error:*`.
- `>`, `<`, `>=` and `<=` compare numbers (`id`, `attempt`) and lengths of time: `age` is the
  time since the job was enqueued, `finished` the time since it ended.
- `error` looks for the text anywhere in the error; all other texts must be equal. Upper and
  lower case differ, except in the names of states and priorities.
- Double quotes keep spaces, commas and stars: `error:"timed out"`; in them a backslash takes
  the next character as it is.

What a job does not have equals nothing: `batch:42` leaves out jobs without a batch,
`batch!=42` takes them in, and no comparison with `<` or `>` holds for them.

`matches` is the reference; stores compile the terms, whose values are typed already, to SQL
with bound parameters and must agree with it.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum, StrEnum
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, Self, TypeVar

from dure.core.duration import seconds_of, text_of
from dure.core.state import Priority, State

LENGTH_MAX: Final = 4000
"""Characters in a filter; it also bounds the parameters of the query made from it."""

_WHOLE_MAX: Final = 2**63 - 1
_SECONDS_MAX: Final = 36525 * 86400.0
_UNSTORABLE: Final = re.compile(r"[\x00\ud800-\udfff]")
"""The characters that no database takes as text."""

_TOKEN: Final = re.compile(r'(?:"(?:[^"\\]|\\.)*"|\S)+', re.DOTALL)
_HEAD: Final = re.compile(r"(-?)([\w.][\w.-]*)(>=|<=|!=|:|>|<)")
_PATH: Final = re.compile(r"args(\.[\w-]+)+")
_BARE: Final = re.compile(r'[^\s,"*]+')
_VALUE: Final = re.compile(
    r'(?P<lead>\*?)("(?P<quoted>([^"\\]|\\.)*)"|(?P<bare>[^\s,"*]*))(?P<trail>\*?)(,|\Z)',
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class Op(StrEnum):
    """How a field is compared with the values of a term."""

    EQ = ":"
    NE = "!="
    GT = ">"
    LT = "<"
    GE = ">="
    LE = "<="


class Match(StrEnum):
    """Where in a text the wanted part must stand."""

    EXACT = "exact"
    PREFIX = "prefix"
    SUFFIX = "suffix"
    CONTAINS = "contains"


class Text(NamedTuple):
    """A wanted text. An empty prefix matches every text there is."""

    text: str
    match: Match = Match.EXACT

    def matches(self, text: str) -> bool:
        match self.match:
            case Match.EXACT:
                return text == self.text
            case Match.PREFIX:
                return text.startswith(self.text)
            case Match.SUFFIX:
                return text.endswith(self.text)
            case _:
                return self.text in text


Value = Text | State | Priority | int | float
"""States and priorities are ints too: ask for them first. A float is a length in seconds."""


class Candidate(Protocol):
    """What `matches` must know of a job."""

    @property
    def id(self) -> int: ...
    @property
    def state(self) -> State: ...
    @property
    def kind(self) -> str: ...
    @property
    def lane(self) -> str: ...
    @property
    def priority(self) -> Priority: ...
    @property
    def attempt(self) -> int: ...
    @property
    def batch(self) -> int | None: ...
    @property
    def session(self) -> str | None: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def error(self) -> str | None: ...
    @property
    def args(self) -> Mapping[str, object]: ...
    @property
    def enqueued_at(self) -> float: ...
    @property
    def finished_at(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class Term:
    """One condition: `field` compared by `op` with any of `values`.

    Only EQ and NE carry more than one value. NE is the exact opposite of EQ.
    """

    field: str
    op: Op
    values: tuple[Value, ...]

    @property
    def path(self) -> tuple[str, ...]:
        """For `args.a.b`, the keys that lead to the argument: `("a", "b")`."""
        return tuple(self.field.split(".")[1:])

    def matches(self, record: Candidate, now: float) -> bool:
        """Whether the condition holds for this job at `now`."""
        actual = _actual(record, self, now)
        if order := _ORDER.get(self.op):
            return actual is not None and order(actual, self.values[0])
        return any(_equals(actual, wanted) for wanted in self.values) is (self.op is Op.EQ)

    def __str__(self) -> str:
        plain = Match.CONTAINS if self.field == "error" else Match.EXACT
        return f"{self.field}{self.op}{','.join(_written(value, plain) for value in self.values)}"


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs are meant: those for which every term holds. No terms: all jobs."""

    terms: tuple[Term, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a filter as people write it.

        Raises ValueError naming the term, its column, and what to write instead.
        """
        if len(text) > LENGTH_MAX:
            raise ValueError(
                f"a filter has at most {LENGTH_MAX} characters, this one has {len(text)}: "
                "use a wildcard or a batch instead of a long list"
            )
        if bad := _UNSTORABLE.search(text):
            where = f"{bad[0]!r} at column {bad.start() + 1}"
            raise ValueError(f"remove the character {where}: no database can hold it")
        terms: list[Term] = []
        for token in _TOKEN.finditer(text):
            try:
                terms.append(_term(token[0]))
            except ValueError as error:
                where = f"{token[0]!r} at column {token.start() + 1}"
                raise ValueError(f"{where}: {error}") from None
        return cls(tuple(terms))

    def matches(self, record: Candidate, now: float) -> bool:
        """Whether this job is meant, at `now`."""
        return all(term.matches(record, now) for term in self.terms)

    def __str__(self) -> str:
        """The filter as text; parsing it gives the same filter."""
        return " ".join(str(term) for term in self.terms)


E = TypeVar("E", bound=IntEnum)


def _member(names: type[E], wanted: Text) -> E:
    found = names.__members__.get(wanted.text.upper())
    if found is None or wanted.match is not Match.EXACT:
        known = [name.lower() for name in names.__members__]
        raise ValueError(f"no such {names.__name__.lower()}{_choices(wanted.text, known)}")
    return found


def _whole(wanted: Text) -> int:
    number = int(wanted.text) if re.fullmatch("[0-9]+", wanted.text) else -1
    if wanted.match is not Match.EXACT or not 0 <= number <= _WHOLE_MAX:
        raise ValueError(f"write a whole number from 0 to {_WHOLE_MAX}")
    return number


def _length(wanted: Text) -> float:
    seconds = seconds_of(wanted.text) if wanted.match is Match.EXACT else float("inf")
    if seconds > _SECONDS_MAX:
        raise ValueError(f"write a length of time up to {text_of(_SECONDS_MAX)}, like 1h")
    return abs(seconds)  # there is a negative zero


def _text(wanted: Text) -> Text:
    return wanted


def _fragment(wanted: Text) -> Text:
    if wanted.match is not Match.EXACT:
        return wanted
    return Text(wanted.text, Match.CONTAINS if wanted.text else Match.PREFIX)


_EQUALITY: Final = (Op.EQ, Op.NE)
_ORDER: Final[Mapping[Op, Callable[[Any, Any], bool]]] = MappingProxyType(
    {Op.GT: operator.gt, Op.LT: operator.lt, Op.GE: operator.ge, Op.LE: operator.le}
)
_OPPOSITE: Final = MappingProxyType(
    {Op.NE: Op.EQ, Op.GT: Op.LE, Op.LE: Op.GT, Op.LT: Op.GE, Op.GE: Op.LT}
)


@dataclass(frozen=True, slots=True)
class Field:
    """What a term may say about one property of a job."""

    example: str
    read: Callable[[Text], Value]
    ops: tuple[Op, ...] = _EQUALITY


FIELDS: Final[Mapping[str, Field]] = MappingProxyType(
    {
        "id": Field("id:17", _whole, (*_EQUALITY, *_ORDER)),
        "state": Field("state:failed", partial(_member, State)),
        "kind": Field("kind:fetch.*", _text),
        "lane": Field("lane:acme", _text),
        "priority": Field("priority:high", partial(_member, Priority)),
        "attempt": Field("attempt>2", _whole, (*_EQUALITY, *_ORDER)),
        "batch": Field("batch:42", _whole),
        "session": Field("session:nightly", _text),
        "reason": Field("reason:QUOTA", _text),
        "error": Field("error:Timeout", _fragment),
        "args": Field("args.code:005930", _text),
        "age": Field("age>1h", _length, tuple(_ORDER)),
        "finished": Field("finished<30m", _length, tuple(_ORDER)),
    }
)
"""Everything a term can be about. After `args` comes the name of the argument."""


def _term(token: str) -> Term:
    head = _HEAD.match(token)
    if head is None:
        raise ValueError("a term is a field, one of : != > < >= <= and a value, like state:failed")
    minus, name, op = head[1], head[2], Op(head[3])
    field = _field(name)
    if op not in field.ops:
        signs = " ".join(field.ops)
        raise ValueError(f"{name} goes with {signs} and not with {op}, like {field.example}")
    if minus and op is not Op.EQ:
        raise ValueError(
            f"a minus goes with ':' only; write {name}{_OPPOSITE[op]}{token[head.end() :]}"
        )
    values = tuple(field.read(wanted) for wanted in _wanted(token, head.end()))
    if op in _ORDER and len(values) > 1:
        raise ValueError(f"{op} takes one value, like {field.example}")
    return Term(name, Op.NE if minus else op, values)


def _field(name: str) -> Field:
    key, _, path = name.partition(".")
    if key == "args":
        if not _PATH.fullmatch(name):
            raise ValueError("say which argument is meant, like args.code:005930")
    elif path or key not in FIELDS:
        raise ValueError(f"unknown field {name!r}{_choices(name, FIELDS)}")
    return FIELDS[key]


def _choices(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about a word that is not known: the nearest one, and all."""
    names = list(known)
    near = get_close_matches(word.lower(), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return f"{hint} There are: {', '.join(names)}"


def _wanted(token: str, place: int) -> list[Text]:
    """The values of a term, from `place` on."""
    found: list[Text] = []
    more = True
    while more:
        value = _VALUE.match(token, place)
        if value is None:
            raise ValueError(
                "cannot read the value: '*' stands at its start or end, and double quotes "
                'go around all of it, like error:"timed out"'
            )
        found.append(_pattern(value["lead"], value["quoted"], value["bare"], value["trail"]))
        place = value.end()
        more = value[0].endswith(",")
    return found


def _pattern(lead: str, quoted: str | None, bare: str | None, trail: str) -> Text:
    text = (bare or "") if quoted is None else _ESCAPED.sub(r"\1", quoted)
    if not (lead or trail or text or quoted is not None):
        raise ValueError('a value is missing; an empty text is written ""')
    match (bool(lead), bool(trail)):
        case (False, False):
            return Text(text)
        case (True, True) if text:
            return Text(text, Match.CONTAINS)
        case (True, False) if text:
            return Text(text, Match.SUFFIX)
        case _:
            # All ways of saying "anything" become one, the empty prefix.
            return Text(text, Match.PREFIX)


def _written(value: Value, plain: Match) -> str:
    """A value as it is read; `plain` is what a text without stars means."""
    match value:
        case State() | Priority():
            return value.name.lower()
        case Text("", Match.PREFIX):
            return "*"
        case Text(text, where):
            quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
            body = text if _BARE.fullmatch(text) else quoted
            lead = "*" if where in {Match.SUFFIX, Match.CONTAINS} - {plain} else ""
            trail = "*" if where in {Match.PREFIX, Match.CONTAINS} - {plain} else ""
            return lead + body + trail
        case int():
            return str(value)
        case _:
            return _length_written(value)


def _length_written(seconds: float) -> str:
    """With units where that loses nothing."""
    is_exact = seconds.is_integer() and seconds_of(text_of(seconds)) == seconds
    return text_of(seconds) if is_exact else repr(seconds)


def _actual(record: Candidate, term: Term, now: float) -> object:
    match term.field:
        case "age":
            return now - record.enqueued_at
        case "finished":
            return None if record.finished_at is None else now - record.finished_at
        case name if not term.path:
            return getattr(record, name)
    value: object = record.args
    for key in term.path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _equals(actual: object, wanted: Value) -> bool:
    if isinstance(wanted, Text):
        text = _as_text(actual)
        return text is not None and wanted.matches(text)
    return actual == wanted


def _as_text(value: object) -> str | None:
    """Texts as they are, numbers and booleans as in JSON; nothing else is a text."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case _:
            return None
