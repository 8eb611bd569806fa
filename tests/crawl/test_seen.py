"""C6: known addresses are told apart cheaply, and a false positive never loses a page."""

import tracemalloc
from typing import Any

import pytest

from dure.crawl.address import Addresses, address_of
from dure.crawl.seen import Seen, digest_of
from dure.testing import in_virtual_time, running
from dure.testing.web import FakeWeb


def test_an_address_is_new_once_and_doubtful_until_it_is_confirmed() -> None:
    seen = Seen()
    digest = digest_of("shop.item", "http://a.example/1")

    assert seen.sort([digest]) == ([digest], [])
    assert seen.sort([digest]) == ([], [digest])
    seen.confirm(digest)
    assert seen.sort([digest]) == ([], [])
    assert (seen.new, seen.known, seen.asked) == (1, 1, 1)


def test_one_address_is_another_page_for_another_stage() -> None:
    assert digest_of("shop.list", "http://a.example/") != digest_of(
        "shop.item", "http://a.example/"
    )


def test_the_filter_grows_and_forgets_nothing() -> None:
    seen = Seen(filter_min=100)
    digests = [digest_of("s", str(n)) for n in range(1000)]

    new, doubtful = seen.sort(digests)

    assert len(new) + len(doubtful) == 1000
    assert len(doubtful) < 5
    assert seen.sort(digests) == ([], digests)


def test_what_leaves_the_exact_set_is_looked_up_again() -> None:
    seen = Seen(exact_max=10)
    digests = [digest_of("s", str(n)) for n in range(35)]
    for digest in digests:
        seen.claimed(digest)

    _, doubtful = seen.sort(digests)

    assert set(doubtful) <= set(digests[:20])
    assert len(doubtful) >= 15


@pytest.mark.slow
def test_a_million_known_addresses_take_less_than_40_megabytes() -> None:
    digests = (digest_of("s", f"http://shop.example/item/{n}") for n in range(1_000_000))
    tracemalloc.start()
    seen = Seen()
    for digest in digests:
        seen.claimed(digest)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    filters = sum(each.size_in_bits // 8 for each in seen._filters)

    assert held + filters < 40_000_000


def test_links_are_resolved_by_the_page_they_stand_on() -> None:
    addresses = Addresses()

    found = addresses.resolve(
        "http://a.example/list/1",
        "http://a.example",
        ["/item/2?b=1&a=2", "next", "//b.example/x", "mailto:x@y.z", "#top", "/item/2?a=2&b=1"],
        "s",
    )

    assert [each.url for each in found] == [
        "http://a.example/item/2?a=2&b=1",
        "http://a.example/list/next",
        "http://b.example/x",
        "http://a.example/list/1",
        "http://a.example/item/2?a=2&b=1",
    ]
    assert found[0].digest == found[-1].digest
    assert [each.host for each in found][2] == "b.example"
    assert addresses.refused == 1
    again = addresses.resolve("http://a.example/", "http://a.example", ["/item/2?b=1&a=2"], "s")
    assert again == [found[0]]


def test_a_link_that_is_no_address_is_refused() -> None:
    assert address_of("http://a.example/", "javascript:alert(1)", "s") is None


@in_virtual_time
async def test_a_filter_that_says_known_to_everything_loses_no_page(
    shop_page: Any, shop_spider: Any, crawler_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = FakeWeb(shop_page(40))
    app, crawler = crawler_of(web, shop_spider())
    monkeypatch.setattr(Seen, "sort", lambda _, digests: ([], list(digests)))
    async with running(app) as t:
        await crawler.begin("shop")
        await t.run_until_idle()

        assert await t.sql("select count(*) from dure_item") == [(40,)]
        assert len(web.asked("/item/")) == 40


@in_virtual_time
async def test_a_restart_fills_the_filter_from_the_store(
    shop_page: Any, shop_spider: Any, crawler_of: Any
) -> None:
    web = FakeWeb(shop_page(40))
    app, crawler = crawler_of(web, shop_spider())
    async with running(app) as t:
        run = await crawler.begin("shop")
        await t.run_until_idle()
        spider = crawler.spiders["shop"]
        crawler._courses.clear()
        course = await crawler.course(spider, run.session)
        await t.advance("1s")

        new, doubtful = course.seen.sort([digest_of("shop.product", "http://shop.example/item/3")])
        assert (len(new), len(doubtful)) == (0, 1)
        assert await course.known(doubtful) == set(doubtful)
