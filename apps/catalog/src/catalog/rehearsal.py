"""`make run-catalog`: a crawl of the sandbox's shop with faults, a SIGKILL in it, and a resume.

Nothing is taken on trust: the shop knows what it sells and writes down what it is asked.
"""

import asyncio
import os
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from catalog import desk
from catalog.figures import dashboard_of
from catalog.program import Catalog, Plan
from catalog.report import Account, account_of
from catalog.screen import dashboard_lines
from catalog.words import Words, language_of
from dure.core.errors import DureError, NotFound, SettingInvalid
from dure_sandbox.faults.fault import Fault
from dure_sandbox.sandbox import Sandbox
from dure_sandbox.shop.site import ShopOptions

PRODUCTS: Final = 2000
SECONDS_MAX: Final = 115.0
_DEAD: Final = "http://127.0.0.9:9"
_PAUSE_SECONDS: Final = 2.0
_FAULTS: Final = (
    Fault(kind="throttle", site="shop", path="/products/*", skip=200, count=2, retry_after=1.0),
    Fault(kind="status", site="shop", path="/products/*", share=0.02, count=40, status=500),
    Fault(kind="reset", site="shop", path="/products/*", share=0.01, count=20),
    Fault(kind="cut_body", site="shop", path="/products/*", share=0.01, count=20),
    Fault(kind="slow_start", site="shop", path="/products/*", share=0.01, count=15, seconds=1.5),
)


class Rehearsal:
    """One crawl with everything that can happen to it."""

    def __init__(self, store: str, words: Words, box: Sandbox) -> None:
        self._store = store
        self._words = words
        self._box = box
        self._catalog = Catalog(Plan(store=store))

    async def run(self) -> int:
        """0 when every promise was kept."""
        words, box = self._words, self._box
        faults = ", ".join(fault.kind for fault in _FAULTS)
        _say(words("try_shop", count=f"{PRODUCTS:,}", url=box.shop.url, faults=faults))
        async with self._catalog.app:
            await self._crawl_and_kill()
            saved, asked = await self._saved(), box.log.total
            _say(words("try_killed", saved=f"{len(saved):,}"))
            await self._change_settings()
            _say(words("try_again"))
            second = await self._start()
            try:
                await self._until(PRODUCTS * 6 // 10, second)
                await self._pause_for_a_while()
                code = await second.wait()
            finally:
                await _end(second)
            return await self._judge(saved, asked, code)

    async def _crawl_and_kill(self) -> None:
        first = await self._start("--again")
        try:
            await self._until(PRODUCTS * 3 // 10, first)
            _say("\n".join(dashboard_lines(await dashboard_of(self._catalog.app), self._words)))
        finally:
            await _end(first)

    async def _start(self, *more: str) -> asyncio.subprocess.Process:
        """The command, as a person would give it."""
        words = ("--store", self._store, "--allow", "127.0.0.0/8", "--lang", self._words.language)
        pace = ("--delay", "0", "--concurrency", "8", "--lease", "2")
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "catalog.main", "run", self._box.shop.url, _DEAD),
            *(*words, *pace, *more),
        )

    async def _until(self, count: int, process: asyncio.subprocess.Process) -> None:
        """Return when so many products are saved, or the process has ended."""
        while process.returncode is None and len(await self._saved()) < count:
            await asyncio.sleep(0.1)

    async def _saved(self) -> set[str]:
        """Addresses of the products that this run has saved."""
        try:
            account = await account_of(self._catalog.app)
        except NotFound:
            return set()
        rows = await self._catalog.app.rows(
            "select url from catalog_product where session = :session",
            {"session": account.session},
        )
        return {row["url"] for row in rows}

    async def _change_settings(self) -> None:
        """What makes no sense is refused; a dead host is to be given up within our two minutes."""
        app, words = self._catalog.app, self._words
        try:
            await desk.change(app, "product.frontier_max", "0", by="rehearsal")
        except SettingInvalid as refusal:
            _say(words("try_refused", why=f"{refusal.message} {refusal.hint}"))
        await desk.change(app, "list.retry_attempts", "2", by="rehearsal")
        _say(words("did_set", setting="list.retry_attempts", value=2))

    async def _pause_for_a_while(self) -> None:
        app = self._catalog.app
        await desk.pause(app, by="rehearsal")
        await asyncio.sleep(_PAUSE_SECONDS / 2)  # what was under way may end
        before = self._box.log.total
        await asyncio.sleep(_PAUSE_SECONDS)
        asked = self._box.log.total - before
        _say(self._words("try_paused", asked=asked, seconds=f"{_PAUSE_SECONDS:g}"))
        _say("\n".join(dashboard_lines(await dashboard_of(app), self._words)))
        _say(self._words("did_resume", session=await desk.resume(app, by="rehearsal")))

    async def _judge(self, saved: set[str], asked: int, code: int) -> int:
        """Hold what was collected against what the shop sells and what it was asked."""
        words, box = self._words, self._box
        account = await account_of(self._catalog.app)
        again = saved & {
            f"http://{entry.host}{entry.target}" for entry in list(box.log.entries)[asked:]
        }
        right, twice = await self._compare(account)
        struck = Counter(entry.fault for entry in box.log.entries if entry.fault)
        told = ", ".join(f"{kind} {count}" for kind, count in sorted(struck.items()))
        _say(words("try_struck", struck=told))
        _say(words("try_right", right=right, count=PRODUCTS, again=len(again), twice=twice))
        is_good = (
            code == 0
            and account.is_accounted
            and (right, twice, len(again)) == (PRODUCTS, 0, 0)
            and set(struck) == {fault.kind for fault in _FAULTS}
            and [letter.url for letter in account.dead_letters] == [f"{_DEAD}/products?page=1"]
        )
        _say(words("try_good" if is_good else "try_bad"))
        return 0 if is_good else 1

    async def _compare(self, account: Account) -> tuple[int, int]:
        """How many products are as the shop has them, and how many were saved twice."""
        rows = await self._catalog.app.rows(
            "select url, sku, name, price, stock, saves from catalog_product "
            "where session = :session",
            {"session": account.session},
        )
        site, now, right = self._box.shop.site, self._box.clock.now(), 0
        for row in rows:
            there = site.product(int(row["url"].rpartition("/")[2]), now)
            seen = (row["sku"], row["name"], row["price"], row["stock"])
            right += seen == (there.sku, there.name, there.price, there.stock)
        return right, sum(row["saves"] > 1 for row in rows)


async def _end(process: asyncio.subprocess.Process) -> None:
    """SIGKILL, if it still runs."""
    if process.returncode is None:
        process.kill()
    await process.wait()


async def rehearse(store: str, words: Words) -> int:
    """The whole rehearsal on this store; it ends by itself within two minutes."""
    shop = ShopOptions(products=PRODUCTS, page_bytes=4000)
    async with asyncio.timeout(SECONDS_MAX), Sandbox(shop=shop, faults=_FAULTS) as box:
        return await Rehearsal(store, words, box).run()


def main() -> int:
    words = Words(language_of(os.environ.get("LANG", "")))
    try:
        return _rehearsed(words)
    except TimeoutError:
        _complain(words("try_late", seconds=f"{SECONDS_MAX:g}"))
        return 1
    except DureError as error:
        _complain(f"{words('error')}: {error.message} {error.hint or ''}")
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def _rehearsed(words: Words) -> int:
    store = os.environ.get("STORE", "")
    if store:
        return asyncio.run(rehearse(store, words))
    with TemporaryDirectory(prefix="catalog-") as folder:
        return asyncio.run(rehearse(str(Path(folder, "catalog.db")), words))


def _complain(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
