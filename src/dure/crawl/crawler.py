"""A crawler: runs spiders on an app. A page to fetch is a job; the engine does the rest.

    app = dure.App("shop.db")
    crawler = Crawler(app, shop)

Each stage is a kind, each host a lane, each run a session. Retries, priorities, breakers,
unique keys, pause and cancel are the engine's. What is added here is when a host is due.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final, Protocol

import msgspec
from multidict import CIMultiDict

from dure.core.backoff import NEVER
from dure.core.errors import KindInvalid, NotFound
from dure.core.job import Job, Unique
from dure.core.load import Load
from dure.core.outcome import Outcome
from dure.core.state import FINAL, Priority
from dure.crawl.address import Address, Addresses, address_of
from dure.crawl.article import Reader
from dure.crawl.lines.line import BY_STEP
from dure.crawl.presence import Presence
from dure.crawl.request import Follow, Request
from dure.crawl.run import Course, Run, runs_of
from dure.crawl.spider import Spider, Stage
from dure.crawl.tuning import Tuning, apply_tuning
from dure.crawl.visit import Visits
from dure.crawl.workbench import LaneGate
from dure.engine.attempts.context import CURRENT
from dure.engine.battery import Battery
from dure.engine.kind import PER_LANE, AnyKind, Kind, Terms
from dure.engine.node import Node
from dure.engine.store_clock import StoreClock
from dure.engine.work import Work
from dure.fetch import ERRORS, Fetcher, FetchPolicy
from dure.fetch.host import Host
from dure.fetch.wire import Headers
from dure.ports.clock import Clock
from dure.ports.rows import Receipt
from dure.ports.store import Store
from dure.scripts import crawls

RETRY_PRIORITY: Final = Priority.HIGH
_PARSE_TIMEOUT: Final = 120.0


class Ground(Protocol):
    """What a crawler needs of an app."""

    store: Store
    store_clock: StoreClock

    def add(self, kind: AnyKind) -> None: ...

    def migrations(self, owner: str, folder: Traversable) -> None: ...

    def attach(self, battery: Battery) -> None: ...

    async def enqueue_many(self, jobs: Sequence[Job], **options: Any) -> list[Receipt]: ...


class Crawler:
    """Spiders on an app. Creating it declares their kinds."""

    def __init__(
        self,
        app: Ground,
        *spiders: Spider,
        policy: FetchPolicy | None = None,
        fetcher: Fetcher | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.app = app
        self.spiders = {spider.name: spider for spider in spiders}
        if not spiders or len(self.spiders) < len(spiders):
            raise KindInvalid("A crawler needs spiders of different names.", "Name each its own.")
        self.fetcher = fetcher or Fetcher(policy or FetchPolicy(), clock=clock)
        self.stages = {s.kind: s for spider in spiders for s in spider.stages.values()}
        self.addresses = Addresses()
        self.reader = Reader()
        self.presences: list[Presence] = []
        self.read_load: Callable[[float], Load] | None = None
        """In place of reading the machine: virtual time has none."""
        self._courses: dict[str, Course] = {}
        self._kinds: dict[str, Kind[Any, Any]] = {}
        self._parse_kinds: dict[str, Kind[Any, Any]] = {}
        self._visits = Visits(self)
        self._tuned: dict[str, str] = {}
        for spider in spiders:
            _ = spider.first
        for stage in self.stages.values():
            self._declare(stage)
        app.migrations("dure.crawl", files("dure.crawl") / "migrations")
        app.attach(self)

    @property
    def courses(self) -> Mapping[str, Course]:
        """The runs this process has met, by session."""
        return self._courses

    @property
    def store(self) -> Store:
        return self.app.store

    def now(self) -> float:
        """The store's time."""
        return self.app.store_clock.now()

    # The engine's side: opening, closing, nodes.

    async def open(self) -> None:
        await self.fetcher.__aenter__()

    async def close(self) -> None:
        for course in self._courses.values():
            await course.close()
        self._courses.clear()
        await self.reader.close()
        self.presences.clear()
        await self.fetcher.__aexit__(None, None, None)

    def serve(self, node: Node) -> Presence:
        presence = Presence(self, node)
        self.presences.append(presence)
        return presence

    # Runs.

    async def begin(self, spider: Spider | str, *, session: str = "", again: bool = False) -> Run:
        """Begin a run, or go on with the one that is not over; its start addresses are put in.

        `again` begins a new one in any case. Beginning twice changes nothing.
        """
        chosen = self.spiders[spider] if isinstance(spider, str) else spider
        requests = chosen.requests()
        if not requests:
            raise KindInvalid(
                f"The spider {chosen.name!r} has no start address.", "Give it one or more."
            )
        run = await self._run_to_go_on(chosen, session, again=again)
        if run is None:
            run = await self._new_run(chosen, session)
        course = Course(run, self.store)
        jobs = []
        for request in requests:
            address = address_of(request.url, request.url, request.stage.kind)
            if address is None:
                raise KindInvalid(
                    f"{request.url!r} cannot be a start address.", "Give a full http(s) URL."
                )
            # Once for each run, also when it is begun twice.
            key = course.start_key(address.digest)
            jobs.append(self.job(course, address, request, 0, unique=key))
        await self.app.enqueue_many(jobs)
        return run

    async def _run_to_go_on(self, spider: Spider, session: str, *, again: bool) -> Run | None:
        runs = [run for run in await runs_of(self.store) if run.spider == spider.name]
        if session:
            return next((run for run in runs if run.session == session), None)
        if again or not runs:
            return None
        latest = runs[-1]
        standings = await self.store.read(crawls.standings(latest.session))
        is_over = bool(standings) and all(each.state in FINAL for each in standings)
        return None if is_over else latest

    async def _new_run(self, spider: Spider, session: str) -> Run:
        every = await runs_of(self.store)
        if not session:
            count = sum(run.spider == spider.name for run in every)
            session = f"{spider.name}-{count + 1}"
        hosts = sorted(spider.hosts or _hosts_of(spider))
        scope = spider.name if spider.known_across_runs else session
        run = Run(
            session=session, spider=spider.name, scope=scope, hosts=hosts, started_at=self.now()
        )
        text = msgspec.json.encode(run).decode()
        await self.store.run(crawls.write_run(session, text, self.now()))
        return run

    async def course(self, spider: Spider, session: str | None) -> Course:
        """The run a job belongs to. Raises NotFound for a job of none."""
        course = self._courses.get(session or "")
        if course is None:
            runs = await runs_of(self.store)
            run = next((run for run in runs if run.session == session), None)
            if run is None:
                raise NotFound(
                    f"There is no run {session!r} of {spider.name!r}.", "Begin one first."
                )
            course = self._courses.setdefault(run.session, Course(run, self.store))
            course.fill()
        return course

    # Pages.

    def job(
        self,
        course: Course,
        address: Address,
        asked: Request | Follow,
        depth: int,
        *,
        unique: Unique | None,
    ) -> Job:
        """The job that fetches an address for a stage."""
        stage = asked.stage
        kind = self._kinds.get(stage.kind)
        if kind is None:
            raise KindInvalid(
                f"The stage {stage.kind!r} belongs to no spider of this crawler.",
                "Give its spider to the Crawler as well.",
            )
        delay = asked.delay if isinstance(asked, Request) else 0.0
        polled = (True,) if isinstance(asked, Request) and asked.again else ()
        return kind(address.url, dict(asked.meta), depth, *polled).options(
            lane=address.host,
            priority=asked.priority,
            session=course.run.session,
            unique=unique,
            delay=delay or None,
        )

    def parse_kind(self, stage: Stage) -> Kind[Any, Any]:
        """The kind that parses kept pages of a stage."""
        return self._parse_kinds[stage.kind]

    def here(self) -> tuple[Work, LaneGate]:
        """The running page, and the gate it came through."""
        work = CURRENT.get()
        assert isinstance(work, Work), "pages are fetched where their node runs"
        gate = next(gate for gate in work.gates if isinstance(gate, LaneGate))
        return work, gate

    def host(self, name: str) -> Host:
        """The host with this name; its scheme does not matter."""
        return self.fetcher.host(f"http://{name}/")

    def headers(self, content_type: str) -> Headers:
        """The one header a kept page still has."""
        return CIMultiDict({"Content-Type": content_type})

    async def retune(self, presence: Presence) -> None:
        """Take up what was changed at run time."""
        texts = await self.store.read(crawls.tuning())
        for name, text in texts.items():
            spider = self.spiders.get(name)
            if spider is not None and self._tuned.get(f"{name} {id(presence)}") != text:
                self._tuned[f"{name} {id(presence)}"] = text
                tuning = msgspec.json.decode(text, type=Tuning)
                apply_tuning(tuning, spider, presence, self._kinds)

    def _declare(self, stage: Stage) -> None:
        visits = self._visits

        async def visit(
            url: str,
            meta: dict[str, Any] | None = None,
            depth: int = 0,
            is_polled: bool = False,
        ) -> Outcome:
            return await visits.visit(stage, url, meta or {}, depth, is_polled=is_polled)

        async def parse_again(
            key: str, meta: dict[str, Any] | None = None, depth: int = 0
        ) -> Outcome:
            return await visits.parse_again(stage, key, meta or {}, depth)

        terms = Terms(
            name=stage.kind,
            retry=stage.retry,
            timeout=stage.timeout,
            breaker=PER_LANE,
            uses=tuple(name for name in stage.uses if name not in BY_STEP),
            errors=ERRORS,
            priority=stage.priority,
            retry_priority=min(stage.priority, RETRY_PRIORITY),
        )
        kind = self._kinds[stage.kind] = Kind(visit, terms)
        self.app.add(kind)
        again = replace(
            terms,
            name=f"{stage.kind}.parse",
            retry=NEVER,
            timeout=_PARSE_TIMEOUT,
            breaker=None,
            uses=("cpu",),
            errors={},
        )
        parse_kind = self._parse_kinds[stage.kind] = Kind(parse_again, again)
        self.app.add(parse_kind)


def _hosts_of(spider: Spider) -> set[str]:
    addresses = (address_of(each.url, each.url, "") for each in spider.requests())
    return {each.host for each in addresses if each is not None}
