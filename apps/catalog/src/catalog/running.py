"""Running a crawl in this process until it is over, with a line that says how it goes."""

import asyncio
import sys
from typing import Final

import msgspec

from catalog.figures import dashboard_of
from catalog.program import Catalog
from catalog.report import account_of
from catalog.screen import account_lines, progress_line
from catalog.words import Words
from dure.core.state import FINAL
from dure.engine.node import Node
from dure.engine.signals import depart_on_signal
from dure.scripts import crawls

_LOOK_SECONDS: Final = 0.2
_TELL_SECONDS: Final = 2.0
INTERRUPTED: Final = 130


async def crawl(catalog: Catalog, words: Words, *, again: bool, is_json: bool) -> int:
    """Crawl; 0 when it is over and accounts for everything, 130 when it was told to leave."""
    app = catalog.app
    async with app:
        run = await catalog.begin(again=again)
        node = catalog.node()
        await node.start()
        _say(words("began", session=run.session, store=app.store.url))
        watching = asyncio.create_task(_until_over(catalog, node, run.session, words))
        leaving = asyncio.create_task(depart_on_signal(node))
        await asyncio.wait({watching, leaving}, return_when=asyncio.FIRST_COMPLETED)
        is_over = watching.done()
        for task in (watching, leaving):
            task.cancel()
        await asyncio.gather(watching, leaving, return_exceptions=True)
        if is_over:
            watching.result()
            await node.stop()
        account = await account_of(app, run.session)
    if is_json:
        sys.stdout.write(f"{msgspec.json.encode(account).decode()}\n")
    else:
        sys.stdout.write("\n".join([*account_lines(account, words), ""]))
    if not is_over:
        return INTERRUPTED
    return 0 if account.is_accounted else 1


async def _until_over(catalog: Catalog, node: Node, session: str, words: Words) -> None:
    """Return when no page of the run is left."""
    app, loop = catalog.app, asyncio.get_running_loop()
    tell_at = loop.time() + _TELL_SECONDS
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        is_time = loop.time() >= tell_at
        if not is_time and not node.is_idle:
            continue
        standings = await app.store.read(crawls.standings(session))
        if standings and all(each.state in FINAL for each in standings):
            return
        if is_time:
            tell_at = loop.time() + _TELL_SECONDS
            _say(progress_line(await dashboard_of(app, session), words))


def _say(text: str) -> None:
    """To where progress belongs, so that the report can be piped."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
