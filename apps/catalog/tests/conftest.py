"""A catalog on the sandbox's shop, in memory and in virtual time."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from catalog.program import Catalog, Plan
from catalog.spider import RESOURCES, Sizes
from dure.core.backoff import RetryPolicy
from dure.crawl.figures import Status, status_of
from dure.fetch import Manners
from dure.testing import Rig, running
from dure.testing.virtual import VirtualClock
from dure_sandbox.faults.fault import Fault
from dure_sandbox.sandbox import Sandbox
from dure_sandbox.shop.site import ShopOptions

QUICK = Manners(delay=0.0, concurrency=16)


@dataclass
class Scene:
    """A catalog at work, and the shop it crawls."""

    catalog: Catalog
    box: Sandbox
    rig: Rig

    async def start_node(self, **options: Any) -> Any:
        """One more node, sized as the program sizes it."""
        return await self.rig.start_node(**{"slots": 256, "resources": dict(RESOURCES), **options})

    async def status(self) -> Status:
        return await status_of(self.rig.store, self.rig.insights, "catalog")

    async def products(self) -> dict[str, int]:
        """How often each product was saved, by address."""
        return dict(await self.rig.sql("select url, saves from catalog_product"))

    def asked(self, path: str = "/products/*") -> list[str]:
        """The targets of requests whose path is like this, in order."""
        return [each.target for each in self.box.log.find(site="shop", path=path)]

    @property
    def presence(self) -> Any:
        """What the crawler has on the first node."""
        return self.catalog.crawler.presences[0]


@asynccontextmanager
async def _scene(
    products: int = 60,
    *,
    hosts: int = 1,
    faults: Iterable[Fault] = (),
    manners: Manners = QUICK,
    sizes: Sizes | None = None,
    nodes: int = 1,
    dead: Iterable[str] = (),
    begin: bool = True,
) -> AsyncIterator[Scene]:
    clock = VirtualClock()
    shop = ShopOptions(products=products, hosts=hosts, page_bytes=2000)
    box = Sandbox(shop=shop, faults=faults, clock=clock)
    plan = Plan(
        store=":memory:",
        shops=(*box.shop_urls(), *dead),
        manners=manners,
        sizes=sizes or Sizes(),
    )
    catalog = Catalog(plan, wire=box.wire(), clock=clock)
    async with running(catalog.app, nodes=0) as rig:
        scene = Scene(catalog, box, rig)
        if begin:
            await catalog.begin()
        for _ in range(nodes):
            await scene.start_node()
        yield scene


@pytest.fixture(name="scene")
def scene_fixture() -> Callable[..., AbstractAsyncContextManager[Scene]]:
    return _scene


@pytest.fixture(name="retries")
def retries_fixture() -> RetryPolicy:
    return RetryPolicy.of(3, base="1s", factor=2.0, cap="10s", jitter=0.5)
