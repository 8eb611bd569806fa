"""Polled pages over HTTP: what a run learnt of a page serves the runs of later processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import dure
from dure.crawl import Crawler, Page, Request, Spider
from dure.fetch import FetchPolicy, Manners
from dure_sandbox.sandbox import Sandbox
from dure_sandbox.shop.site import ShopOptions

POLICY = FetchPolicy(allow=("127.0.0.0/8",), manners=Manners(delay=0.0, concurrency=4))


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
