"""`dure batches`: how far they are, when they will be over, and how they went."""

from typing import TYPE_CHECKING, Any, Final

from dure.cli.grammar import Given, Parser, Verb, Verbs, job_id, page_arguments
from dure.cli.many import account, code_of
from dure.cli.nouns.sessions import eta_shape
from dure.cli.screen import Column
from dure.cli.wording import away, clean, stamp, states

if TYPE_CHECKING:
    from dure.cli.desk import Desk
    from dure.core.batch import Tally
    from dure.engine.desk.insights import BatchView

_STATES: Final = ("open", "sealed", "done", "interrupted")


def _counts(tally: "Tally") -> dict[str, int]:
    return {
        "added": tally.added,
        "success": tally.success,
        "failed": tally.failed,
        "skipped": tally.skipped,
        "stale": tally.stale,
        "cancelled": tally.cancelled,
        "remaining": tally.remaining,
    }


def shape(view: "BatchView") -> dict[str, Any]:
    """A batch as JSON shows it; moments are seconds since 1970."""
    batch = view.batch
    return {
        "id": batch.id,
        "name": batch.name,
        "state": batch.state.name,
        "opened_at": batch.opened_at,
        "sealed_at": batch.sealed_at,
        "ended_at": batch.ended_at,
        "counts": _counts(view.tally),
        "orphans": batch.orphans,
        "note": batch.note,
        "is_reported": batch.report is not None,
        "eta": eta_shape(view.eta),
    }


def left(view: "BatchView", now: float) -> str:
    """When it will be over."""
    if view.batch.ended_at is not None:
        return f"over {away(view.batch.ended_at, now)}"
    return view.eta.text(now) if view.eta else "unknown, too little has ended lately"


def _listing_arguments(parser: Parser) -> None:
    parser.add_argument("--name", metavar="NAME", help="only batches of this name")
    parser.add_argument("--state", choices=_STATES, help="only batches in this state")
    page_arguments(parser, size=20)


async def _list(desk: "Desk", given: Given) -> None:
    from dure.core.batch import BatchState

    now = await desk.insights.now()
    state = None if given.state is None else BatchState[given.state.upper()]
    found = await desk.insights.batches(given.name, state, limit=given.limit, before=given.place)
    shown = {view.batch.id: left(view, now) for view in found}
    desk.screen.listing(
        "batches",
        [shape(view) for view in found],
        (
            Column("ID", lambda batch: str(batch["id"]), True),
            Column("NAME", lambda batch: batch["name"]),
            Column("STATE", lambda batch: batch["state"]),
            Column("JOBS", lambda batch: f"{batch['counts']['added']:,}", True),
            Column("LEFT", lambda batch: f"{batch['counts']['remaining']:,}", True),
            Column("FAILED", lambda batch: f"{batch['counts']['failed']:,}", True),
            Column("OPENED", lambda batch: away(batch["opened_at"], now)),
            Column("OVER", lambda batch: shown[batch["id"]]),
        ),
        empty="There are no such batches.",
    )
    if len(found) == given.limit and desk.screen.form == "table":
        desk.screen.say(f"There may be more: --before {found[-1].batch.id}")


def _one(parser: Parser) -> None:
    parser.add_argument("id", type=job_id, metavar="ID", help="the batch")


async def _show(desk: "Desk", given: Given) -> None:
    now = await desk.insights.now()
    view = await desk.insights.batch(given.id)
    batch = view.batch
    desk.screen.card(
        "batch",
        shape(view),
        [
            ("id", str(batch.id)),
            ("name", clean(batch.name)),
            ("state", batch.state.name),
            ("opened", stamp(batch.opened_at, now)),
            ("ended", None if batch.ended_at is None else stamp(batch.ended_at, now)),
            ("jobs", states(_counts(view.tally))),
            ("orphans", str(batch.orphans) if batch.orphans else None),
            ("left", None if batch.ended_at is not None else left(view, now)),
            ("note", clean(batch.note) or None),
            ("report", None if batch.ended_at is None else clean(batch.summary(now).text())),
        ],
    )


def _interrupting(parser: Parser) -> None:
    _one(parser)
    parser.add_argument(
        "--cancel-jobs", action="store_true", help="also cancel its unfinished jobs"
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


async def _interrupt(desk: "Desk", given: Given) -> int:
    view = await desk.insights.batch(given.id)
    name = clean(view.batch.name)
    if given.cancel_jobs and view.batch.ended_at is None:
        question = f"Interrupt batch {given.id} ({name}) and cancel its unfinished jobs?"
        if not desk.screen.confirm(question, is_sure=given.yes):
            desk.screen.say("Nothing was done.")
            return 0
    _, done = await desk.commands.interrupt_batch(
        given.id, by=desk.by, reason=given.reason, cancel=given.cancel_jobs
    )
    told = f" {account('cancelled', done)}" if given.cancel_jobs else " Its jobs go on."
    after = await desk.insights.batch(given.id)
    desk.screen.done(shape(after), f"Batch {given.id} ({name}) is interrupted.{told}")
    return code_of(done, named=False)


VERBS: Verbs = {
    "list": Verb("show batches, newest first", _list, _listing_arguments),
    "show": Verb("show all that is known of a batch", _show, _one),
    "interrupt": Verb("end a batch before its time", _interrupt, _interrupting, True),
}
