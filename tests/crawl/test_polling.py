"""Polled pages are asked for conditionally, by what their last visit left in the store."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dure
from dure.crawl import Crawler, Page, Request, Spider
from dure.fetch import Call, FetchPolicy, Manners
from dure.testing import in_virtual_time, running
from dure.testing.web import FakeReply, FakeWeb
from dure_sandbox.sandbox import Sandbox
from dure_sandbox.shop.site import ShopOptions

SHOP = "http://shop.example"
POLICY = FetchPolicy(allow=("127.0.0.0/8",), manners=Manners(delay=0.0, concurrency=4))


class ConditionalWeb(FakeWeb):
    """A web that answers 304 to whoever has its page already."""

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self.answered: list[tuple[str, int]] = []

    async def send(self, call: Call) -> FakeReply:
        reply = await super().send(call)
        if reply.headers.get("ETag", "") == call.headers.get("If-None-Match"):
            reply = FakeReply(304, "", {"ETag": reply.headers["ETag"]})
        if not call.url.endswith("/robots.txt"):
            self.answered.append((call.url, reply.status))
        return reply


@in_virtual_time
async def test_a_polled_page_that_has_not_changed_is_not_sent_and_not_parsed(
    links: Any, crawler_of: Any
) -> None:
    """A 304 costs no parse; what is polled goes on being polled, also by the next process."""
    version = [1]
    parsed: list[str] = []

    def page(url: str) -> tuple[int, str, dict[str, str]]:
        paths = [f"/item/{n}" for n in range(version[0])]
        return 200, links(*paths), {"ETag": f'"{version[0]}"'}

    web = ConditionalWeb(page)
    spider = Spider(
        "news", lambda: [Request(f"{SHOP}/list", listing, again=True)], known_across_runs=True
    )

    @spider.stage
    def listing(page: Page) -> Iterator[object]:
        parsed.append(page.url)
        yield page.follow("a", item)
        yield Request(page.url, listing, again=True, delay=60.0)

    @spider.stage
    def item(page: Page) -> None:
        """Nothing to take."""

    app, crawler = crawler_of(web, spider)
    async with running(app) as t:
        await crawler.begin("news")
        await t.advance("210s")
        assert len(web.asked("/list")) == 4
        assert len(parsed) == 1
        assert [status for url, status in web.answered if "/list" in url] == [200, 304, 304, 304]

        version[0] = 3
        await t.advance("60s")
        assert len(parsed) == 2
        assert sorted(web.asked("/item/")) == [f"{SHOP}/item/{n}" for n in range(3)]
        assert await t.sql("select etag from dure_visit") == [('"3"',)]


@in_virtual_time
async def test_a_fresh_run_that_remembers_nothing_parses_unchanged_pages(
    links: Any, crawler_of: Any
) -> None:
    """What another run saw must not keep this one from following its links."""
    web = ConditionalWeb(lambda url: (200, links("/item/1"), {"ETag": '"1"'}))
    spider = Spider("shop", lambda: [Request(f"{SHOP}/list", listing, again=True)])

    @spider.stage
    def listing(page: Page) -> Iterator[object]:
        yield page.follow("a", item)

    @spider.stage
    def item(page: Page) -> None:
        """Nothing to take."""

    app, crawler = crawler_of(web, spider)
    async with running(app) as t:
        for session in ("one", "two"):
            await crawler.begin("shop", session=session)
            await t.run_until_idle()

    assert [status for _, status in web.answered] == [200] * 4


@pytest.mark.process
async def test_a_page_that_an_earlier_process_saw_is_answered_not_modified(tmp_path: Path) -> None:
    """Conditional GET against the sandbox: the second run parses nothing."""
    parsed: list[str] = []
    async with Sandbox(shop=ShopOptions(products=3, page_bytes=2000)) as box:
        urls = [f"{box.shop.url}/products/{n}" for n in range(3)]
        for _ in range(2):
            spider = Spider(
                "shop",
                lambda: [Request(url, product, again=True) for url in urls],
                known_across_runs=True,
            )

            @spider.stage
            def product(page: Page) -> Iterator[object]:
                parsed.append(page.url)
                yield from ()

            app = dure.App(str(tmp_path / "shop.db"))
            crawler = Crawler(app, spider, policy=POLICY)
            async with app:
                await crawler.begin(spider, again=True)
                await app.drain()
        statuses = [each.status for each in box.log.find(site="shop", path="/products/*")]

    assert sorted(parsed) == urls
    assert sorted(statuses) == [200, 200, 200, 304, 304, 304]
