"""A newsroom in virtual time: a sandbox in memory instead of the world, a store in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from dure.testing import Rig, running
from dure.testing.virtual import VirtualClock
from dure_sandbox import AiOptions, Fault, NewsOptions, Sandbox
from newsroom.program import Newsroom
from newsroom.settings import Settings

ADMIN = "a-token-for-the-chief-editor"
READER = "a-token-for-whoever-only-looks"


class Stage:
    """A newsroom at work, and what a test does with it."""

    def __init__(self, newsroom: Newsroom, sandbox: Sandbox, rig: Rig) -> None:
        self.newsroom = newsroom
        self.sandbox = sandbox
        self.t = rig

    async def crawl(self) -> None:
        """One round now."""
        await self.newsroom.app.fire("crawl")
        await self.t.run_until_idle()

    async def rows(self, sql: str, **params: object) -> list[Any]:
        return await self.newsroom.records.rows(sql, **params)

    async def count(self, wanted: str) -> int:
        return len(await self.t.jobs(wanted))

    def value(self, name: str, **labels: str) -> float:
        """A metric's value; 0 while nothing was counted."""
        return self.newsroom.registry.get_sample_value(name, labels) or 0.0


QUICK = Settings(
    store=":memory:",
    site="http://news.sandbox.test",
    ai_url="http://ai.sandbox.test/v1",
    ai_key="sk-sandbox",
    news_rate="50/s",
    pages_max=1,
    tokens=f"anna:admin:{ADMIN} ben:reader:{READER}",
)


@asynccontextmanager
async def at_work(
    *faults: Fault, per_day: int = 200, nodes: int = 1, seed: int = 1, **changes: Any
) -> AsyncIterator[Stage]:
    """The newsroom on an empty store, its schedule paused so that a test decides when it crawls."""
    clock = VirtualClock()
    sandbox = Sandbox(
        seed=seed,
        clock=clock,
        news=NewsOptions(articles_per_day=per_day),
        ai=AiOptions(),
        faults=faults,
    )
    newsroom = Newsroom(replace(QUICK, **changes), clock=clock, wire=sandbox.wire())
    async with newsroom.online(), running(newsroom.app, nodes=nodes, **newsroom.terms) as rig:
        yield Stage(newsroom, sandbox, rig)
