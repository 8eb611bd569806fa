"""Spiders, shops and the webs they stand in, for tests in virtual time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import dure
from dure.crawl import Crawler, Page, Spider
from dure.crawl.load import CALM
from dure.fetch import Fetcher, FetchPolicy, Manners
from dure.testing.virtual import VirtualClock

SHOP = "http://shop.example"


@dataclass
class Product:
    sku: str
    name: str


def _shop_page(count: int, per_list: int = 10, *, all_links: bool = False) -> Any:
    """A shop of `count` products on list pages of `per_list`."""

    def page(url: str) -> tuple[int, str]:
        path = url.split("/", 3)[3]
        kind, _, number = path.partition("/")
        n = int(number or 0)
        if kind == "list":
            body = "".join(
                f'<a class="p" href="/item/{i}">x</a>'
                for i in range(n * per_list, min((n + 1) * per_list, count))
            )
            if (n + 1) * per_list < count:
                body += f'<a class="next" href="/list/{n + 1}">next</a>'
            return 200, f"<html><body>{body}</body></html>"
        if kind == "item" and n < count:
            more = ""
            if all_links:
                more = "".join(
                    f'<a class="r" href="/item/{(n * 7 + k) % count}">r</a>' for k in range(20)
                )
            return 200, f'<html><body><h1>Name {n}</h1><b class="sku">S{n}</b>{more}</body></html>'
        return 404, ""

    return page


def _shop_spider(name: str = "shop", start: str = f"{SHOP}/list/0", **options: Any) -> Spider:
    spider = Spider(name, start, **options)

    @spider.stage
    def listing(page: Page) -> Iterator[object]:
        yield page.follow("a.p", product)
        yield page.follow("a.next", listing)

    @spider.stage
    def product(page: Page) -> Iterator[object]:
        yield Product(page.text(".sku"), page.text("h1"))
        yield page.follow("a.r", product)

    spider.item(key="sku")(Product)
    return spider


def _crawler_of(web: Any, *spiders: Spider, policy: FetchPolicy | None = None) -> Any:
    """An app and a crawler on a fake web, for virtual time."""
    app = dure.App(":memory:")
    clock = VirtualClock()
    rules = policy or FetchPolicy(manners=Manners(delay=0.0, concurrency=8))
    crawler = Crawler(app, *spiders, fetcher=Fetcher(rules, wire=web, clock=clock))
    crawler.read_load = lambda _now: CALM  # else a busy machine would shape virtual time
    return app, crawler


def _links(*hrefs: str) -> str:
    """A page with links."""
    return "<html><body>" + "".join(f'<a href="{href}">x</a>' for href in hrefs) + "</body></html>"


@pytest.fixture(name="links")
def links_fixture() -> Any:
    return _links


@pytest.fixture(name="shop_page")
def shop_page_fixture() -> Any:
    return _shop_page


@pytest.fixture(name="shop_spider")
def shop_spider_fixture() -> Any:
    return _shop_spider


@pytest.fixture(name="crawler_of")
def crawler_of_fixture() -> Any:
    return _crawler_of


@pytest.fixture(name="product_type")
def product_fixture() -> Any:
    return Product
