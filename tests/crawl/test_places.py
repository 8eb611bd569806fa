"""C4: a resource that is full holds back the work that needs it, and no other."""

import asyncio
from collections.abc import Iterator

import pytest

import dure
from dure.core.adaptive import Bounds
from dure.crawl import Crawler, Page, Spider
from dure.fetch import Fetcher, FetchPolicy, Manners
from dure.testing import in_virtual_time, running
from dure.testing.virtual import VirtualClock
from dure.testing.web import FakeWeb

SHOP = "http://shop.example"
PAGES = 20


def _spider(needs: str) -> Spider:
    """Pages that need nothing special, and pages that need a resource."""
    spider = Spider("shop", f"{SHOP}/start")

    @spider.stage
    def start(page: Page) -> Iterator[object]:
        yield page.follow("a.light", light)
        yield page.follow("a.heavy", heavy)

    @spider.stage(uses=("http",))
    def light(page: Page) -> None:
        """Nothing to take."""

    @spider.stage(uses=("http", needs))
    def heavy(page: Page) -> None:
        """Nothing to take."""

    return spider


def _links() -> str:
    found = (
        f'<a class="{k}" href="/{k}/{n}">x</a>' for k in ("light", "heavy") for n in range(PAGES)
    )
    return f"<html><body>{''.join(found)}</body></html>"


@pytest.mark.parametrize(("needs", "fetched"), [("memory", 0), ("db", PAGES), ("cpu", PAGES)])
@in_virtual_time
async def test_a_full_resource_holds_back_only_the_pages_and_the_step_that_need_it(
    needs: str, fetched: int
) -> None:
    """Work of another kind holds every place for a minute, and then gives them back."""
    web = FakeWeb(lambda url: (200, _links()))
    app = dure.App(":memory:")
    policy = FetchPolicy(manners=Manners(delay=0.0, concurrency=8))
    crawler = Crawler(app, _spider(needs), fetcher=Fetcher(policy, wire=web, clock=VirtualClock()))

    @app.kind(uses=needs, timeout="5m")
    async def report(number: int) -> int:
        await asyncio.sleep(60.0)
        return number

    async with running(app, nodes=0) as t:
        # A place of http is free again once its page is fetched: fewer of them than wait will do.
        node = await t.start_node(slots=64, resources={"http": 16, "cpu": 2, "memory": 2, "db": 2})
        for number in range(2):
            await t.enqueue(report(number))
        await t.until(lambda: node.pacer.resources[needs].room() == 0)
        bounds = crawler.presences[0].meter.bounds
        bounds.update((name, Bounds(1, each.high // 4)) for name, each in list(bounds.items()))
        await crawler.begin("shop")
        await t.advance("30s")

        assert len(web.asked("/light/")) == PAGES
        assert len(await t.jobs("kind:shop.light state:success")) == PAGES
        assert len(web.asked("/heavy/")) == fetched
        assert await t.jobs("kind:shop.heavy state:success") == []

        await t.advance("60s")
        assert len(web.asked("/heavy/")) == PAGES
        assert len(await t.jobs("kind:shop.heavy state:success")) == PAGES
        assert all(each.used == 0 for each in node.pacer.resources.values())


@in_virtual_time
async def test_no_more_pages_are_fetched_at_once_than_there_are_places_of_http() -> None:
    """C4: whatever the host allows; and a place that comes free is used at once."""
    web = FakeWeb(lambda url: (200, _links()), latency=0.5)
    app = dure.App(":memory:")
    policy = FetchPolicy(manners=Manners(delay=0.0, concurrency=32))
    crawler = Crawler(app, _spider("db"), fetcher=Fetcher(policy, wire=web, clock=VirtualClock()))

    async with running(app, nodes=0) as t:
        node = await t.start_node(slots=64, resources={"http": 4})
        crawler.presences[0].meter.bounds["http"] = Bounds(1, 4)
        await crawler.begin("shop")
        await t.run_until_idle()

        times = [*web.times("/light/"), *web.times("/heavy/")]
        times.sort()
        assert len(times) == 2 * PAGES
        assert all(later - at > 0.499 for at, later in zip(times, times[4:], strict=False))
        assert times[-1] - times[0] < 0.5 * (2 * PAGES / 4) + 0.5
        assert all(each.used == 0 for each in node.pacer.resources.values())
