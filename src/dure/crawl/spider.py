"""A spider: where to start, and a function for each kind of page.

    shop = Spider("shop", start="https://shop.example/list")

    @shop.stage
    def listing(page: Page) -> Parsed:
        yield page.follow("a.product", product)
        yield page.follow("a.next", listing)

    @shop.stage
    def product(page: Page) -> Parsed:
        yield Product(sku=page.text(".sku"), title=page.text("h1"))

What a stage yields commits together with its page: requests, items (dataclasses or msgspec
structs), `dure.Write` for tables of one's own, `dure.Job` for work of other kinds.
"""

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, overload

from dure.core.backoff import RetryPolicy
from dure.core.duration import Span, seconds_of
from dure.core.errors import KindInvalid
from dure.core.state import Priority
from dure.crawl.page import Page
from dure.crawl.request import Follow, Request

T = TypeVar("T")

Parsed = Iterable[object]
"""What a stage function answers: any number of requests, items, writes and jobs."""
Parse = Callable[[Page], "Parsed | AsyncIterable[object] | Awaitable[Parsed | None] | None"]
Start = str | Sequence[str] | Callable[[], Iterable[str | Request | Follow]]

RETRY: Final = RetryPolicy.of(10, base="2s", factor=2.0, cap="10m", jitter=0.5)
"""Half an hour's outage of a host loses no page. A worker that is killed costs each page it had
claimed an attempt, begun or not: with few attempts a machine that dies often would lose some."""
DEPTH_MAX: Final = 10_000
"""Links from a start address to a page, at most; lists that link to their next page go deep."""
QUEUE_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class Crew:
    """How many workers a stage may have; their number follows load between the two."""

    low: int = 8
    high: int = 256

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high <= 10_000:
            raise ValueError(f"a crew needs 1 <= low <= high <= 10000, not {self.low}..{self.high}")


PARSE_CREW: Final = Crew(1, 16)
SAVE_CREW: Final = Crew(64, 512)


@dataclass(eq=False)
class Stage:
    """One kind of page. `parse` is the function itself, for tests and for direct calls."""

    spider: "Spider"
    name: str
    parse: Parse
    priority: Priority = Priority.NORMAL
    retry: RetryPolicy = RETRY
    timeout: float = 120.0
    crew: Crew = field(default_factory=Crew)
    queue_max: int = 256
    """Pages that may lie between fetching and parsing before fetching is held back."""
    parse_crew: Crew = PARSE_CREW
    save_crew: Crew = SAVE_CREW
    save_max: int = 512
    """Pages that may lie between parsing and saving before parsing is held back."""
    frontier_max: int | None = None
    """Pages of one host that may wait to be fetched before earlier stages are held back."""
    uses: tuple[str, ...] = ("http",)
    """Resources a page takes a place of: http until it is fetched, cpu while it is parsed, db
    while it is saved, any other from its fetch until it is saved."""

    @property
    def kind(self) -> str:
        """The kind whose jobs are this stage's pages."""
        return f"{self.spider.name}.{self.name}"

    def __call__(self, page: Page) -> Any:
        return self.parse(page)

    def __repr__(self) -> str:
        return f"<stage {self.kind}>"


class Spider:
    """What to crawl. Declaring stages is all it does; a `Crawler` runs it."""

    def __init__(
        self,
        name: str,
        start: Start = (),
        *,
        hosts: Sequence[str] | None = None,
        depth_max: int = DEPTH_MAX,
        known_across_runs: bool = False,
        retry: RetryPolicy = RETRY,
        timeout: Span = "2m",
    ) -> None:
        if not name.replace("-", "").replace("_", "").isalnum():
            raise KindInvalid(
                f"{name!r} cannot be the name of a spider.", "Use letters, digits, - and _."
            )
        if not 1 <= depth_max <= 100_000:
            raise KindInvalid(f"A depth of {depth_max} makes no sense.", "Use 1 to 100000.")
        self.name = name
        self.start = start
        self.hosts = None if hosts is None else frozenset(host.lower() for host in hosts)
        """Where it may go; None: only to the hosts of its start."""
        self.depth_max = depth_max
        self.known_across_runs = known_across_runs
        """Whether an address that an earlier run saved is left alone by the next ones."""
        self.retry = retry
        self.timeout = seconds_of(timeout)
        self.stages: dict[str, Stage] = {}
        self.keys: dict[type, str] = {}
        """The field that tells items of a type apart."""

    @property
    def first(self) -> Stage:
        """The stage that receives the start addresses. Raises KindInvalid without any."""
        if not self.stages:
            raise KindInvalid(
                f"The spider {self.name!r} has no stage.",
                f"Decorate one with `@{self.name}.stage`.",
            )
        return next(iter(self.stages.values()))

    @overload
    def stage(self, parse: Parse, /) -> Stage: ...

    @overload
    def stage(
        self,
        *,
        name: str = ...,
        priority: Priority = ...,
        retry: RetryPolicy | None = ...,
        timeout: Span | None = ...,
        crew: Crew | tuple[int, int] = ...,
        queue_max: int = ...,
        parse_crew: Crew | tuple[int, int] = ...,
        save_crew: Crew | tuple[int, int] = ...,
        save_max: int = ...,
        frontier_max: int | None = ...,
        uses: Sequence[str] = ...,
    ) -> Callable[[Parse], Stage]: ...

    def stage(self, *parses: Parse, **terms: Any) -> Any:
        """Declare the function for one kind of page; the first one receives the start."""

        def declare(parse: Parse) -> Stage:
            return self.add(parse, **terms)

        return declare(*parses) if parses else declare

    def add(
        self,
        parse: Parse,
        *,
        name: str = "",
        priority: Priority = Priority.NORMAL,
        retry: RetryPolicy | None = None,
        timeout: Span | None = None,
        crew: Crew | tuple[int, int] = (8, 256),
        queue_max: int = 256,
        parse_crew: Crew | tuple[int, int] = PARSE_CREW,
        save_crew: Crew | tuple[int, int] = SAVE_CREW,
        save_max: int = 512,
        frontier_max: int | None = None,
        uses: Sequence[str] = ("http",),
    ) -> Stage:
        """Declare a stage without a decorator."""
        name = name or getattr(parse, "__name__", "")
        if name in self.stages:
            raise KindInvalid(f"The stage {name!r} of {self.name!r} is declared twice.")
        bounds = (queue_max, save_max, 1 if frontier_max is None else frontier_max)
        if not name or not all(1 <= bound <= QUEUE_MAX for bound in bounds):
            raise KindInvalid(
                f"The stage {name!r} of {self.name!r} cannot be declared so.",
                f"It needs a name, and queues of 1 to {QUEUE_MAX} pages.",
            )
        stage = Stage(
            self,
            name,
            parse,
            priority,
            retry or self.retry,
            self.timeout if timeout is None else seconds_of(timeout),
            _crew(crew),
            queue_max,
            _crew(parse_crew),
            _crew(save_crew),
            save_max,
            frontier_max,
            tuple(uses),
        )
        self.stages[name] = stage
        return stage

    def item(self, *, key: str) -> Callable[[type[T]], type[T]]:
        """Say which field tells items of a type apart: the same one again replaces the first."""

        def declare(cls: type[T]) -> type[T]:
            if key not in getattr(cls, "__annotations__", {}):
                raise KindInvalid(f"{cls.__name__} has no field {key!r}.", "Name one of its own.")
            self.keys[cls] = key
            return cls

        return declare

    def requests(self) -> list[Request]:
        """Where it starts."""
        start = self.start() if callable(self.start) else self.start
        found: list[Request] = []
        for each in [start] if isinstance(start, str) else start:
            if isinstance(each, Request):
                found.append(each)
            elif isinstance(each, Follow):
                found.extend(
                    Request(url, each.stage, each.meta, each.priority) for url in each.urls
                )
            else:
                found.append(Request(each, self.first))
        return found

    def __repr__(self) -> str:
        return f"<spider {self.name}: {', '.join(self.stages) or 'no stages'}>"


def _crew(given: Crew | tuple[int, int]) -> Crew:
    return given if isinstance(given, Crew) else Crew(*given)
