"""A crawl that is killed goes on: nothing is lost, nothing saved is fetched again."""

from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
from aiohttp import web

from dure import State

PRODUCTS = 3000
PER_LIST = 25
KILLS = 20

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(400)]


class Site:
    """A shop on loopback that writes every request down."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        kind, number = request.match_info["kind"], int(request.match_info["number"])
        self.asked.append(f"/{kind}/{number}")
        if kind == "item":
            body = f'<h1>Name {number}</h1><b class="sku">S{number}</b>'
        else:
            first = number * PER_LIST
            items = range(first, min(first + PER_LIST, PRODUCTS))
            body = "".join(f'<a class="p" href="/item/{i}">x</a>' for i in items)
            if first + PER_LIST < PRODUCTS:
                body += f'<a class="next" href="/list/{number + 1}">next</a>'
        return web.Response(text=f"<html><body>{body}</body></html>", content_type="text/html")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    app = web.Application()
    app.router.add_get(r"/{kind:list|item}/{number:\d+}", site.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    place = web.TCPSite(runner, "127.0.0.1", 0)
    await place.start()
    host, port = runner.addresses[0][:2]
    site.url = f"http://{host}:{port}"
    yield site
    await runner.cleanup()


async def test_a_crawl_killed_twenty_times_saves_every_product_once(scene: Any, site: Site) -> None:
    """C7."""
    random = Random(7)

    def saved_now() -> set[str]:
        return {row[0] for row in scene.ask("select key from dure_item")}

    def addresses(saved: set[str]) -> set[str]:
        return {f"/item/{sku[1:]}" for sku in saved}

    saved: set[str] = set()
    for _ in range(KILLS):
        asked = len(site.asked)
        victim = scene.start("crawl", SHOP=site.url)
        goal = len(saved) + random.randint(60, 140)
        # Its tables are there once it asks for pages.
        await scene.until(lambda v=victim, n=asked: len(site.asked) > n or not v.is_running, 60)
        await scene.until(lambda v=victim, g=goal: len(saved_now()) >= g or not v.is_running, 60)
        assert victim.is_running, f"{victim.said()} {victim.complaints()}"
        victim.kill()
        again = addresses(saved).intersection(site.asked[asked:])
        assert not again, f"fetched again although saved: {sorted(again)[:5]}"
        saved = saved_now()

    asked = len(site.asked)
    last = scene.start("crawl", SHOP=site.url)
    await scene.until(lambda: not last.is_running, 120)

    assert "over shop-1" in last.said(), last.complaints()
    assert not addresses(saved).intersection(site.asked[asked:])
    assert {f"S{n}" for n in range(PRODUCTS)} == saved_now()
    rows = scene.ask("select state, count(*) from dure_history group by state")
    assert [(int(state), count) for state, count in rows] == [
        (State.SUCCESS, PRODUCTS + PRODUCTS // PER_LIST)
    ]
