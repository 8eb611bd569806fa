"""Declaring kinds: the decorators, and the register of what was declared."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, get_args, overload

from dure.core.backoff import NEVER, RetryPolicy
from dure.core.batch import Report
from dure.core.duration import Span
from dure.core.errors import ConfigError, KindInvalid
from dure.core.job import LANE_DEFAULT, Job
from dure.core.limit import Limit, Window
from dure.core.outcome import Outcome
from dure.core.state import Priority
from dure.core.timetable import Missed
from dure.engine.battery import Battery
from dure.engine.duties.closing import ANY
from dure.engine.duties.firing import Entry
from dure.engine.duties.service import Tick
from dure.engine.kind import AnyKind, ChunkKind, ErrorRule, Kind, Terms, mode_of, span
from dure.engine.names import check
from dure.engine.options import RESOURCES

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

TIMEOUT_DEFAULT = "5m"
_COUNT_MAX = 1_000_000_000


class Declarations:
    """Kinds by name. `kind` and `chunk` are decorators; importing a module declares its kinds."""

    def __init__(self) -> None:
        self.kinds: dict[str, AnyKind] = {}
        self.limits: dict[str, Limit] = {}
        self.entries: dict[str, Entry] = {}
        self.reports: dict[str, Kind[[Report], Any]] = {}
        self.batteries: list[Battery] = []
        self.schemas: dict[str, Traversable] = {}
        self.duties: dict[str, Tick] = {}
        self.closers: dict[str, Callable[[], Awaitable[None]]] = {}
        """What to close together with the app."""

    @overload
    def kind(self, fn: Callable[P, R], /) -> Kind[P, R]: ...

    @overload
    def kind(
        self,
        *,
        name: str | None = ...,
        retry: RetryPolicy | int | None = ...,
        timeout: Span | None = ...,
        run: str | None = ...,
        lane: str = ...,
        priority: Priority = ...,
        retry_priority: Priority | None = ...,
        limits: str | Sequence[str] = ...,
        tokens: int = ...,
        breaker: str | None = ...,
        uses: str | Sequence[str] = ...,
        errors: Mapping[type[BaseException], ErrorRule] | None = ...,
        max_running: int | None = ...,
        queue_max: int | None = ...,
    ) -> Callable[[Callable[P, R]], Kind[P, R]]: ...

    def kind(self, *handlers: Callable[..., Any], **terms: Any) -> Any:
        """Declare a function as a kind of job.

        `async def` runs on the loop, `def` in a thread, `run="process"` in a child process.
        """

        def declare(handler: Callable[..., Any]) -> Any:
            return self._add(Kind(handler, terms_of(handler, terms)))

        return declare(*handlers) if handlers else declare

    def chunk(self, size: int, **terms: Any) -> Callable[[Callable[[list[T]], Any]], ChunkKind[T]]:
        """Declare a function that takes many items at once and answers one outcome for each.

        It receives up to `size` items that happen to wait in one lane; it never waits for more.
        """
        if size < 2:
            raise KindInvalid(f"A chunk of {size} makes no sense.", "Use at least 2, or `kind`.")

        def declare(handler: Callable[[list[T]], Any]) -> ChunkKind[T]:
            kind: ChunkKind[T] = ChunkKind(handler, terms_of(handler, {**terms, "chunk": size}))
            self._add(kind)
            return kind

        return declare

    def limit(self, name: str, *windows: str, max_running: int | None = None) -> Limit:
        """Declare a limit over several windows: `app.limit("gemini", "15/m", "1500/d")`.

        It is stored when the app first opens; after that operators may change it.
        """
        try:
            limit = Limit(name, tuple(Window.parse(w) for w in windows), max_running)
        except ValueError as error:
            raise ConfigError(f"The limit {name!r} cannot be declared so: {error}.") from error
        self.limits[name] = limit
        return limit

    def schedule(
        self,
        name: str,
        when: str,
        job: Job,
        *,
        tz: str = "UTC",
        missed: Missed | str = Missed.ONCE,
    ) -> Entry:
        """Declare a schedule: a cron line or `every 30s`, and the job to enqueue."""
        try:
            entry = Entry(check(name, "schedule"), when, tz, Missed(missed), job)
            entry.timetable.describe()
        except ValueError as error:
            raise ConfigError(f"The schedule {name!r} cannot be declared so: {error}.") from error
        self.entries[name] = entry
        return entry

    def migrations(self, owner: str, folder: str | Path | Traversable) -> None:
        """Declare tables of a battery or an application: a folder of `0001_name.sql` files.

        They are brought up to date when the app opens, in the order of declaration. A file in
        the folder is for both stores; one of that number in its folder `sqlite` or `postgres`
        is for that store, and wins. A file that has run anywhere must not change any more.
        """
        place = Path(folder) if isinstance(folder, str) else folder
        check(owner, "migrations")
        if not place.is_dir():
            raise ConfigError(
                f"The migrations of {owner!r} are to be in {place}, which is no folder.",
                "Give a folder of files like 0001_tables.sql.",
            )
        if self.schemas.setdefault(owner, place) != place:
            raise ConfigError(
                f"{owner!r} has declared migrations in another folder already.",
                "Each owner has one folder; choose another name.",
            )

    def duty(self, name: str, tick: Tick) -> None:
        """Declare what every node does now and then: it returns the seconds until the next time.

        A duty must be safe to run on several nodes at once.
        """
        if self.duties.setdefault(check(name, "duty"), tick) is not tick:
            raise ConfigError(f"The duty {name!r} is declared twice.", "Give it another name.")

    def report(self, batch: str = ANY) -> Callable[[Callable[[Report], R]], Kind[[Report], R]]:
        """Declare the handler of a batch's report; `"*"` for batches without their own."""

        def declare(handler: Callable[[Report], R]) -> Kind[[Report], R]:
            name = f"report.{'any' if batch == ANY else batch}"
            kind: Kind[[Report], R] = Kind(handler, terms_of(handler, {"name": name}))
            self._add(kind)
            self.reports[batch] = kind
            return kind

        return declare

    def attach(self, battery: Battery) -> None:
        """Let a battery open and close with this app, and stand beside each of its nodes."""
        self.batteries.append(battery)

    def add(self, kind: AnyKind) -> None:
        """Declare a kind that was built without a decorator."""
        self._add(kind)

    def _add(self, kind: Any) -> Any:
        check(kind.name, "kind")
        if kind.name in self.kinds:
            raise KindInvalid(
                f"The kind {kind.name!r} is declared twice.", "Give one of them another `name`."
            )
        self.kinds[kind.name] = kind
        return kind


def terms_of(fn: Callable[..., Any], given: dict[str, Any]) -> Terms:
    """The terms of a declaration. Raises KindInvalid naming what is wrong."""
    given = dict(given)
    uses = _names(given.pop("uses", ()))
    unknown = [name for name in uses if name not in RESOURCES]
    if unknown:
        raise KindInvalid(
            f"Unknown resource {unknown[0]!r}.", f"Resources are {', '.join(RESOURCES)}."
        )
    retry = given.pop("retry", None)
    name = given.pop("name", None) or getattr(fn, "__name__", "")
    try:
        if isinstance(retry, int):
            retry = NEVER if retry == 1 else RetryPolicy(max_attempts=retry)
        terms = Terms(
            name=name,
            retry=RetryPolicy() if retry is None else retry,
            timeout=span(given.pop("timeout", TIMEOUT_DEFAULT)),
            mode=mode_of(fn, given.pop("run", None)),
            chunk=given.pop("chunk", 1),
            limits=_names(given.pop("limits", ())),
            uses=uses,
            lane=given.pop("lane", LANE_DEFAULT),
            errors=given.pop("errors", None) or {},
            **given,
        )
        _check(terms)
    except (TypeError, ValueError) as error:
        raise KindInvalid(f"The kind {name!r} cannot be declared so: {error}.") from error
    return terms


def _check(terms: Terms) -> None:
    """Refuse at once what would only fail when jobs run. Raises ValueError or TypeError."""
    check(terms.lane, "lane")
    Priority(terms.priority)
    if terms.retry_priority is not None:
        Priority(terms.retry_priority)
    if not isinstance(terms.retry, RetryPolicy):
        raise TypeError(f"retry is a RetryPolicy or a number of attempts, not {terms.retry!r}")
    if terms.timeout is not None and terms.timeout <= 0:
        raise ValueError("its timeout must be longer than nothing; None means no timeout")
    for name, low in (("chunk", 1), ("max_running", 1), ("queue_max", 1), ("tokens", 0)):
        value = getattr(terms, name)
        if value is not None and not low <= value <= _COUNT_MAX:
            raise ValueError(f"{name} must be {low} to {_COUNT_MAX}, not {value!r}")
    if terms.breaker is not None:
        check(terms.breaker, "breaker")
    for name in terms.limits:
        check(name, "limit")
    for error, rule in terms.errors.items():
        if not issubclass(error, BaseException):
            raise TypeError(f"errors maps types of exceptions to outcomes, and {error!r} is none")
        if not (callable(rule) or isinstance(rule, get_args(Outcome))):
            raise TypeError(f"errors says {rule!r} for {error.__name__}, which is no outcome")


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
