"""`newsroom run | crawl | show | report | demo`: the newsroom from the command line."""

import argparse
import asyncio
import contextlib
import json
import logging
import os
import sys
from collections.abc import Sequence
from typing import Final

from dure.core.errors import DureError, NotFound
from dure.engine.journal import JsonLines
from dure.engine.signals import depart_on_signal
from dure.web import serve
from newsroom.program import Newsroom
from newsroom.reading import Reading
from newsroom.report import Report
from newsroom.screen import account_lines, article_lines
from newsroom.settings import Settings
from newsroom.site import site_of
from newsroom.words import LANGUAGES

DONE: Final = 0
FAILED: Final = 1
INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one command; errors are one sentence and an exit code."""
    given = _parser().parse_args(arguments)
    try:
        if given.command == "demo":
            from newsroom.demo import demonstrate  # noqa: PLC0415  # needs the sandbox

            return asyncio.run(demonstrate(os.environ.get("STORE", "")))
        return asyncio.run(_COMMANDS[given.command](Settings.load(os.environ), given))
    except DureError as error:
        print(f"newsroom: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    except KeyboardInterrupt:
        print("newsroom: interrupted", file=sys.stderr)  # noqa: T201
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="newsroom", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("run", help="crawl, analyse and serve the paper until a signal")
    commands.add_parser("crawl", help="ask the running workers for a crawl now")
    report = commands.add_parser("report", help="account for every article and every job")
    report.add_argument("--json", action="store_true", help="as JSON")
    show = commands.add_parser("show", help="print an article, or the newest finished one")
    show.add_argument("article", nargs="?", metavar="OID-AID")
    show.add_argument("--lang", choices=LANGUAGES, default=LANGUAGES[0])
    commands.add_parser("demo", help="the whole newsroom against a sandbox full of faults")
    return parser


async def _run(settings: Settings, _: argparse.Namespace) -> int:
    write_log(sys.stderr.isatty())
    newsroom = Newsroom(settings)
    async with newsroom.working() as node, contextlib.AsyncExitStack() as stack:
        site = site_of(newsroom, node)
        url = await stack.enter_async_context(serve(site, settings.host, settings.port))
        say(f"The paper is at {url}/, metrics at {url}/metrics. Ctrl-C ends.")
        departure = await depart_on_signal(node)
    return DONE if departure.is_clean else FAILED


async def _crawl(settings: Settings, _: argparse.Namespace) -> int:
    newsroom = Newsroom(settings)
    async with newsroom.app:
        receipt = await newsroom.app.fire("crawl")
    say(f"Job {receipt.id} crawls all sections as soon as a worker is free.")
    return DONE


async def _report(settings: Settings, given: argparse.Namespace) -> int:
    newsroom = Newsroom(settings)
    least = settings.min_content_length_for_ai
    async with newsroom.app:
        account = await Report(newsroom.app, newsroom.records, least).account()
    if given.json:
        say(json.dumps(account.to_dict(), ensure_ascii=False))
    else:
        say("\n".join(account_lines(account)))
        say("\n".join(account.differences) or "Every article and every job is accounted for.")
        if account.differences and account.unfinished:
            say("Work went on while this was read; it adds up when all jobs are over.")
    return FAILED if account.differences and not account.unfinished else DONE


async def _show(settings: Settings, given: argparse.Namespace) -> int:
    newsroom = Newsroom(settings)
    async with newsroom.app:
        reading = Reading(newsroom.records)
        if given.article:
            shown = await reading.one(given.article)
        else:
            shown = next((each for each in await reading.newest() if each.is_complete), None)
    if shown is None:
        raise NotFound("There is no such article yet.", "`newsroom report` says what there is.")
    say("\n".join(article_lines(shown, given.lang)))
    return DONE


def write_log(is_for_people: bool) -> None:
    """One JSON object a line to standard error; plain lines where a person looks on."""
    handler = logging.StreamHandler()
    if not is_for_people:
        handler.setFormatter(JsonLines())
    for name in ("dure", "newsroom"):
        log = logging.getLogger(name)
        log.addHandler(handler)
        log.setLevel(logging.INFO)


def say(text: str) -> None:
    """To standard output."""
    print(text, flush=True)  # noqa: T201


_COMMANDS: Final = {"run": _run, "crawl": _crawl, "report": _report, "show": _show}

if __name__ == "__main__":
    raise SystemExit(main())
