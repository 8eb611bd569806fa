"""`catalog`: run a crawl of shops, watch it, steer it, and account for it."""

import argparse
import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from getpass import getuser
from typing import Any, Final

import msgspec

from catalog import desk
from catalog.figures import dashboard_of
from catalog.program import Catalog, Plan
from catalog.report import account_of
from catalog.running import crawl
from catalog.screen import account_lines, dashboard_lines, profile_lines
from catalog.spider import NAME
from catalog.words import LANGUAGES, Words, language_of
from dure.core.errors import DureError
from dure.crawl.advice import profile_of
from dure.crawl.figures import KEEP_SECONDS, nodes_of
from dure.fetch import Manners

OK: Final = 0
NOT_OK: Final = 1
Given = argparse.Namespace
Command = Callable[[Catalog, Given, Words], Awaitable[int]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    given = _parser().parse_args(arguments)
    words = Words(given.lang)
    try:
        return _with_loop(_work(given, words))
    except DureError as error:
        sys.stderr.write(f"{words('error')}: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"{words('hint')}: {error.hint}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def _with_loop(work: Coroutine[Any, Any, int]) -> int:
    try:
        import uvloop  # noqa: PLC0415  # an extra: where it is missing, the usual loop does
    except ModuleNotFoundError:
        return asyncio.run(work)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


async def _work(given: Given, words: Words) -> int:
    if given.command == "run":
        return await _run(given, words)
    catalog = Catalog(Plan(store=given.store))
    async with catalog.app:
        return await _COMMANDS[given.command](catalog, given, words)


async def _run(given: Given, words: Words) -> int:
    plan = Plan(
        store=given.store,
        shops=tuple(given.shops),
        allow=tuple(given.allow),
        manners=Manners(delay=given.delay, concurrency=given.concurrency),
        slots=given.slots,
        lease=given.lease,
    )
    return await crawl(Catalog(plan), words, again=given.again, is_json=given.json)


async def _figures(catalog: Catalog, given: Given, words: Words) -> int:
    while True:
        board = await dashboard_of(catalog.app)
        if given.json:
            _say(msgspec.json.encode(board).decode())
        else:
            if given.watch:
                _say("\x1b[2J\x1b[H", end="")
            _say("\n".join(dashboard_lines(board, words)))
        if not given.watch or board.overall_status in {"done", "cancelled"}:
            return OK
        await asyncio.sleep(given.watch)


async def _status(catalog: Catalog, given: Given, words: Words) -> int:
    board = await dashboard_of(catalog.app)
    if given.json:
        _say(
            msgspec.json.encode({"session": board.session, "status": board.overall_status}).decode()
        )
    else:
        _say(dashboard_lines(board, words)[0])
    return OK


async def _pause(catalog: Catalog, _given: Given, words: Words) -> int:
    _say(words("did_pause", session=await desk.pause(catalog.app, by=_who())))
    return OK


async def _resume(catalog: Catalog, _given: Given, words: Words) -> int:
    _say(words("did_resume", session=await desk.resume(catalog.app, by=_who())))
    return OK


async def _cancel(catalog: Catalog, _given: Given, words: Words) -> int:
    session, count = await desk.cancel(catalog.app, by=_who())
    _say(words("did_cancel", session=session, count=f"{count:,}"))
    return OK


async def _set(catalog: Catalog, given: Given, words: Words) -> int:
    await desk.change(catalog.app, given.key, given.value, by=_who())
    _say(words("did_set", setting=given.key, value=given.value))
    return OK


async def _health(catalog: Catalog, given: Given, words: Words) -> int:
    health = (await dashboard_of(catalog.app)).health
    if given.json:
        _say(msgspec.json.encode(health).decode())
    else:
        _say(words("healthy" if health.is_healthy else "unhealthy"))
        for what, sentence in health.details.items():
            _say(f"  {what}: {sentence}")
    return OK if health.is_healthy else NOT_OK


async def _report(catalog: Catalog, given: Given, words: Words) -> int:
    account = await account_of(catalog.app)
    if given.json:
        _say(msgspec.json.encode(account).decode())
    else:
        _say("\n".join(account_lines(account, words)))
    return OK if account.is_accounted else NOT_OK


async def _profile(catalog: Catalog, given: Given, words: Words) -> int:
    store = catalog.app.store
    nodes = await nodes_of(store, now=await store.now(), fresh=KEEP_SECONDS)
    profile = profile_of(nodes, NAME)
    if given.json:
        _say(msgspec.json.encode(profile).decode())
    else:
        _say("\n".join(profile_lines(profile, words)))
    return OK


_COMMANDS: Final[dict[str, Command]] = {
    "status": _status,
    "figures": _figures,
    "pause": _pause,
    "resume": _resume,
    "cancel": _cancel,
    "set": _set,
    "health": _health,
    "report": _report,
    "profile": _profile,
}
_HELP: Final = {
    "status": "one line about the latest run",
    "figures": "the dashboard: queues, workers, errors, resources, when it will be over",
    "pause": "let what runs end, start nothing more",
    "resume": "go on",
    "cancel": "end everything that is unfinished",
    "set": "change a setting while it runs, as product.crew_high 32 or host.delay 500ms",
    "health": "what is not as it should be; exit code 1 if anything",
    "report": "account for every product and every job; exit code 1 if that fails",
    "profile": "where the time goes, and what would make it faster",
}


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--store",
        default=os.environ.get("CATALOG_STORE", "catalog.db"),
        help="a file, or postgresql://user@host/database (CATALOG_STORE, else catalog.db)",
    )
    shared.add_argument("--json", action="store_true", help="print JSON")
    shared.add_argument(
        "--lang", choices=LANGUAGES, default=language_of(os.environ.get("LANG", "")), help="words"
    )
    parser = argparse.ArgumentParser(prog="catalog", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", parents=[shared], help="crawl until it is over, or go on")
    run.add_argument("shops", nargs="+", metavar="URL", help="a shop, as https://shop.example")
    run.add_argument("--again", action="store_true", help="begin a new run in any case")
    run.add_argument("--slots", type=_whole, default=256, help="pages at once (256)")
    run.add_argument("--delay", type=float, default=0.5, help="seconds between starts (0.5)")
    run.add_argument("--concurrency", type=_whole, default=4, help="requests to a host (4)")
    run.add_argument("--lease", type=float, help="seconds until a dead node's work is taken over")
    run.add_argument(
        "--allow", action="append", default=[], help="a private network, as 127.0.0.0/8"
    )
    for name, text in _HELP.items():
        command = commands.add_parser(name, parents=[shared], help=text)
        if name == "set":
            command.add_argument("key", help="such as product.frontier_max")
            command.add_argument("value", help="such as 500")
        if name == "figures":
            command.add_argument("--watch", type=float, metavar="SECONDS", help="again and again")
    return parser


def _whole(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 10_000:
        raise argparse.ArgumentTypeError(f"{text} does not lie in 1..10000")
    return number


def _who() -> str:
    with contextlib.suppress(OSError, KeyError):
        return getuser()
    return "operator"


def _say(text: str, end: str = "\n") -> None:
    sys.stdout.write(f"{text}{end}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
