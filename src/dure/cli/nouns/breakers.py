"""`dure breakers`: which resources fail, and switching them by hand."""

from typing import TYPE_CHECKING, Any, Literal

from dure.cli.grammar import Given, Parser, Verb, Verbs, length, name_argument
from dure.cli.screen import Column
from dure.cli.wording import clean

if TYPE_CHECKING:
    from dure.cli.desk import Desk
    from dure.core.breaker import Condition


def shape(name: str, condition: "Condition") -> dict[str, Any]:
    """A breaker as JSON shows it; moments are seconds since 1970."""
    return {"name": name, **condition._asdict(), "phase": condition.phase.value}


async def _list(desk: "Desk", _given: Given) -> None:
    found = await desk.insights.breakers()
    desk.screen.listing(
        "breakers",
        [shape(name, condition) for name, condition in found.items()],
        (
            Column("NAME", lambda breaker: breaker["name"]),
            Column("PHASE", lambda breaker: breaker["phase"]),
            Column("FAILED", lambda b: f"{b['failures']} of {b['calls']}", True),
            Column("STATUS", lambda breaker: breaker["sentence"]),
        ),
        empty="No breaker was ever used.",
    )


def _forcing(parser: Parser) -> None:
    name_argument("breaker")(parser)
    parser.add_argument(
        "--for", dest="span", type=length, metavar="TIME", help="for so long, not until changed"
    )


async def _open(desk: "Desk", given: Given) -> None:
    await _force(desk, given, "open")


async def _close(desk: "Desk", given: Given) -> None:
    await _force(desk, given, "closed")


async def _force(desk: "Desk", given: Given, to: Literal["open", "closed"]) -> None:
    condition = await desk.commands.force_breaker(
        given.name, to, by=desk.by, reason=given.reason, span=given.span
    )
    desk.screen.done(
        shape(given.name, condition), f"Breaker {clean(given.name)!r} is {condition.sentence}."
    )


VERBS: Verbs = {
    "list": Verb("show breakers and what they have seen", _list),
    "open": Verb("let nothing through", _open, _forcing, True),
    "close": Verb("let everything through", _close, _forcing, True),
}
