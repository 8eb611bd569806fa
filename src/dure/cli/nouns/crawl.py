"""`dure crawl`: run spiders, see and steer their runs, take their items out."""

import argparse
from typing import TYPE_CHECKING, Any

from dure.cli.catalog import DONE, PROBLEMS
from dure.cli.grammar import Given, Handler, Parser, PlainVerb, Verb, Verbs, at_least
from dure.cli.nouns import sessions
from dure.cli.screen import Column, Screen
from dure.cli.wording import away, clean, counted, length, states

if TYPE_CHECKING:
    from dure.cli.desk import Desk
    from dure.crawl.figures import Status


def _running(parser: Parser) -> None:
    parser.add_argument(
        "spider", metavar="SPIDER", help="a .toml file, a .py file or MODULE[:NAME]"
    )
    parser.add_argument("--session", metavar="NAME", help="of the run; default: the unfinished one")
    parser.add_argument("--again", action="store_true", help="begin a new run in any case")
    parser.add_argument("--slots", type=at_least(1), default=256, metavar="N", help="pages at once")
    _allow(parser)


def _allow(parser: Parser) -> None:
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        type=_network,
        metavar="NETWORK",
        help="a private network that may be reached, as 127.0.0.0/8; may be repeated",
    )


def _network(text: str) -> str:
    from ipaddress import ip_network

    try:
        return str(ip_network(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _run(screen: Screen, given: Given) -> int:
    from dure.cli.spiders import run_spider

    return run_spider(screen, given)


def _trying(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL", help="the page")
    parser.add_argument(
        "--css", action="append", default=[], metavar="SELECTOR", help="show its matches"
    )
    _allow(parser)


def _shell(screen: Screen, given: Given) -> int:
    from dure.cli.spiders import try_selectors

    return try_selectors(screen, given)


def _named(parser: Parser) -> None:
    parser.add_argument("name", metavar="RUN", help="a run, or a spider for its latest run")


async def _list(desk: "Desk", _given: Given) -> None:
    from dure.crawl.run import runs_of

    now = await desk.insights.now()
    runs = await runs_of(desk.store)
    desk.screen.listing(
        "crawls",
        [
            {"name": r.session, "spider": r.spider, "started_at": r.started_at, "hosts": r.hosts}
            for r in reversed(runs)
        ],
        (
            Column("RUN", lambda run: clean(run["name"])),
            Column("SPIDER", lambda run: clean(run["spider"])),
            Column("STARTED", lambda run: away(run["started_at"], now)),
            Column("HOSTS", lambda run: clean(", ".join(run["hosts"]))),
        ),
        empty="Nothing was crawled here.",
    )


async def _status(desk: "Desk", given: Given) -> int:
    import msgspec

    from dure.crawl.figures import status_of

    status = await status_of(desk.store, desk.insights, given.name)
    item = msgspec.to_builtins(status)
    item["name"] = status.session
    item["eta"] = sessions.eta_shape(status.eta)
    desk.screen.card("crawl", item, _lines(status, await desk.insights.now()))
    return PROBLEMS if status.findings else DONE


def _lines(status: "Status", now: float) -> list[tuple[str, str | None]]:
    left = "unknown, too little has ended lately" if status.status == "running" else None
    lines: list[tuple[str, str | None]] = [
        ("run", clean(status.session)),
        ("status", status.status),
        ("started", away(status.started_at, now)),
        ("pages", states(status.counts)),
        ("items", states(status.items)),
        ("pace", f"{status.pages_per_second:,.1f} pages/s"),
        ("left", status.eta.text(now) if status.eta else left),
    ]
    for stage, counts in sorted(status.stages.items()):
        lines.append((f"stage {clean(stage)}", states(counts)))
    for node in status.nodes:
        for queue in node.queues:
            text = f"{queue.depth} of {queue.capacity}, at most {queue.max_depth}"
            blocked = f", {queue.blocked:,} had to wait" if queue.blocked else ""
            lines.append((f"queue {clean(queue.name)}", text + blocked))
        for crew in node.stages:
            text = f"{crew.workers_active} of {crew.workers_count} busy"
            rest = f", {crew.workers_resting} rest" if crew.workers_resting else ""
            took = f", {crew.mean_seconds * 1000:,.0f} ms a page"
            lines.append((f"workers {clean(crew.stage)}", text + rest + took))
        used = ", ".join(f"{name} {a}/{b}" for name, (a, b) in node.resources.items())
        share = f"memory {node.memory_share:.0%}, cpu {node.cpu_share:.0%}"
        lines.append((clean(node.node), f"{used}, {share}, {node.hosts_owned} hosts"))
    lines += [(f"{jobs:,} times", clean(error)) for error, jobs in status.errors.items()]
    lines += [("unhealthy", clean(f"{each.what}: {each.sentence}")) for each in status.findings]
    return lines


def _of_session(handler: Handler) -> Handler:
    """A command of sessions, on the run that is meant."""

    async def do(desk: "Desk", given: Given) -> int | None:
        from dure.crawl.figures import run_of

        given.name = (await run_of(desk.store, given.name)).session
        return await handler(desk, given)

    return do


async def _checkpoint(desk: "Desk", given: Given) -> None:
    """What a run would go on from: it is in the store at any moment, so there is nothing to do."""
    from dure.core.state import FINAL
    from dure.crawl.figures import run_of
    from dure.scripts import crawls

    run = await run_of(desk.store, given.name)
    standings = await desk.store.read(crawls.standings(run.session))
    items = await desk.store.read(crawls.item_counts(run.session))
    done = sum(each.jobs for each in standings if each.state in FINAL)
    left = sum(each.jobs for each in standings if each.state not in FINAL)
    item = {"name": run.session, "done": done, "left": left, "items": items}
    desk.screen.done(
        item,
        f"{run.session} is kept up to its last commit: {counted(done, 'page')} done, "
        f"{left:,} left, {counted(sum(items.values()), 'item')} saved. "
        "Whatever is killed now goes on from here.",
    )


def _setting(parser: Parser) -> None:
    parser.add_argument("name", metavar="SPIDER", help="the spider, on every node")
    parser.add_argument("key", metavar="KEY", help="such as host.delay, product.crew_high, http")
    parser.add_argument("value", metavar="VALUE", help="such as 2s, 128")


async def _set(desk: "Desk", given: Given) -> None:
    from dure.crawl.tuning import set_tuning

    tuning = await set_tuning(
        desk.store, given.name, given.key, given.value, by=desk.by, reason=given.reason
    )
    item = {"name": given.name, "values": tuning.values}
    desk.screen.done(item, f"{given.key} of {given.name} is {tuning.values[given.key]:g}.")


def _exporting(parser: Parser) -> None:
    _named(parser)
    parser.add_argument("file", metavar="FILE", help="to write; .jsonl, .csv or .parquet")
    parser.add_argument("--form", choices=("jsonl", "csv", "parquet"), help="if not as the name")
    parser.add_argument("--type", default="", metavar="TYPE", help="only items of this type")


async def _export(desk: "Desk", given: Given) -> None:
    from pathlib import Path

    from dure.crawl.export import export
    from dure.crawl.figures import run_of

    run = await run_of(desk.store, given.name)
    count = await export(
        desk.store, run.session, Path(given.file), form=given.form or "", kind=given.type
    )
    item = {"name": run.session, "file": given.file, "items": count}
    desk.screen.done(item, f"Wrote {counted(count, 'item')} to {given.file}.")


async def _profile(desk: "Desk", given: Given) -> None:
    import msgspec

    from dure.crawl.advice import profile_of
    from dure.crawl.figures import KEEP_SECONDS, nodes_of, run_of

    run = await run_of(desk.store, given.name)
    now = await desk.insights.now()
    nodes = await nodes_of(desk.store, now=now, fresh=KEEP_SECONDS)
    profile = profile_of([node for node in nodes if node.at >= run.started_at], run.spider)
    item: dict[str, Any] = {"name": run.session, **msgspec.to_builtins(profile)}
    lines: list[tuple[str, str | None]] = [
        ("run", clean(run.session)),
        ("pages", f"{profile.pages:,}, {profile.pages_per_second:,.1f} a second"),
    ]
    for stage in profile.stages:
        text = (
            f"{stage.pages:,} pages, fetch {stage.fetch_ms:,.1f} ms, "
            f"parse {stage.parse_ms:,.2f} ms ({stage.share:.0%}), "
            f"{stage.bytes_per_page:,} bytes, {stage.items:,} items"
        )
        lines.append((clean(stage.stage), text))
    lines += [("advice", clean(f"{each.what}: {each.why}")) for each in profile.advice]
    if not profile.advice:
        lines.append(("advice", "none: nothing stands out"))
    if nodes:
        lines.append(("measured", f"up to {length(now - max(node.at for node in nodes))} ago"))
    desk.screen.card("profile", item, lines)


VERBS: Verbs = {
    "list": Verb("show every run", _list),
    "run": PlainVerb("crawl until it is over; called again it goes on", _run, _running),
    "status": Verb("show how a run fares, with its queues, workers and errors", _status, _named),
    "pause": Verb("hold a run's pages back", _of_session(sessions.pause), sessions.pausing, True),
    "resume": Verb("let them go on", _of_session(sessions.resume), sessions.resuming, True),
    "cancel": Verb(
        "cancel a run's unfinished pages", _of_session(sessions.cancel), sessions.cancelling, True
    ),
    "checkpoint": Verb("show what a run would go on from", _checkpoint, _named),
    "set": Verb("change how a spider runs, while it runs", _set, _setting, True),
    "export": Verb("write a run's items to a file", _export, _exporting),
    "profile": Verb("show where the time goes, and what would help", _profile, _named),
    "shell": PlainVerb("fetch a page and try selectors on it", _shell, _trying),
}
