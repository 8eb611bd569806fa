"""A kind: a function the engine can run, and what it takes to run it.

Calling a kind does not run anything: it builds a `Job`, checked against the function's
own signature by the type checker and again when the job is built. The function itself
stays reachable as `kind.fn`, for tests and for direct calls.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from dure.core.backoff import RetryPolicy
from dure.core.duration import Span, seconds_of
from dure.core.errors import KindInvalid
from dure.core.job import LANE_DEFAULT, PLAIN, Job, Options
from dure.core.outcome import Outcome
from dure.core.state import Priority

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

ErrorRule = Outcome | Callable[[Any], Outcome]
"""What an exception means: an outcome, or a function from the exception to one."""

PER_LANE: Final = "per lane"
"""As a breaker's name: one breaker for each lane of the kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The conditions a kind runs under."""

    name: str
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    timeout: float | None = 300.0
    mode: str = "async"
    chunk: int = 1
    limits: tuple[str, ...] = ()
    tokens: int = 0
    """Units of a limit's second unit to reserve for each job, settled afterwards."""
    breaker: str | None = None
    uses: tuple[str, ...] = ()
    """Resources of the node it occupies: http, cpu, memory, db."""
    errors: Mapping[type[BaseException], ErrorRule] = field(default_factory=dict)
    lane: str = LANE_DEFAULT
    priority: Priority = Priority.NORMAL
    retry_priority: Priority | None = None
    rank: int = 0
    """Of one lane's kinds of equal priority, those of a lower rank go first."""
    slots: tuple[int, int] | None = None
    """The least and the most slots of a node it may take; how many follows load."""
    max_running: int | None = None
    """How many may run at once over all nodes."""
    queue_max: int | None = None
    """How many may wait in one lane before producers are held back."""


class Kind(Generic[P, R]):
    """A registered function. Call it to build a job; `fn` is the function itself."""

    def __init__(self, fn: Callable[P, R], terms: Terms) -> None:
        self.fn = fn
        self.terms = terms
        self.name = terms.name
        self.__doc__ = fn.__doc__
        self._struct = _struct_of(fn, terms)
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(self._struct).decode
        parameters = inspect.signature(fn).parameters.values()
        self._keywords = tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        self._how = PLAIN
        if (terms.lane, terms.priority, terms.tokens) != (LANE_DEFAULT, Priority.NORMAL, 0):
            self._how = Options(lane=terms.lane, priority=terms.priority, tokens=terms.tokens)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Job:
        """A job that will run the function with these arguments."""
        return self._job(self._struct(*args, **kwargs))

    def _job(self, arguments: msgspec.Struct) -> Job:
        try:
            body = self._encode(arguments)
            self._decode(body)
        except (msgspec.ValidationError, TypeError, OverflowError) as error:
            raise KindInvalid(
                f"These arguments do not fit {self.name!r}: {error}.",
                "Arguments must match the function's annotations and be JSON.",
            ) from error
        return Job(self.name, body.decode(), self._how)

    def arguments(self, body: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments from a stored body. Raises KindInvalid."""
        try:
            struct = self._decode(body)
        except msgspec.DecodeError as error:
            raise KindInvalid(
                f"The stored arguments do not fit {self.name!r} as it is now: {error}.",
                "Give new parameters a default, or edit the job with `dure jobs edit`.",
            ) from error
        values = msgspec.structs.astuple(struct)
        if not self._keywords:
            return values, {}
        count = len(values) - len(self._keywords)
        return values[:count], dict(zip(self._keywords, values[count:], strict=True))

    def __repr__(self) -> str:
        return f"<kind {self.name}>"


class ChunkKind(Generic[T]):
    """A function over many items at once. Call it with one item to build a job."""

    def __init__(self, fn: Callable[[list[T]], Any], terms: Terms) -> None:
        self.fn = fn
        self.terms = terms
        self.name = terms.name
        self.__doc__ = fn.__doc__
        self._inner: Kind[[T], Any] = Kind(_single(fn, terms), terms)

    def __call__(self, item: T) -> Job:
        """A job for one item; the engine hands items over in chunks."""
        return self._inner(item)

    def item(self, body: str) -> T:
        """The item of a stored job. Raises KindInvalid."""
        values, _ = self._inner.arguments(body)
        item: T = values[0]
        return item

    def __repr__(self) -> str:
        return f"<chunk kind {self.name}>"


AnyKind = Kind[Any, Any] | ChunkKind[Any]


def mode_of(fn: Callable[..., Any], asked: str | None) -> str:
    """How to run a function: `async`, `thread` or `process`; an error where that cannot work."""
    is_async = inspect.iscoroutinefunction(fn)
    mode = asked or ("async" if is_async else "thread")
    name = getattr(fn, "__qualname__", repr(fn))
    if mode not in {"async", "thread", "process"}:
        raise KindInvalid(f"Unknown run mode {mode!r} for {name}: use async, thread or process.")
    if is_async != (mode == "async"):
        raise KindInvalid(
            f"{name} is {'an async' if is_async else 'a plain'} function and cannot run as "
            f"{mode!r}.",
            "async def runs on the loop; def runs in a thread or a process.",
        )
    if mode == "process" and "<locals>" in name:
        raise KindInvalid(
            f"{name} is defined inside a function; another process could not find it.",
            "Move it to the top level of a module.",
        )
    return mode


def span(value: Span | None) -> float | None:
    """Optional seconds."""
    return None if value is None else seconds_of(value)


def _struct_of(fn: Callable[..., Any], terms: Terms) -> type[msgspec.Struct]:
    """The arguments of a function as a type that can be checked, encoded and decoded."""
    try:
        hints = get_type_hints(fn, include_extras=True)
    except (NameError, TypeError) as error:
        raise KindInvalid(
            f"The annotations of {terms.name!r} cannot be read: {error}.",
            "Every name in them must exist at run time (not only under TYPE_CHECKING).",
        ) from error
    fields: list[Any] = []
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            raise KindInvalid(
                f"{terms.name!r} takes *{parameter.name}; a job's arguments must be named.",
                "List the parameters one by one.",
            )
        annotation = hints.get(parameter.name, Any)
        if parameter.default is parameter.empty:
            fields.append((parameter.name, annotation))
        else:
            default = parameter.default
            fields.append((parameter.name, annotation, _default(default)))
    try:
        struct = msgspec.defstruct(f"Arguments of {terms.name}", fields, forbid_unknown_fields=True)
        msgspec.json.Decoder(struct)
    except TypeError as error:
        raise KindInvalid(
            f"{terms.name!r} has a parameter that cannot be stored as JSON: {error}.",
            "Use numbers, text, lists, dicts, dataclasses or msgspec structs.",
        ) from error
    return struct


def _default(value: object) -> object:
    if isinstance(value, list | dict | set):
        return msgspec.field(default_factory=lambda: type(value)(value))
    return value


def _single(fn: Callable[[list[T]], Any], terms: Terms) -> Callable[[T], Any]:
    """A stand-in with one item's signature, from which a chunk's jobs are built."""
    parameters = list(inspect.signature(fn).parameters.values())
    hints = get_type_hints(fn, include_extras=True)
    if len(parameters) != 1:
        raise KindInvalid(f"The chunk handler {terms.name!r} must take exactly one list.")
    annotation = hints.get(parameters[0].name, list[Any])
    if get_origin(annotation) not in {list, Sequence}:
        raise KindInvalid(
            f"The chunk handler {terms.name!r} must take a list, not {annotation!r}.",
            "Write it as `async def handler(items: list[Item])`.",
        )
    (item,) = get_args(annotation)

    def single(item: Any) -> None:
        """Never called: only its signature is used."""

    single.__annotations__ = {"item": item, "return": None}
    return single
