"""One process that crawls a shop until its run is over; its last line says so."""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass

import dure
from dure.core.state import FINAL
from dure.crawl import Crawler, Page, Spider
from dure.fetch import FetchPolicy, Manners
from dure.scripts import crawls


@dataclass
class Product:
    sku: str
    name: str


shop = Spider("shop", f"{os.environ['SHOP']}/list/0")
shop.item(key="sku")(Product)


@shop.stage
def listing(page: Page) -> Iterator[object]:
    yield page.follow("a.p", product)
    yield page.follow("a.next", listing)


@shop.stage
def product(page: Page) -> Iterator[object]:
    yield Product(page.text(".sku"), page.text("h1"))


app = dure.App(os.environ["DURE_URL"])
manners = Manners(delay=0.0, concurrency=16)
crawler = Crawler(app, shop, policy=FetchPolicy(allow=("127.0.0.0/8",), manners=manners))


async def main() -> None:
    async with app:
        run = await crawler.begin(shop)
        node = app.node(lease=1.0, beat=0.25)
        await node.start()
        print("ready", flush=True)
        while True:
            await asyncio.sleep(0.1)
            standings = await app.store.read(crawls.standings(run.session))
            if standings and all(each.state in FINAL for each in standings):
                break
        await node.stop()
    print(f"over {run.session}", flush=True)


asyncio.run(main())
