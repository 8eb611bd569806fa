"""A newsroom rehearses: virtual time, a sandbox in memory for the world, a store in memory."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

from multidict import CIMultiDict

import dure
from dure.fetch import Call, Reply, Validators, Wire
from dure.testing import Rig, running
from dure.testing.virtual import VirtualClock
from dure_sandbox import AiOptions, Fault, NewsOptions, Sandbox
from newsroom.article import Article, Kept
from newsroom.listing import Item
from newsroom.program import Newsroom
from newsroom.settings import Settings

ADMIN: Final = "a-token-for-the-chief-editor"
READER: Final = "a-token-for-whoever-only-looks"


ALERTS: Final = "http://alerts.test/hook"
"""Where alerts go that nobody but a test reads."""


class Accepted:
    """The answer of a hook that has understood."""

    status = 204
    headers = CIMultiDict[str]()
    peer = None

    async def chunks(self) -> AsyncIterator[bytes]:
        """No body."""
        nothing: tuple[bytes, ...] = ()
        for piece in nothing:
            yield piece

    def close(self) -> None:
        """Nothing is open."""


class Tap:
    """The sandbox's wire, with a note of every body that was sent, and with a hook for alerts."""

    def __init__(self, inner: Wire) -> None:
        self._inner = inner
        self.sent: list[tuple[str, bytes]] = []

    async def send(self, call: Call) -> Reply:
        if call.body is not None:
            self.sent.append((call.url, call.body))
        return Accepted() if call.url == ALERTS else await self._inner.send(call)

    async def close(self) -> None:
        await self._inner.close()


class Stage:
    """A newsroom at work, and what a test does with it."""

    def __init__(self, newsroom: Newsroom, sandbox: Sandbox, rig: Rig, tap: Tap) -> None:
        self.newsroom = newsroom
        self.sandbox = sandbox
        self.t = rig
        self._tap = tap

    def sent(self, where: str) -> list[Any]:
        """What was sent as JSON to addresses that contain this text."""
        return [json.loads(body) for url, body in self._tap.sent if where in url]

    async def crawl(self) -> None:
        """One round now, and whatever follows from it at once."""
        await self.newsroom.app.fire("crawl")
        await self.t.run_until_idle()

    async def article(
        self, number: int = 1, *, lane: str = "finance", is_urgent: bool = False
    ) -> list[dure.Job]:
        """Put an article there as a crawl would; its first job, not yet enqueued."""
        item = Item(oid="001", aid=f"{number:010d}", url="http://news.sandbox.test/", title="제목")
        article = Article(kept=Kept.OK, title=f"제목 {number}", body=f"{number}. {BODY}")
        writes = self.newsroom.records.keep_article(
            item,
            article,
            section=lane,
            version=1,
            is_urgent=is_urgent,
            validators=Validators(),
        )
        for write in writes:
            await self.t.sql(write.sql, dict(write.params))
        priority = dure.Priority.HIGH if is_urgent else dure.Priority.NORMAL
        return list(self.newsroom.analysis.first(item.id, 1, lane=lane, priority=priority))

    async def summary(self, number: int = 1, **how: Any) -> int:
        """An article with its SUMMARY job enqueued; the job's id."""
        (job,) = await self.article(number, **how)
        return (await self.t.enqueue(job)).id

    def calls(self) -> int:
        """How often the model was asked."""
        return len(self.sandbox.log.find(site="ai"))

    async def rows(self, sql: str, **params: object) -> list[Any]:
        return await self.newsroom.records.rows(sql, **params)

    async def count(self, wanted: str) -> int:
        return len(await self.t.jobs(wanted))

    def value(self, name: str, **labels: str) -> float:
        """A metric's value; 0 while nothing was counted."""
        return self.newsroom.registry.get_sample_value(name, labels) or 0.0


BODY: Final = (
    "한국은행은 기준금리를 동결했다. 기준금리는 중앙은행이 정하는 정책금리를 말한다. "
    "시장에서는 환율 변동과 물가 전망이 영향을 준 것으로 분석한다. 수출 기업의 실적은 "
    "환율에 따라 달라질 수 있다. 전문가들은 하반기 물가가 안정될 것으로 전망했다. "
) * 2

QUICK: Final = Settings(
    store=":memory:",
    crawl="0 0 1 1 *",
    site="http://news.sandbox.test",
    ai_url="http://ai.sandbox.test/v1",
    ai_key="sk-sandbox",
    news_rate="50/s",
    pages_max=1,
    tokens=f"anna:admin:{ADMIN} ben:reader:{READER}",
)


@asynccontextmanager
async def at_work(
    *faults: Fault, per_day: int = 8, nodes: int = 1, seed: int = 1, **changes: Any
) -> AsyncIterator[Stage]:
    """The newsroom on an empty store; it crawls when it is told to, or once a year."""
    clock = VirtualClock()
    sandbox = Sandbox(
        seed=seed,
        clock=clock,
        news=NewsOptions(articles_per_day=per_day),
        ai=AiOptions(),
        faults=faults,
    )
    tap = Tap(sandbox.wire())
    newsroom = Newsroom(replace(QUICK, **changes), clock=clock, wire=tap)
    async with newsroom.online(), running(newsroom.app, nodes=nodes, **newsroom.terms) as rig:
        yield Stage(newsroom, sandbox, rig, tap)
