"""The catalog put together: one app, its crawler, and how a node of it is sized."""

from dataclasses import dataclass, field
from importlib.resources import files

import dure
from catalog.spider import NAME, RESOURCES, Sizes, spider_of
from dure.crawl import Crawler, Run
from dure.engine.node import Node
from dure.fetch import Fetcher, FetchPolicy, Manners
from dure.fetch.wire import Timeouts, Wire
from dure.ports.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to crawl, into which store, and how."""

    store: str
    shops: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    """Private networks that may be reached, as 127.0.0.0/8."""
    manners: Manners = field(default_factory=Manners)
    timeouts: Timeouts = field(default_factory=Timeouts)
    sizes: Sizes = field(default_factory=Sizes)
    slots: int = 256
    lease: float | None = None
    """Seconds after which the work of a dead node is taken over; None: as the store is set."""


class Catalog:
    """An app with the catalog's tables and its crawler; open the app, begin, run nodes."""

    def __init__(self, plan: Plan, *, wire: Wire | None = None, clock: Clock | None = None) -> None:
        self.plan = plan
        self.app = dure.App(plan.store, clock=clock)
        self.app.migrations(NAME, files("catalog") / "migrations")
        self.spider = spider_of(plan.shops, self.now, plan.sizes)
        policy = FetchPolicy(manners=plan.manners, timeouts=plan.timeouts, allow=plan.allow)
        self.fetcher = Fetcher(policy, wire=wire, clock=clock)
        self.crawler = Crawler(self.app, self.spider, fetcher=self.fetcher)

    def now(self) -> float:
        """The store's time."""
        return self.app.store_clock.now()

    async def begin(self, *, again: bool = False) -> Run:
        """Begin a run, or go on with the one that is not over."""
        return await self.crawler.begin(self.spider, again=again)

    def node(self) -> Node:
        """A worker, not started yet."""
        lease = self.plan.lease
        return self.app.node(
            slots=self.plan.slots,
            resources=dict(RESOURCES),
            lease=lease,
            beat=None if lease is None else lease / 4,
        )
