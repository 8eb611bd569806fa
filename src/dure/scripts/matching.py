"""The one place that builds SQL: a job filter as a condition with bound parameters.

The condition is made of columns that unfinished and finished jobs have alike, of constants
written here, and of named parameters; no value of a filter ever becomes part of the text.
It means the same on both stores, and the same as `JobFilter.matches`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dure.core.filter import JobFilter, Match, Op, Term, Text
from dure.core.state import FINAL, LIVE, Priority, State
from dure.core.stream import KINDS_MAX, pack

_PRIORITY: Final = f"(stream & {len(Priority) - 1})"
_KIND: Final = f"((stream >> {pack(0, 1, 0).bit_length() - 1}) & {KINDS_MAX - 1})"
_LANE: Final = f"(stream >> {pack(1, 0, 0).bit_length() - 1})"
_COLUMNS: Final = {
    "id": "id",
    "batch": "batch",
    "attempt": "cast(attempt as bigint)",
    "session": "session",
    "reason": "reason",
    "error": "error",
}
_ORDER: Final = {Op.GT: ">", Op.LT: "<", Op.GE: ">=", Op.LE: "<="}
_SLACK_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Condition:
    """What stands for `/*where*/`, its parameters, and which of the two tables can match."""

    where: str
    params: dict[str, object]
    live: bool
    history: bool


class _Parameters(dict[str, object]):
    def bind(self, value: object) -> str:
        name = f"w{len(self)}"
        self[name] = value
        return f":{name}"


def condition_of(wanted: JobFilter, now: float) -> Condition:
    """The condition under which a job is meant, at `now`."""
    params = _Parameters()
    states = frozenset(State)
    parts = []
    for term in wanted.terms:
        if term.field == "state":
            states &= _chosen(term, State)
        else:
            parts.append(_condition(term, params, now))
    if any(term.field == "finished" for term in wanted.terms):
        states &= FINAL
    if states != frozenset(State):
        parts.insert(0, _in_states(states))
    live, history = bool(states & LIVE), bool(states & FINAL)
    return Condition(_joined(parts, "and") if parts else "true", params, live, history)


def _in_states(states: frozenset[State]) -> str:
    """States are constants: only then do the stores see that a partial index serves."""
    if not states:
        return "false"
    listed = f"state in ({', '.join(str(int(state)) for state in sorted(states))})"
    if State.SUCCESS in states:
        return listed
    return f"({listed} and state <> {int(State.SUCCESS)})"


def _chosen(term: Term, members: type[State]) -> frozenset[State]:
    named = frozenset(value for value in term.values if isinstance(value, State))
    return named if term.op is Op.EQ else frozenset(members) - named


def _condition(term: Term, params: _Parameters, now: float) -> str:
    match term.field:
        case "age":
            return _compared(f"{_seconds(params, now)} - enqueued_at", term, params)
        case "finished":
            return _finished(term, params, now)
    if term.op in _ORDER:
        return _compared(_COLUMNS[term.field], term, params)
    equal = _equal(term, params)
    return equal if term.op is Op.EQ else f"(({equal}) is not true)"


def _equal(term: Term, params: _Parameters) -> str:
    match term.field:
        case "priority":
            return f"{_PRIORITY} in ({', '.join(str(_number(value)) for value in term.values)})"
        case "kind" | "lane" as table:
            number = _KIND if table == "kind" else _LANE
            named = _text("name", term, params)
            return f"{number} in (select id from dure_{table} where {named})"  # noqa: S608 - bound
        case "id" | "batch" | "attempt":
            numbers = params.bind([_number(value) for value in term.values])
            return f"{_COLUMNS[term.field]} = any ({numbers})"
        case name if not term.path:
            return _text(_COLUMNS[name], term, params)
    keys = ", ".join(params.bind(key) for key in term.path)
    return _text(f"dure_argument({keys})", term, params)


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"a filter compares numbers here, not {value!r}")
    return int(value)


def _compared(column: str, term: Term, params: _Parameters) -> str:
    value = term.values[0]
    bound = _seconds(params, value) if isinstance(value, float) else params.bind(_number(value))
    return f"{column} {_ORDER[term.op]} {bound}"


def _seconds(params: _Parameters, value: float) -> str:
    return f"cast({params.bind(float(value))} as double precision)"


def _finished(term: Term, params: _Parameters, now: float) -> str:
    """The exact comparison, after a wider one on the bare column that indexes can serve."""
    exact = _compared(f"{_seconds(params, now)} - finished_at", term, params)
    moment = now - float(term.values[0])  # type: ignore[arg-type]  # a length, by its field
    if term.op in {Op.LT, Op.LE}:
        return f"(finished_at > {params.bind(moment - _SLACK_SECONDS)} and {exact})"
    return f"(finished_at < {params.bind(moment + _SLACK_SECONDS)} and {exact})"


def _text(column: str, term: Term, params: _Parameters) -> str:
    texts = [value for value in term.values if isinstance(value, Text)]
    exact = [wanted.text for wanted in texts if wanted.match is Match.EXACT]
    parts = [f"{column} = any ({params.bind(exact)})"] if exact else []
    parts.extend(
        _pattern(column, wanted, params) for wanted in texts if wanted.match is not Match.EXACT
    )
    return _joined(parts, "or")


def _pattern(column: str, wanted: Text, params: _Parameters) -> str:
    """Without LIKE, which SQLite does without regard to case."""
    if not wanted.text:
        return f"{column} is not null"
    part = f"cast({params.bind(wanted.text)} as text)"
    match wanted.match:
        case Match.PREFIX:
            return f"substr({column}, 1, length({part})) = {part}"
        case Match.SUFFIX:
            start = f"length({column}) - length({part}) + 1"
            return f"(length({column}) >= length({part}) and substr({column}, {start}) = {part})"
        case _:
            return f"replace({column}, {part}, '') <> {column}"


def _joined(parts: Sequence[str], word: str) -> str:
    """In halves: SQLite bounds the depth of an expression, and a chain is as deep as long."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_joined(parts[:half], word)} {word} {_joined(parts[half:], word)})"
