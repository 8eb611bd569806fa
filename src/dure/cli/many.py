"""Commands on many jobs: which ones are meant, the look before, the question, the account after."""

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from dure.cli.catalog import CONFLICT, DONE, NOT_FOUND, PARTLY
from dure.cli.grammar import Given, Parser, job_id
from dure.cli.screen import Column
from dure.cli.wording import clean, counted
from dure.core.errors import ConfigError

if TYPE_CHECKING:
    from dure.cli.desk import Desk
    from dure.core.filter import JobFilter
    from dure.engine.desk.bulk import Act, Plan, Result, Selection, Watcher

FILTER_HELP = "such as 'state:failed kind:fetch.* lane:acme error:Timeout age>1h args.code:5'"


class Wish(NamedTuple):
    """A command on many jobs, in words and as a call."""

    act: "Act"
    verb: str
    """`cancel`, as in the question."""
    done: str
    """`cancelled`, as in the account."""
    do: "Callable[[Selection, Watcher], Awaitable[Result]]"


def selection_arguments(parser: Parser) -> None:
    """Which jobs are meant."""
    parser.add_argument("ids", nargs="*", type=job_id, metavar="ID", help="the jobs")
    parser.add_argument("--filter", metavar="FILTER", help=FILTER_HELP)
    parser.add_argument("--stdin", action="store_true", help="read ids from standard input")
    caution_arguments(parser)


def caution_arguments(parser: Parser) -> None:
    """Looking first, and going ahead without being asked."""
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def parsed(text: str) -> "JobFilter":
    """A filter as people write it. Raises ConfigError."""
    from dure.core.filter import JobFilter

    try:
        return JobFilter.parse(text)
    except ValueError as error:
        raise ConfigError(f"The filter cannot be read: {error}.") from error


def selection_of(given: Given, *, also: str = "") -> "Selection":
    """The ids or the filter that were given; `also` are terms from other options."""
    ids = list(given.ids)
    if given.stdin:
        ids += [_read_id(word) for line in sys.stdin for word in line.split()]
    text = " ".join(part for part in (given.filter, also) if part)
    if (ids or given.stdin) and (text or given.filter is not None):
        raise ConfigError("Both ids and a filter were given.", "Use one of them.")
    if ids or given.stdin:
        return ids
    if not text and given.filter is None:
        raise ConfigError(
            "No job was named.", "Give ids, --stdin, or --filter ('' means all jobs)."
        )
    return parsed(text)


def _read_id(word: str) -> int:
    if not word.isascii() or not word.isdigit() or not 0 < int(word) < 2**63:
        raise ConfigError(f"{word[:40]!r} on standard input is no id.", "Write one id a line.")
    return int(word)


async def carry_out(desk: "Desk", given: Given, wish: Wish, selection: "Selection") -> int:
    """Look, ask, do, and tell; the exit code."""
    from dure.engine.desk.bulk import Result

    named = isinstance(selection, list)
    if given.dry_run:
        show_plan(desk, wish, await desk.commands.preview(wish.act, selection))
        return DONE
    if not named and not given.yes:
        plan = await desk.commands.preview(wish.act, selection)
        affected = counted(*plan.affected[:1], "job", capped=plan.affected.is_capped)
        if not plan.affected.jobs:
            tell(desk, wish, Result())
            return DONE
        if not desk.screen.confirm(f"{wish.verb.capitalize()} {affected}?", is_sure=False):
            desk.screen.say("Nothing was done.")
            return DONE

    def watch(done: Result) -> None:
        desk.screen.progress(f"{wish.done} {done.applied:,} of {done.matched:,} so far")

    result = await wish.do(selection, watch)
    tell(desk, wish, result)
    return code_of(result, named=named)


def show_plan(desk: "Desk", wish: Wish, plan: "Plan") -> None:
    """What would be done, by state."""
    items = [
        {
            "name": state.name,
            "jobs": count.jobs,
            "is_capped": count.is_capped,
            "would": wish.verb if state in plan.acts_on else "skip",
        }
        for state, count in plan.counts.items()
    ]
    desk.screen.listing(
        "plan",
        items,
        (
            Column("STATE", lambda item: item["name"]),
            Column("JOBS", lambda i: f"{i['jobs']:,}{'+' if i['is_capped'] else ''}", True),
            Column("WOULD", lambda item: item["would"]),
        ),
        empty="No job matches.",
    )


def tell(desk: "Desk", wish: Wish, result: "Result") -> None:
    """What has been done, and why not more."""
    item: dict[str, Any] = {
        "command": wish.act.command,
        "applied": result.applied,
        "skipped": result.skipped,
        "refused": result.refused,
        "missing": list(result.missing),
        "notes": [{"id": note.job, "sentence": note.sentence} for note in result.notes],
    }
    desk.screen.done(item, account(wish.done, result))
    if desk.screen.form in {"json", "ndjson"}:
        return
    for note in result.notes:
        desk.screen.say(f"  job {note.job}: {clean(note.sentence)}")
    for job in result.missing:
        desk.screen.say(f"  job {job}: there is no such job")
    untold = result.skipped + result.refused - len(result.notes)
    if untold:
        desk.screen.say(f"  and {counted(untold, 'other')}")


def account(done: str, result: "Result") -> str:
    """`cancelled 3 jobs; 1 skipped, 1 refused`."""
    rest = [
        f"{number:,} {what}"
        for number, what in (
            (result.skipped, "skipped"),
            (result.refused, "refused"),
            (len(result.missing), "not found"),
        )
        if number
    ]
    return f"{done.capitalize()} {counted(result.applied, 'job')}" + (
        f"; {', '.join(rest)}." if rest else "."
    )


def code_of(result: "Result", *, named: bool) -> int:
    """Done, partly done, or nothing done of what was asked for."""
    failed = result.refused + len(result.missing) + (result.skipped if named else 0)
    if not failed:
        return DONE
    if result.applied:
        return PARTLY
    return NOT_FOUND if not result.matched else CONFLICT
