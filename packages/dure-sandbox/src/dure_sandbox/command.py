"""`dure sandbox`: outside services on this machine until somebody ends them."""

import argparse
import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from dure_sandbox.ai.quota import Limits
from dure_sandbox.ai.site import AiOptions
from dure_sandbox.faults.fault import faults_from
from dure_sandbox.news.site import NewsOptions
from dure_sandbox.sandbox import Sandbox
from dure_sandbox.shop.site import ShopOptions

PORT_USUAL = 8600


def run(words: Sequence[str]) -> int:
    """Serve as the words say, until interrupted. Raises ConfigError."""
    given = _parser().parse_args(words)
    box = Sandbox(
        seed=given.seed,
        host=given.host,
        port=given.port,
        news=NewsOptions(articles_per_day=given.articles_per_day),
        shop=ShopOptions(
            products=given.products,
            page_size=given.page_size,
            page_bytes=given.page_bytes,
            hosts=given.hosts,
        ),
        ai=AiOptions(limits=Limits(rpm=given.rpm, rpd=given.rpd, tpm=given.tpm)),
        faults=faults_from(given.faults) if given.faults else (),
        log_file=given.log,
    )
    asyncio.run(_serve(box, is_json=given.json))
    return 0


async def _serve(box: Sandbox, *, is_json: bool) -> None:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Where a loop has no signal handlers, Ctrl-C ends the loop by itself.
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, over.set)
    async with box:
        if is_json:
            _say(json.dumps({each.name: each.url for each in box.places}))
        else:
            for each in box.places:
                _say(f"{each.name:<5} {each.url}")
            _say(f"faults and log: {box.news.url}/_sandbox    Ctrl-C ends it")
        await over.wait()


def _say(line: str) -> None:
    """At once, since whoever started this may wait for the addresses."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dure sandbox",
        description="A news site, a shop and an AI provider on this machine, with faults.",
    )
    add = parser.add_argument
    add("--port", type=int, default=PORT_USUAL, help="of the news site; shop and ai follow (8600)")
    add("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    add("--seed", type=int, default=1, help="the same seed gives the same sites (1)")
    add("--faults", type=Path, metavar="FILE", help="a TOML file with [[fault]] tables")
    add("--log", type=Path, metavar="FILE", help="write every request to this file, as JSON lines")
    add("--articles-per-day", type=int, default=2000, metavar="N", help="in all sections (2000)")
    add("--products", type=int, default=10_000, metavar="N", help="in the shop (10000)")
    add("--page-size", type=int, default=20, metavar="N", help="products on a list page (20)")
    add("--page-bytes", type=int, default=10_000, metavar="N", help="of a product page (10000)")
    add("--hosts", type=int, default=1, metavar="N", help="hosts of the shop, from 127.0.0.1 (1)")
    add("--rpm", type=int, metavar="N", help="requests a minute that the AI allows (any)")
    add("--rpd", type=int, metavar="N", help="requests a day that the AI allows (any)")
    add("--tpm", type=int, metavar="N", help="tokens a minute that the AI allows (any)")
    add("--json", action="store_true", help="print the addresses as one line of JSON")
    return parser
