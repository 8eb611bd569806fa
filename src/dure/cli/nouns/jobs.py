"""`dure jobs`: look at jobs, and do something about them, one by one or all that match."""

import json
from typing import TYPE_CHECKING, Any

from dure.cli.grammar import Given, Parser, Verb, Verbs, job_id, length, page_arguments
from dure.cli.many import (
    FILTER_HELP,
    Wish,
    carry_out,
    parsed,
    selection_arguments,
    selection_of,
)
from dure.cli.screen import Column
from dure.cli.wording import NONE, away, clean, length as spent, stamp
from dure.core.errors import ConfigError

if TYPE_CHECKING:
    from dure.cli.desk import Desk
    from dure.engine.desk.bulk import Selection
    from dure.scripts.jobs import Attempt, Record


def shape(record: "Record") -> dict[str, Any]:
    """A job as JSON shows it; moments are seconds since 1970."""
    return {
        "id": record.id,
        "state": record.state.name,
        "kind": record.kind,
        "lane": record.lane,
        "priority": record.priority.name,
        "attempt": record.attempt,
        "batch": record.batch,
        "session": record.session,
        "parent": record.parent,
        "subject": record.subject,
        "epoch": record.epoch,
        "key": record.key,
        "reason": record.reason,
        "error": record.error,
        "worker": record.worker,
        "enqueued_at": record.enqueued_at,
        "claimed_at": record.claimed_at,
        "due_at": record.due,
        "finished_at": record.finished_at,
        "args": _value(record.body),
        "result": None if record.result is None else _value(record.result),
    }


def _value(text: str) -> Any:
    """What JSON says; what is none, which only a job built by hand can hold, as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _tried(attempt: "Attempt") -> dict[str, Any]:
    return {
        "attempt": attempt.attempt,
        "worker": attempt.worker,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "event": attempt.event.value,
        "error": attempt.error,
    }


def _listing_arguments(parser: Parser) -> None:
    parser.add_argument("terms", nargs="*", metavar="TERM", help=FILTER_HELP)
    parser.add_argument("--filter", metavar="FILTER", help="the same as one argument")
    parser.add_argument("--oldest", action="store_true", help="oldest first")
    page_arguments(parser, "--after")


async def _list(desk: "Desk", given: Given) -> None:
    now = await desk.insights.now()
    found = await desk.insights.jobs(
        parsed(" ".join([*given.terms, given.filter or ""])),
        limit=given.limit,
        after=given.place,
        newest_first=not given.oldest,
    )

    def note(item: dict[str, Any]) -> str:
        due = f"due {away(item['due_at'], now)}" if item["due_at"] is not None else ""
        return "; ".join(part for part in (due, item["reason"], item["error"]) if part) or NONE

    desk.screen.listing(
        "jobs",
        [shape(record) for record in found],
        (
            Column("ID", lambda job: str(job["id"]), True),
            Column("STATE", lambda job: job["state"]),
            Column("KIND", lambda job: job["kind"]),
            Column("LANE", lambda job: job["lane"]),
            Column("TRY", lambda job: str(job["attempt"]), True),
            Column("AGE", lambda job: spent(now - job["enqueued_at"]), True),
            Column("NOTE", note),
        ),
        empty="No job matches.",
    )
    if len(found) == given.limit and desk.screen.form == "table":
        desk.screen.say(f"There may be more: --after {found[-1].id}")


async def _count(desk: "Desk", given: Given) -> None:
    from dure.engine.desk.bulk import Act

    every = Act(command="", events={})
    plan = await desk.commands.preview(every, parsed(" ".join([*given.terms, given.filter or ""])))
    items = [
        {"name": state.name, "jobs": count.jobs, "is_capped": count.is_capped}
        for state, count in plan.counts.items()
    ]
    columns = (
        Column("STATE", lambda item: item["name"]),
        Column("JOBS", lambda i: f"{i['jobs']:,}{'+' if i['is_capped'] else ''}", True),
    )
    desk.screen.listing("counts", items, columns, empty="No job matches.")


def _counting_arguments(parser: Parser) -> None:
    parser.add_argument("terms", nargs="*", metavar="TERM", help=FILTER_HELP)
    parser.add_argument("--filter", metavar="FILTER", help="the same as one argument")


def _one(parser: Parser) -> None:
    parser.add_argument("id", type=job_id, metavar="ID", help="the job")


async def _show(desk: "Desk", given: Given) -> None:
    now = await desk.insights.now()
    explanation = await desk.insights.why(given.id)
    record, tried = explanation.record, await desk.insights.attempts(given.id)
    job = shape(record) | {
        "why": {"sentence": explanation.reason.sentence, "until": explanation.reason.until},
        "attempts": [_tried(attempt) for attempt in tried],
    }

    def at(moment: float | None) -> str | None:
        return None if moment is None else stamp(moment, now)

    def told(text: object) -> str | None:
        return None if text is None else clean(str(text))

    desk.screen.card(
        "job",
        job,
        [
            ("id", str(record.id)),
            ("state", record.state.name),
            ("why", clean(explanation.reason.sentence)),
            ("kind", told(record.kind)),
            ("lane", told(record.lane)),
            ("priority", record.priority.name),
            ("enqueued", at(record.enqueued_at)),
            ("claimed", at(record.claimed_at)),
            ("due", at(record.due)),
            ("finished", at(record.finished_at)),
            ("batch", told(record.batch)),
            ("session", told(record.session)),
            ("parent", told(record.parent)),
            ("key", told(record.key)),
            ("subject", told(record.subject and f"{record.subject} at epoch {record.epoch}")),
            ("reason", told(record.reason)),
            ("error", told(record.error)),
            ("args", clean(record.body)),
            ("result", told(record.result)),
            *(
                (
                    f"attempt {a.attempt}",
                    clean(f"{a.event} {away(a.ended_at, now)} {a.error or ''}"),
                )
                for a in tried
            ),
        ],
    )


async def _why(desk: "Desk", given: Given) -> None:
    for job in given.ids:
        found = await desk.insights.why(job)
        item = {
            "id": job,
            "state": found.record.state.name,
            "sentence": found.reason.sentence,
            "until": found.reason.until,
            "code": found.reason.code,
            "is_complete": found.is_complete,
        }
        title = f"job {job}" if len(given.ids) > 1 else ""
        desk.screen.card("why", item, [(title, clean(found.reason.sentence))])
        if found.reason.code == "turn" and not found.is_complete:
            kind = clean(found.record.kind)
            desk.screen.say(
                f"The limits and the breaker of kind {kind} are not known here: add --app MODULE."
            )


def _several(parser: Parser) -> None:
    parser.add_argument("ids", nargs="+", type=job_id, metavar="ID", help="the jobs")


def _spread(parser: Parser) -> None:
    selection_arguments(parser)
    parser.add_argument(
        "--spread", type=length, default=0.0, metavar="TIME", help="start them over this time"
    )


async def _retry(desk: "Desk", given: Given) -> int:
    from dure.engine.desk import bulk

    async def do(selection: "Selection", watch: Any) -> bulk.Result:
        return await desk.commands.retry(
            selection, by=desk.by, reason=given.reason, spread=given.spread, watch=watch
        )

    wish = Wish(bulk.RETRY, "retry", "retried", do)
    return await carry_out(desk, given, wish, selection_of(given))


def _resuming(parser: Parser) -> None:
    _spread(parser)
    parser.add_argument("--suspended-for", metavar="REASON", help="only those with this reason")
    parser.add_argument("--kind", metavar="KIND", help="only those of this kind")
    parser.add_argument("--lane", metavar="LANE", help="only those of this lane")


async def _resume(desk: "Desk", given: Given) -> int:
    from dure.core.filter import JobFilter, Op, Term, Text
    from dure.engine.desk import bulk

    async def do(selection: "Selection", watch: Any) -> bulk.Result:
        return await desk.commands.resume_jobs(
            selection, by=desk.by, reason=given.reason, spread=given.spread, watch=watch
        )

    chosen = (("reason", given.suspended_for), ("kind", given.kind), ("lane", given.lane))
    terms = tuple(Term(field, Op.EQ, (Text(text),)) for field, text in chosen if text is not None)
    selection = selection_of(given, also=str(JobFilter(terms)))
    return await carry_out(desk, given, Wish(bulk.RESUME, "resume", "resumed", do), selection)


async def _suspend(desk: "Desk", given: Given) -> int:
    from dure.engine.desk import bulk

    if not given.reason:
        raise ConfigError(
            "A suspended job needs a reason.",
            "Give --reason TEXT; by it the jobs can be found and resumed again.",
        )

    async def do(selection: "Selection", watch: Any) -> bulk.Result:
        return await desk.commands.suspend(selection, given.reason, by=desk.by, watch=watch)

    wish = Wish(bulk.SUSPEND, "suspend", "suspended", do)
    return await carry_out(desk, given, wish, selection_of(given))


async def _cancel(desk: "Desk", given: Given) -> int:
    from dure.engine.desk import bulk

    async def do(selection: "Selection", watch: Any) -> bulk.Result:
        return await desk.commands.cancel(selection, by=desk.by, reason=given.reason, watch=watch)

    wish = Wish(bulk.CANCEL, "cancel", "cancelled", do)
    return await carry_out(desk, given, wish, selection_of(given))


def _editing(parser: Parser) -> None:
    _one(parser)
    parser.add_argument("--args", metavar="JSON", help="all arguments anew, as a JSON object")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change one argument; VALUE is JSON, or else text",
    )
    parser.add_argument(
        "--replay", action="store_true", help="agree that a finished job runs again with them"
    )


async def _edit(desk: "Desk", given: Given) -> None:
    from dure.core.errors import Refused
    from dure.core.state import FINAL

    record = await desk.insights.job(given.id)
    if record.state in FINAL and not given.replay:
        raise Refused(
            f"Job {given.id} is {record.state.name}; with other arguments it runs again.",
            "Add --replay if that is what you want.",
        )
    after = await desk.commands.edit(
        given.id, _edited(record, given), by=desk.by, reason=given.reason
    )
    sentence = f"Job {given.id} is {after.state.name} and has the arguments {clean(after.body)}."
    desk.screen.done(shape(after), sentence)


def _edited(record: "Record", given: Given) -> str:
    if (given.args is None) is (not given.set):
        wrong = "Nothing to change." if given.args is None else "Both ways to change were given."
        raise ConfigError(wrong, "Give --args JSON, or --set NAME=VALUE as often as needed.")
    if given.args is not None:
        text: str = given.args
        return text
    arguments = dict(record.args)
    for change in given.set:
        name, equals, value = change.partition("=")
        if not equals:
            raise ConfigError(f"{change!r} sets nothing.", "Write NAME=VALUE.")
        try:
            arguments[name] = json.loads(value)
        except ValueError:
            arguments[name] = value
    return json.dumps(arguments)


VERBS: Verbs = {
    "list": Verb("show jobs that match a filter, newest first", _list, _listing_arguments),
    "count": Verb("count jobs that match a filter, by state", _count, _counting_arguments),
    "show": Verb("show all that is known of a job", _show, _one),
    "why": Verb("say why jobs are not running, and until when", _why, _several),
    "retry": Verb("run again what failed, now what waits for a retry", _retry, _spread, True),
    "cancel": Verb("end unfinished jobs, running ones at once", _cancel, selection_arguments, True),
    "suspend": Verb("stop jobs until they are resumed", _suspend, selection_arguments, True),
    "resume": Verb("let suspended jobs run again", _resume, _resuming, True),
    "edit": Verb("give a job other arguments", _edit, _editing, True),
}
