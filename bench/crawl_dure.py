"""Dure over the peers' synthetic shop: list pages, five fields of each item, durable.

    python crawl_dure.py URL STORE [--follow lists|all] [--pages N] [-c 32]

Prints one JSON line like the peers' scripts: pages a second from the first request to the
last commit, and the processor's time for each page. Every item must be there, whole.
"""

import argparse
import asyncio
import json
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass

import uvloop

import dure
from dure.core.state import FINAL
from dure.crawl import Crawler, Page, Spider
from dure.crawl.export import items_of
from dure.fetch import FetchPolicy, Manners
from dure.scripts import crawls

SESSION = "bench"


@dataclass
class Product:
    title: str
    price: str
    sku: str
    description: str
    category: str


def shop(url: str, follow: str) -> Spider:
    """The spider; with `all`, every link of every page is followed, nearly all known already."""
    spider = Spider("bench", f"{url}/list/0.html")

    @spider.stage
    def listing(page: Page) -> Iterator[object]:
        yield page.follow("ul.links a.detail", product)
        yield page.follow("ul.links a.more", listing)

    @spider.stage
    def product(page: Page) -> Iterator[object]:
        yield Product(
            page.text("h1.title"),
            page.text("p.price"),
            page.text("dd.sku"),
            page.text("div.description p"),
            page.text("a.cat"),
        )
        if follow == "all":
            yield page.follow("ul.links a", product)

    return spider


async def main(given: argparse.Namespace) -> None:
    app = dure.App(given.store)
    manners = Manners(delay=0.0, concurrency=given.c)
    policy = FetchPolicy(allow=("127.0.0.0/8",), manners=manners)
    crawler = Crawler(app, spider := shop(given.url, given.follow), policy=policy)
    async with app:
        await crawler.begin(spider, session=SESSION)
        wall, cpu = time.perf_counter(), time.process_time()
        node = app.node(slots=256)
        await node.start()
        while not await node.is_out_of_work():
            await asyncio.sleep(0.01)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        standings = await app.store.read(crawls.standings(SESSION))
        pages = sum(each.jobs for each in standings if each.state in FINAL)
        await node.stop()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        whole = [all(item.values()) async for item in items_of(app.store, SESSION)]
    assert len(whole) == given.pages, f"{len(whole)} items, not {given.pages}"
    assert all(whole)
    line = {
        "crawl": "dure",
        "client": "dure",
        "loop": "uvloop",
        "c": given.c,
        "follow": given.follow,
        "pages": pages,
        "rate": round(pages / wall),
        "cpu_ms": round(cpu / pages * 1000, 3),
        "rss_mb": round(memory / 1024),
    }
    print(json.dumps(line), flush=True)


parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("store")
parser.add_argument("--follow", default="lists", choices=("lists", "all"))
parser.add_argument("--pages", type=int, default=10_000)
parser.add_argument("-c", type=int, default=32)
uvloop.run(main(parser.parse_args()))
