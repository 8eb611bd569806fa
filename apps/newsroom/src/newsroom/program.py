"""The newsroom put together: one app, what it fetches and asks with, and its surface."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.resources import files
from typing import Any

from prometheus_client import CollectorRegistry

import dure
from dure.ai import Desk, Provider
from dure.engine.node import Node
from dure.fetch import Fetcher, FetchPolicy, Manners, Wire
from dure.ports.clock import Clock
from newsroom.alerts import Alerts
from newsroom.analysis import Analysis
from newsroom.crawl import Crawl
from newsroom.diary import keep_diary
from newsroom.metrics import NewsMetrics
from newsroom.model import Observed, provider_of
from newsroom.records import Records
from newsroom.settings import Settings


class Newsroom:
    """Everything declared on `app`; use it as a context, then run nodes of it."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock | None = None,
        wire: Wire | None = None,
        provider: Provider | None = None,
    ) -> None:
        self.settings = settings
        self.app = dure.App(settings.store, clock=clock)
        self.app.migrations("newsroom", files("newsroom") / "migrations")
        self.registry = CollectorRegistry()
        self.metrics = NewsMetrics(self.app, self.registry)
        keep_diary(self.app)
        self.records = Records(self.app)
        self.fetcher = Fetcher(_policy(settings), wire=wire, clock=clock)
        self._http = None
        if wire is not None:
            self._http = Fetcher(FetchPolicy.for_api(allow=settings.allow), wire=wire, clock=clock)
        self.desk = Desk(
            self.app,
            provider=Observed(provider or provider_of(settings, self._http), self.metrics),
            limits=settings.ai_limits,
            day="Asia/Seoul",
        )
        self.analysis = Analysis(self.app, self.desk, self.records, settings)
        self.crawl = Crawl(
            self.app,
            self.fetcher,
            self.analysis,
            self.records,
            metrics=self.metrics,
            settings=settings,
        )
        self.alerts = Alerts(self.app, settings, wire=wire, clock=clock)

    @asynccontextmanager
    async def online(self) -> AsyncIterator[None]:
        """Connected to the news site, the model and whoever hears alerts inside of the block."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.fetcher)
            if self._http is not None:
                await stack.enter_async_context(self._http)
            await stack.enter_async_context(self.alerts.open())
            stack.push_async_callback(self.desk.provider.close)
            yield

    @asynccontextmanager
    async def working(self) -> AsyncIterator[Node]:
        """At work inside of the block."""
        async with self.online(), self.app.working(**self.terms) as node:
            yield node

    @property
    def terms(self) -> dict[str, Any]:
        """What a node of the newsroom is given: with it jobs are stuck as the settings say (A8)."""
        return {
            "slots": self.settings.slots,
            "lease": self.settings.seconds("stuck_after"),
            "sweep": self.settings.seconds("sweep"),
        }


def _policy(settings: Settings) -> FetchPolicy:
    """The pace is the engine's limit, which holds over all nodes; rests and robots are here."""
    return FetchPolicy(
        user_agents=(settings.user_agent,),
        robots=settings.robots,
        allow=settings.allow,
        manners=Manners(delay=0.0, concurrency=8),
    )
