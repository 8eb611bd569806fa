"""Finding a spider from how people name it, and running it: `shop.toml`, `shop.py:shop`."""

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dure.cli.catalog import DONE, FAILED, INTERRUPTED
from dure.cli.grammar import Given
from dure.cli.screen import Screen
from dure.cli.wording import clean, counted
from dure.core.errors import ConfigError

if TYPE_CHECKING:
    from dure.compose import App
    from dure.crawl import Crawler, Run, Spider
    from dure.engine.node import Node
    from dure.fetch.policy import FetchPolicy

_LOOK_SECONDS = 0.2
_TELL_SECONDS = 0.5


class Target(NamedTuple):
    """A spider, and what it runs on."""

    app: "App"
    crawler: "Crawler"
    spider: "Spider"


def run_spider(screen: Screen, given: Given) -> int:
    """Crawl until the run is over, or until somebody says stop; a later call goes on."""
    target = target_of(given)
    main = _run(screen, given, target)
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.run(main)
    return uvloop.run(main)


def target_of(given: Given) -> Target:
    """The spider that is meant. Raises ConfigError."""
    from dure.compose import App
    from dure.crawl import Crawler
    from dure.crawl.sheet import policy_of, read_sheet, spider_of

    name = given.spider
    if name.endswith(".toml"):
        sheet = read_sheet(Path(name))
        policy = policy_of(sheet)
        spider = spider_of(sheet)
    else:
        found = _from_program(name)
        if isinstance(found, Target):
            if given.store is not None:
                raise ConfigError(
                    f"{name} has a crawler on a store of its own.",
                    "Leave --store out, or let the program declare only the spider.",
                )
            return found
        spider, policy = found
    if given.allow:
        policy = policy.but(allow=(*policy.allow, *given.allow))
    app = App(given.store or f"{spider.name}.db")
    return Target(app, Crawler(app, spider, policy=policy), spider)


def _from_program(name: str) -> "Target | tuple[Spider, FetchPolicy]":
    from dure.cli.program import load_module
    from dure.compose import App
    from dure.crawl import Crawler, Spider
    from dure.fetch import FetchPolicy

    module, wanted = load_module(name)
    values = vars(module)
    spiders = {key: value for key, value in values.items() if isinstance(value, Spider)}
    if wanted and wanted not in spiders:
        raise ConfigError(
            f"{name} has no spider called {wanted!r}.",
            f"It has {', '.join(spiders) or 'none'}; name one of them.",
        )
    distinct = {id(spider): spider for spider in spiders.values()}
    if not wanted and len(distinct) != 1:
        raise ConfigError(
            f"{name} has {len(distinct)} spiders.",
            f"Name one, like {name}:{next(iter(spiders), 'shop')}.",
        )
    spider = spiders[wanted] if wanted else next(iter(distinct.values()))
    for value in values.values():
        if isinstance(value, Crawler) and spider in value.spiders.values():
            assert isinstance(value.app, App)
            return Target(value.app, value, spider)
    policies = [value for value in values.values() if isinstance(value, FetchPolicy)]
    return spider, policies[0] if len(policies) == 1 else FetchPolicy()


async def _run(screen: Screen, given: Given, target: Target) -> int:
    from dure.engine.signals import depart_on_signal

    app, crawler, spider = target
    async with app:
        run = await crawler.begin(spider, session=given.session or "", again=given.again)
        node = app.node(slots=given.slots)
        await node.start()
        screen.say(
            f"Crawling {clean(run.session)} into {clean(app.store.url)}. "
            "Ctrl-C leaves; the same command goes on."
        )
        watching = asyncio.create_task(_until_over(screen, app, run, node))
        leaving = asyncio.create_task(depart_on_signal(node))
        await asyncio.wait({watching, leaving}, return_when=asyncio.FIRST_COMPLETED)
        is_over = watching.done() and not watching.cancelled()
        watching.cancel()
        if not leaving.done():
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
            await node.stop()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        screen.clear()
        return await _account(screen, app, run, is_over=is_over)


async def _until_over(screen: Screen, app: "App", run: "Run", node: "Node") -> None:
    """Return when no page of the run is left."""
    from dure.core.state import FINAL
    from dure.scripts import crawls

    tell_at = 0.0
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        if loop.time() < tell_at and not node.is_idle:
            continue
        tell_at = loop.time() + _TELL_SECONDS
        standings = await app.store.read(crawls.standings(run.session))
        left = sum(each.jobs for each in standings if each.state not in FINAL)
        done = sum(each.jobs for each in standings if each.state in FINAL)
        screen.progress(f"{done:,} pages done · {left:,} left · {node.tally.rate:,.0f}/s")
        if standings and not left and node.is_idle:
            return


async def _account(screen: Screen, app: "App", run: "Run", *, is_over: bool) -> int:
    """What became of it."""
    from dure.core.state import FINAL, State
    from dure.scripts import crawls

    standings = await app.store.read(crawls.standings(run.session))
    items = await app.store.read(crawls.item_counts(run.session))
    counts: dict[str, int] = {}
    for each in standings:
        counts[each.state.name.lower()] = counts.get(each.state.name.lower(), 0) + each.jobs
    left = sum(each.jobs for each in standings if each.state not in FINAL)
    failed = counts.get(State.FAILED.name.lower(), 0)
    cancelled = counts.get(State.CANCELLED.name.lower(), 0)
    done = sum(counts.values()) - left - cancelled
    saved = (
        ", ".join(counted(number, f"{name} item") for name, number in items.items()) or "no item"
    )
    sentence = f"Saved {saved}; {counted(done, 'page')} done"
    sentence += f", {failed:,} of them failed" if failed else ""
    sentence += f", {cancelled:,} cancelled" if cancelled else ""
    sentence += f", {left:,} left: the same command goes on." if left else "."
    item = {"name": run.session, "counts": counts, "items": items, "left": left, "is_over": is_over}
    screen.done(item, sentence)
    if not is_over:
        return INTERRUPTED
    return FAILED if failed else DONE


def try_selectors(screen: Screen, given: Given) -> int:
    """Fetch one page and show what selectors find on it."""
    return asyncio.run(_try(screen, given))


async def _try(screen: Screen, given: Given) -> int:
    from dure.cli.screen import Column
    from dure.crawl import Page
    from dure.crawl.page import check_selector
    from dure.fetch import Fetcher, FetchPolicy

    for css in given.css:
        check_selector(css)
    async with Fetcher(FetchPolicy(allow=tuple(given.allow))) as fetcher:
        page = Page(await fetcher.get(given.url))
    screen.say(f"{page.status} {page.url}: {len(page.body):,} bytes, {page.fetched.charset}.")
    if not given.css:
        return _interact(screen, page)
    found = [
        {"name": css, "number": number, "text": text, "href": node.attributes.get("href")}
        for css in given.css
        for number, (node, text) in enumerate(zip(page.all(css), page.texts(css), strict=True), 1)
    ]
    screen.listing(
        "matches",
        found,
        (
            Column("SELECTOR", lambda item: item["name"]),
            Column("NO", lambda item: str(item["number"]), True),
            Column("HREF", lambda item: item["href"]),
            Column("TEXT", lambda item: item["text"]),
        ),
        empty="Nothing matches.",
    )
    return DONE if found else FAILED


def _interact(screen: Screen, page: object) -> int:
    import code
    import sys

    if not sys.stdin.isatty():
        raise ConfigError("Nobody is there to type.", "Give selectors: --css 'h1' --css 'a.next'.")
    screen.say("`page` is the page: page.text('h1'), page.links('a'), page.all('li').")
    code.interact(banner="", local={"page": page}, exitmsg="")
    return DONE
