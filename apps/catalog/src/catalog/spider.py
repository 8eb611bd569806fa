"""The five stages: a list page fetched and parsed, a product fetched, parsed and saved.

    FetchListPage → ParseListPage → FetchProductDetail → ParseProductDetail → SaveProduct

Each has a bounded queue, workers and figures of its own. A page goes through its stages as one
durable job, which commits with what it found; a page that cannot be parsed is kept and becomes
a job of its own, so that it is never fetched again for it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import dure
from catalog.product import read_product, save
from dure.crawl import Crew, Missing, Page, Spider

NAME: Final = "catalog"
STAGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "FetchListPage": f"{NAME}.list.fetch",
        "ParseListPage": f"{NAME}.list.parse",
        "FetchProductDetail": f"{NAME}.product.fetch",
        "ParseProductDetail": f"{NAME}.product.parse",
        "SaveProduct": f"{NAME}.product.save",
    }
)
"""The stages, and what crawling calls the steps that they are."""
DEPTH_MAX: Final = 100_000
USES: Final = ("http", "cpu", "memory", "db")
RESOURCES: Final[Mapping[str, int]] = MappingProxyType(
    {"http": 128, "cpu": 4, "memory": 512, "db": 256}
)
"""Places of a node: requests, pages being parsed, pages in memory, pages being saved."""


RETRY: Final = dure.RetryPolicy.of(10, base="1s", factor=2.0, cap="1m", jitter=0.5)
"""Twice as long each time, times a chance of 0.5 to 1; then a dead letter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What bounds each stage until somebody changes it."""

    lists: int = 200
    """List pages of one host that may wait."""
    products: int = 1000
    """Products of one host that may wait; more keep list pages from being fetched."""
    queue: int = 128
    """Pages between fetching and parsing, and between parsing and saving."""
    retry: dure.RetryPolicy = RETRY


def spider_of(shops: Sequence[str], now: Callable[[], float], sizes: Sizes) -> Spider:
    """The spider for these shops. `now` is the store's time."""
    start = [f"{shop.rstrip('/')}/products?page=1" for shop in shops]
    # A list is a chain: its last page is as deep as it has pages.
    spider = Spider(NAME, start, retry=sizes.retry, depth_max=DEPTH_MAX)

    @spider.stage(
        name="list",
        crew=Crew(1, 16),
        parse_crew=Crew(1, 4),
        save_crew=Crew(4, 32),
        queue_max=sizes.queue,
        save_max=sizes.queue,
        frontier_max=sizes.lists,
        uses=USES,
    )
    def listing(page: Page) -> Iterator[object]:
        if page.one("ul.products") is None:
            raise Missing(f"no list of products at {page.url}")
        yield page.follow("ul.products a.name", product, meta={"list": page.url})
        # Pages nearby are linked as well, most of them many times: each is fetched once.
        yield page.follow("nav.pager a", listing)

    @spider.stage(
        name="product",
        crew=Crew(4, 64),
        parse_crew=Crew(1, 8),
        save_crew=Crew(16, 256),
        queue_max=sizes.queue,
        save_max=sizes.queue,
        frontier_max=sizes.products,
        uses=USES,
    )
    def product(page: Page) -> Iterator[object]:
        yield save(read_product(page), dure.current().session or "", now())

    return spider
