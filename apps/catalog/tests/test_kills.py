"""A crawl that is killed twenty times: every product saved once, nothing saved fetched again."""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from dure import State
from dure.testing.crash import Victim
from dure.testing.postgres import OwnServer
from dure_sandbox.sandbox import Sandbox
from dure_sandbox.shop.site import ShopOptions

PRODUCTS = 10_000
KILLS = 20
POLL_SECONDS = 0.02

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(300)]


class Ground:
    """A store, asked beside the program, so that nobody judges himself."""

    def __init__(self, url: str, ask: Callable[[str], list[tuple[Any, ...]]]) -> None:
        self.url = url
        self._ask = ask

    def count(self) -> int:
        """How many products are saved."""
        try:
            rows = self._ask("select count(*) from catalog_product")
        except (sqlite3.OperationalError, psycopg.errors.UndefinedTable):
            return 0  # the first process has not made its tables yet
        number: int = rows[0][0]
        return number

    def products(self) -> list[tuple[str, int]]:
        """Address and number of saves."""
        return [(row[0], row[1]) for row in self._ask("select url, saves from catalog_product")]

    def done(self) -> set[str]:
        """Addresses of every page that is committed, list pages among them."""
        rows = self._ask(f"select body from dure_history where state = {State.SUCCESS.value}")
        return {json.loads(row[0])["url"] for row in rows}

    def left(self) -> int:
        number: int = self._ask("select count(*) from dure_live")[0][0]
        return number


@pytest.fixture(params=["sqlite", "postgres"])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ground]:
    if request.param == "sqlite":
        path = tmp_path / "catalog.db"

        def ask_sqlite(sql: str) -> list[tuple[Any, ...]]:
            connection = sqlite3.connect(path, timeout=10, isolation_level=None)
            try:
                return connection.execute(sql).fetchall()
            finally:
                connection.close()

        yield Ground(str(path), ask_sqlite)
        return
    with OwnServer() as server, server.database() as url:

        def ask_postgres(sql: str) -> list[tuple[Any, ...]]:
            with psycopg.connect(url, autocommit=True) as connection:
                return connection.execute(sql.encode()).fetchall()

        yield Ground(url, ask_postgres)


async def _until(ground: Ground, goal: int, victim: Victim) -> None:
    """Return when so many are saved. Fails when the process has ended before, or time is up."""
    async with asyncio.timeout(60):
        while ground.count() < goal:
            assert victim.is_running, f"{victim.said()} {victim.complaints()}"
            await asyncio.sleep(POLL_SECONDS)


async def test_a_crawl_killed_twenty_times_saves_every_product_once_and_fetches_none_again(
    ground: Ground, tmp_path: Path
) -> None:
    """C7: 10,000 products, 20 SIGKILLs; the shop's own log says what was asked of it."""
    random = Random(20)
    shop = ShopOptions(products=PRODUCTS, page_bytes=3000)
    async with Sandbox(shop=shop) as box:
        host = box.shop.url.removeprefix("http://")
        command = ["-m", "catalog.main", "run", box.shop.url, "--store", ground.url]
        command += ["--allow", "127.0.0.0/8", "--delay", "0", "--concurrency", "32", "--lease", "1"]

        def start(number: int) -> Victim:
            return Victim(command, output=tmp_path / f"run-{number}", environment={})

        def addresses(since: int) -> set[str]:
            return {f"http://{host}{each.target}" for each in list(box.log.entries)[since:]}

        saved: set[str] = set()
        goal = 0
        for number in range(KILLS):
            asked = box.log.total
            with start(number) as victim:
                goal = max(goal, ground.count()) + random.randint(200, 450)
                await _until(ground, goal, victim)
                victim.kill()
            again = saved & addresses(asked)
            assert not again, f"asked again although saved: {sorted(again)[:5]}"
            saved = ground.done()

        asked = box.log.total
        with start(KILLS) as last:
            assert await asyncio.to_thread(last.wait, 120) == 0, last.complaints()

        assert not saved & addresses(asked)
        products = ground.products()
        assert {f"http://{host}/products/{n}" for n in range(PRODUCTS)} == {u for u, _ in products}
        assert {saves for _, saves in products} == {1}
        assert ground.left() == 0
        # Only what was under way when a process died may have been asked for twice.
        assert box.log.total - len(addresses(0)) < KILLS * 256
