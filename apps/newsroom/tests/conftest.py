"""Where the newsroom's tests over real HTTP get a store and a sandbox from."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from dure.core.filter import JobFilter
from dure.testing.postgres import OwnServer
from dure.web import serve
from dure_sandbox import Fault, NewsOptions, Sandbox
from newsroom.program import Newsroom
from newsroom.rehearsal import QUICK
from newsroom.site import site_of


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[OwnServer]:
    with OwnServer() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty store of the test's own, on each kind of store."""
    if request.param == "sqlite":
        yield str(tmp_path / "newsroom.db")
        return
    with request.getfixturevalue("postgres_server").database() as url:
        yield url


class Desk:
    """A newsroom at work over HTTP, and what a test does with it."""

    def __init__(self, newsroom: Newsroom, sandbox: Sandbox, http: aiohttp.ClientSession) -> None:
        self.newsroom = newsroom
        self.sandbox = sandbox
        self.http = http

    async def settled(self, wanted: str, count: int | None = None) -> int:
        """Wait until so many jobs, or any, are as a filter says."""
        async with asyncio.timeout(60):
            while True:
                found = await self.newsroom.app.insights.count(JobFilter.parse(wanted))
                if found.jobs == count or (count is None and found.jobs):
                    return found.jobs
                await asyncio.sleep(0.05)

    async def text(self, path: str) -> str:
        async with self.http.get(path) as answer:
            assert answer.status == 200, path
            return await answer.text()

    async def status(self, method: str, path: str, token: str | None = None) -> int:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with self.http.request(method, path, headers=headers) as answer:
            return answer.status


OpenDesk = Callable[..., AbstractAsyncContextManager[Desk]]


@pytest.fixture
def open_desk() -> OpenDesk:
    @asynccontextmanager
    async def opened(store: str, *faults: Fault, **changes: Any) -> AsyncIterator[Desk]:
        async with Sandbox(news=NewsOptions(articles_per_day=8), faults=faults) as sandbox:
            settings = replace(
                QUICK,
                store=store,
                site=sandbox.news.url,
                ai_url=f"{sandbox.ai.url}/v1",
                allow=("127.0.0.0/8",),
                news_rate="1000/s",
                urgent_words=("한",),
            )
            newsroom = Newsroom(replace(settings, **changes))
            async with (
                newsroom.working() as node,
                serve(site_of(newsroom, node)) as url,
                aiohttp.ClientSession(url) as http,
            ):
                yield Desk(newsroom, sandbox, http)

    return opened


@pytest.fixture
async def desk(open_desk: OpenDesk, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(str(tmp_path / "newsroom.db")) as opened:
        yield opened
