"""C14: several nodes on one crawl; a host belongs to one of them at a time."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from dure.crawl import Page, Spider
from dure.fetch import FetchPolicy, Manners
from dure.scripts import cells
from dure.testing import in_virtual_time, running
from dure.testing.web import FakeWeb

HOSTS = 1000
PAGES = 20
SETTLED_SECONDS = 6.0
"""By then the number of workers has followed what a thousand hosts need."""


def _many_hosts(name: str = "wide", hosts: int = HOSTS, pages: int = PAGES) -> Spider:
    spider = Spider(name, [f"http://h{n}.example/0" for n in range(hosts)])

    @spider.stage
    def page(here: Page) -> Iterator[object]:
        number = int(here.url.rpartition("/")[2])
        if number + 1 < pages:
            yield here.request(f"/{number + 1}", page)

    return spider


async def _crawl(crawler_of: Any, dead: set[str], seconds: int) -> tuple[FakeWeb, Counter[str]]:
    web = FakeWeb(lambda url: (200, "<p>x</p>"), dead=dead)
    policy = FetchPolicy(manners=Manners(delay=1.0, concurrency=4))
    app, crawler = crawler_of(web, _many_hosts(hosts=HOSTS), policy=policy)
    async with running(app, slots=200) as t:
        await crawler.begin("wide")
        await t.advance(f"{seconds}s")
    began = min(at for at, _ in web.log)
    steady = (url for at, url in web.log if at >= began + SETTLED_SECONDS)
    return web, Counter(url.split("/")[2] for url in steady)


@pytest.mark.slow
@in_virtual_time
async def test_a_dead_host_among_a_thousand_costs_the_others_less_than_1_percent(
    crawler_of: Any,
) -> None:
    _, healthy = await _crawl(crawler_of, set(), 15)
    web, counts = await _crawl(crawler_of, {"h7.example"}, 15)

    before = sum(count for host, count in healthy.items() if host != "h7.example")
    after = sum(count for host, count in counts.items() if host != "h7.example")
    assert after >= 0.99 * before
    assert counts["h7.example"] <= 4
    for host in ("h0.example", "h999.example"):
        gaps = [b - a for a, b in pairwise(web.times(f"//{host}/"))]
        assert min(gaps) >= 0.999


@in_virtual_time
async def test_two_nodes_share_the_hosts_and_each_host_keeps_its_pace(crawler_of: Any) -> None:
    web = FakeWeb(lambda url: (200, "<p>x</p>"))
    policy = FetchPolicy(manners=Manners(delay=1.0, concurrency=4))
    app, crawler = crawler_of(web, _many_hosts(hosts=20, pages=40), policy=policy)
    async with running(app, nodes=2) as t:
        await crawler.begin("wide")
        await t.advance("30s")
        owned = [
            sum(door.is_ours for door in presence.bench.doors.values())
            for presence in crawler.presences
        ]
        holders = await t.store.read(cells.read("slots"))

        assert sorted(owned) == [10, 10]
        assert sum(text != "{}" for name, text in holders.items() if name.startswith("host:")) == 20
    for number in range(20):
        gaps = [b - a for a, b in pairwise(web.times(f"//h{number}.example/"))]
        assert len(gaps) > 10
        assert min(gaps) >= 0.999


@in_virtual_time
async def test_the_hosts_of_a_node_that_leaves_go_on_at_the_other(crawler_of: Any) -> None:
    web = FakeWeb(lambda url: (200, "<p>x</p>"))
    policy = FetchPolicy(manners=Manners(delay=1.0, concurrency=4))
    app, crawler = crawler_of(web, _many_hosts(hosts=6, pages=30), policy=policy)
    async with running(app, nodes=2) as t:
        await crawler.begin("wide")
        await t.advance("10s")
        await t.nodes.pop(0).stop()
        await t.until(lambda: len(web.log) == 180)


@in_virtual_time
async def test_what_a_host_has_taught_outlives_its_node(crawler_of: Any) -> None:
    """A host that said `Retry-After: 600` is not asked by the next owner before that."""
    web = FakeWeb(lambda url: (429, "", {"Retry-After": "600"}))
    spider = _many_hosts(hosts=1, pages=1)
    app, crawler = crawler_of(web, spider)
    async with running(app) as t:
        await crawler.begin("wide")
        await t.until(lambda: len(web.log) == 1)
        await t.advance("5s")
        await t.nodes.pop(0).stop()
        host = crawler.host("h0.example")
        crawler.fetcher._hosts._known.clear()
        await t.start_node()
        await t.advance("9m")
        assert len(web.log) == 1
        assert crawler.host("h0.example") is not host
        await t.advance("3m")
        assert len(web.log) == 2
