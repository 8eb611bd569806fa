"""`dure sessions`: all jobs of a session at once."""

from typing import TYPE_CHECKING, Any

from dure.cli.grammar import Given, Parser, Verb, Verbs, length, name_argument
from dure.cli.many import Wish, carry_out, caution_arguments
from dure.cli.nouns.pause import interrupt_argument, shape as pause_shape, tell_paused, tell_resumed
from dure.cli.wording import away, clean, states

if TYPE_CHECKING:
    from dure.cli.desk import Desk
    from dure.core.batch import Eta
    from dure.engine.desk.bulk import Result, Selection


def eta_shape(eta: "Eta | None") -> dict[str, Any] | None:
    """An estimate as JSON shows it; moments are seconds since 1970."""
    if eta is None:
        return None
    return {"low": eta.low, "likely": eta.likely, "high": eta.high, "window": eta.window}


async def _show(desk: "Desk", given: Given) -> None:
    now = await desk.insights.now()
    session = await desk.insights.session(given.name)
    counts = {state.name.lower(): number for state, number in sorted(session.counts.items())}
    item = {
        "name": session.name,
        "counts": counts,
        "remaining": session.remaining,
        "pause": None if session.pause is None else pause_shape(session.pause),
        "eta": eta_shape(session.eta),
    }
    left = "done" if not session.remaining else "unknown, too little has ended lately"
    desk.screen.card(
        "session",
        item,
        [
            ("name", clean(session.name)),
            ("jobs", states(counts)),
            ("paused", None if session.pause is None else away(session.pause.at, now)),
            ("left", session.eta.text(now) if session.eta else left),
        ],
    )


def pausing(parser: Parser) -> None:
    name_argument("session")(parser)
    interrupt_argument(parser)


async def pause(desk: "Desk", given: Given) -> None:
    paused = await desk.commands.pause(
        "session", given.name, by=desk.by, reason=given.reason, drain=not given.interrupt
    )
    await tell_paused(desk, paused)


def resuming(parser: Parser) -> None:
    name_argument("session")(parser)
    parser.add_argument(
        "--spread", type=length, default=0.0, metavar="TIME", help="start its jobs over this time"
    )


async def resume(desk: "Desk", given: Given) -> None:
    ended = await desk.commands.resume(
        "session", given.name, by=desk.by, reason=given.reason, spread=given.spread
    )
    tell_resumed(desk, ended)


def cancelling(parser: Parser) -> None:
    name_argument("session")(parser)
    caution_arguments(parser)


async def cancel(desk: "Desk", given: Given) -> int:
    from dure.engine.desk import bulk
    from dure.engine.desk.commands import session_filter

    await desk.insights.session(given.name)

    async def do(selection: "Selection", watch: Any) -> "Result":
        return await desk.commands.cancel(selection, by=desk.by, reason=given.reason, watch=watch)

    wish = Wish(bulk.CANCEL, "cancel", "cancelled", do)
    return await carry_out(desk, given, wish, session_filter(given.name))


VERBS: Verbs = {
    "show": Verb("show a session and when it will be over", _show, name_argument("session")),
    "pause": Verb("suspend a session's jobs, and those that come", pause, pausing, True),
    "resume": Verb("end a session's pause", resume, resuming, True),
    "cancel": Verb("cancel a session's unfinished jobs", cancel, cancelling, True),
}
