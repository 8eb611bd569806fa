"""What stages read: selectors, feeds, sitemaps, sheets; and what comes out: exports, settings."""

import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from multidict import CIMultiDict
from pyarrow import parquet

from dure.core.errors import ConfigError, KindInvalid, NotFound, SettingInvalid
from dure.crawl import Missing, Page, Spider
from dure.crawl.export import export
from dure.crawl.feed import Unreadable, read_feed, read_sitemap
from dure.crawl.sheet import policy_of, read_sheet, spider_of
from dure.crawl.tuning import Tuning, change, set_tuning
from dure.fetch.page import Page as Fetched
from dure.testing import in_virtual_time, running
from dure.testing.web import FakeWeb

URL = "http://a.example/list?page=1&sort=new"


def _page(body: str | bytes, content_type: str = "text/html; charset=utf-8") -> Page:
    raw = body.encode() if isinstance(body, str) else body
    headers = CIMultiDict({"Content-Type": content_type})
    return Page(Fetched(asked=URL, url=URL, status=200, headers=headers, body=raw))


def test_texts_are_tidy_and_missing_ones_are_named() -> None:
    page = _page("<h1>  Two\n words <b>more</b></h1><a href='x'>1</a><a class='n' href='/y'>2</a>")

    assert page.text("h1") == "Two words more"
    assert page.text("h2", "none") == "none"
    assert page.texts("a, .n") == ["1", "2"]
    assert page.links("a, .n") == ["http://a.example/x", "http://a.example/y"]
    assert page.url_with(page=2, sort=None) == "http://a.example/list?page=2"
    with pytest.raises(Missing, match=r"'h2' at http://a\.example"):
        page.text("h2")


def test_a_page_in_an_old_korean_charset_reads_like_any_other() -> None:
    body = "<h1>경제 기사</h1>".encode("cp949")

    assert _page(body, "text/html; charset=euc-kr").text("h1") == "경제 기사"


def test_a_declared_base_moves_relative_links() -> None:
    page = _page("<head><base href='/deep/'></head><a href='x'>1</a>")

    assert page.links() == ["http://a.example/deep/x"]


def test_sitemaps_and_their_indexes_are_read_packed_or_not() -> None:
    xml = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
    <url><loc>http://a.example/1</loc></url><url><loc> /2 </loc></url></urlset>"""
    index = b"<sitemapindex><sitemap><loc>http://a.example/s.xml</loc></sitemap></sitemapindex>"

    assert read_sitemap(gzip.compress(xml), URL).pages == [
        "http://a.example/1",
        "http://a.example/2",
    ]
    assert read_sitemap(index, URL).sitemaps == ["http://a.example/s.xml"]
    with pytest.raises(Unreadable, match="not a sitemap"):
        read_sitemap(b"<html/>", URL)


def test_feeds_of_both_families_are_read() -> None:
    rss = b"""<rss><channel><item><title>One</title><link>http://a.example/1</link>
    <pubDate>Mon, 01 Jan 2026 00:00:00 GMT</pubDate></item></channel></rss>"""
    atom = b"""<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>Two</title>
    <link rel="self" href="/self"/><link href="/2"/><updated>2026-01-01</updated></entry></feed>"""

    (one,), (two,) = read_feed(rss, URL), read_feed(atom, URL)

    assert (one.url, one.title) == ("http://a.example/1", "One")
    assert (two.url, two.published) == ("http://a.example/2", "2026-01-01")


def test_an_entity_bomb_stays_folded() -> None:
    bomb = b"""<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
    <rss><channel><item><link>&b;</link></item></channel></rss>"""

    assert all(len(entry.url) < 100 for entry in read_feed(bomb, URL))
    packed = gzip.compress(b" " * 60_000_000)
    with pytest.raises(Unreadable, match="unpacks to more"):
        read_sitemap(packed, URL)


SHEET = """
name = "shop"
start = ["http://shop.example/list/0"]
[fetch]
delay = 0.0
[stages.listing]
follow = [{css = "a.p", stage = "product"}, {css = "a.next", stage = "listing"}]
[stages.product]
item = "Product"
key = "sku"
[stages.product.fields]
sku = ".sku"
name = "h1"
image = {css = "img", attr = "src", required = false}
"""


@in_virtual_time
async def test_a_shop_is_crawled_by_a_file_and_its_items_exported(
    tmp_path: Path, shop_page: Any, crawler_of: Any
) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(SHEET)
    sheet = read_sheet(file)
    web = FakeWeb(shop_page(25))
    app, crawler = crawler_of(web, spider_of(sheet), policy=policy_of(sheet))
    async with running(app) as t:
        run = await crawler.begin("shop")
        await t.run_until_idle()
        counts = [
            await export(t.store, run.session, tmp_path / f"items.{form}")
            for form in ("jsonl", "csv", "parquet")
        ]

        lost = tmp_path / "none" / "items.csv"
        with pytest.raises(ConfigError, match="cannot be written"):
            await export(t.store, run.session, lost)
        with pytest.raises(NotFound, match="no items of type 'Produkt'"):
            await export(t.store, run.session, tmp_path / "items.csv", kind="Produkt")

    assert counts == [25, 25, 25]
    lines = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert sorted(line["sku"] for line in lines) == sorted(f"S{n}" for n in range(25))
    with (tmp_path / "items.csv").open(newline="") as opened:
        assert {row["name"] for row in csv.DictReader(opened)} == {f"Name {n}" for n in range(25)}
    table = parquet.read_table(tmp_path / "items.parquet")
    assert table.num_rows == 25


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name = ", "not TOML"),
        (SHEET.replace('stage = "product"', 'stage = "produkt"'), "'produkt', which does not"),
        (SHEET.replace('item = "Product"', ""), "needs both"),
        (SHEET.replace('key = "sku"', 'key = "id"'), "no field 'id'"),
        (SHEET.replace("delay = 0.0", "delay = true"), "not a spider"),
        (SHEET.replace("a.next", "a[["), "is no CSS selector"),
        (SHEET.replace('"h1"', '""'), "is no CSS selector"),
    ],
)
def test_a_wrong_file_is_refused_saying_what_is_wrong(
    tmp_path: Path, text: str, problem: str
) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(text)

    with pytest.raises(ConfigError, match=problem):
        read_sheet(file)


def test_export_refuses_forms_it_does_not_know() -> None:
    with pytest.raises(KindInvalid, match="has no stage"):
        _ = Spider("empty").first


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("product.queue_max", "0", "1..100000"),
        ("product.queue_max", "many", "Give a number"),
        ("product.crew_high", "2.5", "whole number"),
        ("host.concurrency", "1.5", "whole number"),
        ("product.retry_attempts", "2.5", "whole number"),
        ("http", "0.5", "whole number"),
        ("http", "nan", "1..100000"),
        ("produkt.queue_max", "5", "no setting 'produkt.queue_max'"),
        ("host.delay", "-1", "cannot be"),
        ("product.retry_factor", "0.5", "cannot retry like that"),
        ("warp", "9", "no setting 'warp'"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(key: str, value: str, problem: str) -> None:
    """C12."""
    with pytest.raises(SettingInvalid, match=problem):
        change(Tuning(), {"product"}, key, value)


def test_a_crew_whose_bounds_contradict_each_other_is_refused() -> None:
    """C12."""
    tuning = change(Tuning(), {"product"}, "product.crew_high", "4")

    with pytest.raises(SettingInvalid, match="must not exceed"):
        change(tuning, {"product"}, "product.crew_low", "5")


@in_virtual_time
async def test_settings_are_taken_up_while_the_crawl_runs(
    shop_page: Any, shop_spider: Any, crawler_of: Any
) -> None:
    """C12."""
    web = FakeWeb(shop_page(100))
    app, crawler = crawler_of(web, shop_spider())
    async with running(app) as t:
        await crawler.begin("shop")
        for key, value in (
            ("host.delay", "2s"),
            ("product.crew_high", "9"),
            ("product.queue_max", "7"),
            ("product.retry_attempts", "3"),
            ("http", "11"),
        ):
            await set_tuning(t.store, "shop", key, value, by="test")
        await t.advance("3s")
        presence = crawler.presences[0]

        assert presence.lines["shop.product"].crew.high == 9
        assert presence.lines["shop.product"].parse.queue.capacity == 7
        assert t.node.kinds["shop.product"].terms.retry.max_attempts == 3
        assert t.node.pacer.resources["http"].size == 11
        assert crawler.host("shop.example").manners.delay == 2.0
        (entry, *_) = await t.insights.audit()
        assert entry.command == "crawl.set"


@in_virtual_time
async def test_what_a_stage_must_not_yield_ends_as_a_dead_letter(crawler_of: Any) -> None:
    spider = Spider("odd", "http://shop.example/")

    @spider.stage
    def start(page: Page) -> Iterator[object]:
        yield 42

    app, crawler = crawler_of(FakeWeb(lambda url: (200, "x")), spider)
    async with running(app) as t:
        await crawler.begin("odd")
        await t.run_until_idle()

        (failed,) = await t.jobs("state:failed")
        assert "yielded int" in (failed.error or "")
