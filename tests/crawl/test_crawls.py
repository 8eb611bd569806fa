"""Whole crawls in virtual time on a web in memory."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

import dure
from dure.core.errors import NotFound
from dure.crawl import Page, Request, Spider
from dure.crawl.figures import status_of
from dure.fetch import FetchPolicy, Manners
from dure.testing import Rig, in_virtual_time, running
from dure.testing.web import FakeWeb

SHOP = "http://shop.example"


def answer(page: Any, url: str) -> tuple[int, str]:
    status, body = page(url)
    return status, body


async def _items(t: Rig, session: str = "shop-1") -> list[str]:
    rows = await t.sql("select key from dure_item where session = ? order by key", (session,))
    return [row[0] for row in rows]


@in_virtual_time
async def test_every_product_of_a_shop_is_saved_once_and_fetched_once(
    shop_page: Any, shop_spider: Any, crawler_of: Any
) -> None:
    """C1, C2, C6."""
    web = FakeWeb(shop_page(95, all_links=True))
    app, crawler = crawler_of(web, shop_spider())
    async with running(app) as t:
        run = await crawler.begin("shop")
        await t.run_until_idle()

        assert run.session == "shop-1"
        assert sorted(f"S{n}" for n in range(95)) == await _items(t)
        asked = web.asked("/item/")
        assert len(asked) == len(set(asked)) == 95
        jobs = await t.jobs("kind:shop.product")
        assert {job.session for job in jobs} == {"shop-1"}
        assert all(job.parent is not None for job in jobs)


@in_virtual_time
async def test_a_host_is_never_asked_before_its_delay_is_over(
    shop_page: Any, shop_spider: Any, crawler_of: Any
) -> None:
    """C12 rates: one start a second, whoever waits."""
    web = FakeWeb(shop_page(30))
    policy = FetchPolicy(manners=Manners(delay=1.0, concurrency=4))
    app, crawler = crawler_of(web, shop_spider(), policy=policy)
    async with running(app, nodes=2) as t:
        await crawler.begin("shop")
        await t.until(lambda: len(web.log) == 33)

    gaps = [b - a for a, b in pairwise(sorted(at for at, _ in web.log))]
    assert min(gaps) >= 0.999


@in_virtual_time
async def test_nothing_is_claimed_before_its_host_is_due(
    shop_page: Any, shop_spider: Any, crawler_of: Any
) -> None:
    """Politeness costs no attempts and no slots: what waits for its host waits in the store."""
    web = FakeWeb(shop_page(30))
    policy = FetchPolicy(manners=Manners(delay=10.0, concurrency=4))
    app, crawler = crawler_of(web, shop_spider(), policy=policy)
    async with running(app) as t:
        await crawler.begin("shop")
        await t.advance("65s")

        running_now = await t.jobs("state:running")
        assert len(running_now) <= 1
        assert all(job.attempt <= 1 for job in await t.jobs())


@in_virtual_time
async def test_a_stage_that_fails_keeps_the_page_so_that_a_replay_fetches_nothing(
    shop_page: Any, crawler_of: Any, product_type: Any
) -> None:
    """C5, C7: the dead letter is the parsing, not the page."""
    web = FakeWeb(shop_page(3))
    spider = Spider("shop", f"{SHOP}/item/1")
    is_broken = [True]

    @spider.stage
    def product(page: Page) -> Iterator[object]:
        if is_broken[0]:
            raise ValueError("the site changed")
        yield product_type(page.text(".sku"), page.text("h1"))

    app, crawler = crawler_of(web, spider)
    async with running(app) as t:
        await crawler.begin("shop")
        await t.run_until_idle()
        (failed,) = await t.jobs("state:failed")
        assert failed.kind == "shop.product.parse"
        assert "the site changed" in (failed.error or "")

        is_broken[0] = False
        await t.commands.retry([failed.id], by="test")
        await t.run_until_idle()

        assert await _items(t) == [f"{SHOP}/item/1#0"]
        assert len(web.log) == 1
        assert await t.sql("select count(*) from dure_body") == [(0,)]


@in_virtual_time
async def test_a_failed_fetch_is_tried_again_with_high_priority_and_jitter(
    shop_page: Any, shop_spider: Any, crawler_of: Any
) -> None:
    """C5, C8."""
    fails = [2]

    def page(url: str) -> tuple[int, str]:
        if fails[0]:
            fails[0] -= 1
            return 500, ""
        return answer(shop_page(1), url)

    web = FakeWeb(page)
    spider = shop_spider(start=f"{SHOP}/item/0")
    spider.stages["listing"].parse = spider.stages["product"].parse
    app, crawler = crawler_of(web, spider)
    async with running(app) as t:
        await crawler.begin("shop")
        await t.until(lambda: len(web.log) == 1)
        await t.advance("1s")
        (waiting,) = await t.jobs("state:retry_wait")
        assert waiting.priority == dure.Priority.HIGH
        await t.advance("2m")

        assert await _items(t) == ["S0"]
        first, second, third = web.times("/item/0")
        assert 1.0 <= second - first <= 2.5
        assert 2.0 <= third - second <= 65.0


@in_virtual_time
async def test_urgent_pages_of_a_host_go_first(links: Any, crawler_of: Any) -> None:
    """C8."""
    web = FakeWeb(lambda url: (200, links("/low/1", "/low/2", "/high/1", "/high/2")))
    spider = Spider("shop", f"{SHOP}/start")

    @spider.stage
    def start(page: Page) -> Iterator[object]:
        yield page.follow('a[href^="/low"]', leaf, priority=dure.Priority.LOW)
        yield page.follow('a[href^="/high"]', leaf, priority=dure.Priority.HIGH)

    @spider.stage
    def leaf(page: Page) -> None:
        """Nothing to take."""

    policy = FetchPolicy(manners=Manners(delay=5.0, concurrency=1))
    app, crawler = crawler_of(web, spider, policy=policy)
    async with running(app) as t:
        await crawler.begin("shop")
        await t.advance("60s")

    order = [url.removeprefix(SHOP) for _, url in web.log]
    assert order[0] == "/start"
    assert {u[:5] for u in order[1:3]} == {"/high"}
    assert {u[:4] for u in order[3:]} == {"/low"}


@in_virtual_time
async def test_a_crawl_pauses_resumes_and_is_cancelled_as_a_session(
    shop_page: Any, shop_spider: Any, crawler_of: Any
) -> None:
    """C10, C11."""
    web = FakeWeb(shop_page(200))
    policy = FetchPolicy(manners=Manners(delay=1.0, concurrency=1))
    app, crawler = crawler_of(web, shop_spider(), policy=policy)
    async with running(app) as t:
        run = await crawler.begin("shop")
        await t.advance("30s")
        await t.commands.pause("session", run.session, by="test")
        await t.advance("5s")
        at_pause = len(web.log)
        await t.advance("60s")
        assert len(web.log) == at_pause
        status = await status_of(t.store, t.insights, run.session)
        assert status.status == "paused"

        await t.commands.resume("session", run.session, by="test")
        await t.advance("30s")
        assert len(web.log) > at_pause
        status = await status_of(t.store, t.insights, "shop")
        assert status.status == "running"
        assert status.pages_per_second > 0
        assert {s.stage for node in status.nodes for s in node.stages} == {
            "shop.listing",
            "shop.product",
        }


@in_virtual_time
async def test_beginning_again_goes_on_and_puts_nothing_in_twice(
    shop_page: Any, shop_spider: Any, crawler_of: Any
) -> None:
    """C7."""
    web = FakeWeb(shop_page(20))
    app, crawler = crawler_of(web, shop_spider())
    async with running(app) as t:
        first = await crawler.begin("shop")
        second = await crawler.begin("shop")
        await t.run_until_idle()
        assert first == second
        assert len(web.log) == 22

        third = await crawler.begin("shop")
        await t.run_until_idle()
        assert third.session == "shop-2"
        assert len(web.log) == 44


@in_virtual_time
async def test_a_spider_that_remembers_across_runs_fetches_only_what_is_new(
    shop_page: Any, crawler_of: Any, product_type: Any
) -> None:
    """C6: persistent."""
    size = [5]
    web = FakeWeb(lambda url: answer(shop_page(size[0]), url))
    spider = Spider(
        "shop", lambda: [Request(f"{SHOP}/list/0", listing, again=True)], known_across_runs=True
    )

    @spider.stage
    def listing(page: Page) -> Iterator[object]:
        yield page.follow("a.p", product)

    @spider.stage
    def product(page: Page) -> Iterator[object]:
        yield product_type(page.text(".sku"), page.text("h1"))

    app, crawler = crawler_of(web, spider)
    async with running(app) as t:
        await crawler.begin("shop")
        await t.run_until_idle()
        size[0] = 7
        await crawler.begin("shop")
        await t.run_until_idle()

    assert len(web.asked("/item/")) == 7
    assert len(web.asked("/list/")) == 2


@in_virtual_time
async def test_other_hosts_and_what_lies_too_deep_are_left_alone(
    links: Any, crawler_of: Any
) -> None:
    web = FakeWeb(lambda url: (200, links("http://elsewhere.example/", f"{url}a", "mailto:x@y.z")))
    spider = Spider("deep", f"{SHOP}/", depth_max=3)

    @spider.stage
    def any_page(page: Page) -> Iterator[object]:
        yield page.follow("a", any_page)

    app, crawler = crawler_of(web, spider)
    async with running(app) as t:
        await crawler.begin("deep")
        await t.run_until_idle()

        assert [u.removeprefix(SHOP) for _, u in web.log] == ["/", "/a", "/aa", "/aaa"]
        course = await crawler.course(spider, "deep-1")
        assert course.outside == 4
        assert course.too_deep == 1


@in_virtual_time
async def test_a_page_whose_commit_fails_loses_none_of_its_links(
    shop_page: Any, shop_spider: Any, crawler_of: Any
) -> None:
    """C6, C7: marked as seen by a page that was not committed, found again by its next try."""
    web = FakeWeb(shop_page(20))
    spider = shop_spider()
    product = spider.stages["product"]
    tries = [0]

    def listing(page: Page) -> Iterator[object]:
        tries[0] += 1
        yield page.follow("a.p", product)
        yield page.follow("a.next", spider.stages["listing"])
        if tries[0] == 1:
            yield dure.Write("insert into nowhere values (1)")

    spider.stages["listing"].parse = listing
    app, crawler = crawler_of(web, spider)
    async with running(app) as t:
        await crawler.begin("shop")
        await t.advance("2m")

        assert len(await _items(t)) == 20


@in_virtual_time
async def test_robots_txt_is_obeyed_without_costing_an_attempt(
    shop_page: Any, shop_spider: Any, crawler_of: Any
) -> None:
    web = FakeWeb(shop_page(3), robots="User-agent: *\nDisallow: /item/\n")
    app, crawler = crawler_of(web, shop_spider())
    async with running(app) as t:
        await crawler.begin("shop")
        await t.run_until_idle()

    assert web.asked("/item/") == []
    assert len(web.asked("/list/")) == 1


@in_virtual_time
async def test_a_run_that_nobody_began_is_refused_by_name(
    shop_spider: Any, crawler_of: Any
) -> None:
    app, _ = crawler_of(FakeWeb(lambda url: (404, "")), shop_spider())
    async with running(app) as t:
        with pytest.raises(NotFound, match="no crawl 'other'"):
            await status_of(t.store, t.insights, "other")
