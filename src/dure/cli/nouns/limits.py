"""`dure limits`: how fast resources may be used, and how much of that is used up."""

from typing import TYPE_CHECKING, Any

from dure.cli.grammar import Given, Parser, Verb, Verbs, at_least, length, name_argument
from dure.cli.screen import Column
from dure.cli.wording import away, clean, stamp
from dure.core.errors import SettingInvalid

if TYPE_CHECKING:
    from dure.cli.desk import Desk
    from dure.scripts.limits import Standing


def shape(standing: "Standing") -> dict[str, Any]:
    """A limit as JSON shows it; moments are seconds since 1970."""
    return {
        "name": standing.limit.name,
        "windows": [use._asdict() for use in standing.windows],
        "max_running": standing.limit.max_running,
        "rate_factor": standing.limit.rate_factor,
        "hold": standing.limit.hold_seconds,
        "blocked_until": standing.blocked_until,
    }


def _status(limit: dict[str, Any], now: float) -> str:
    if limit["blocked_until"] is not None and limit["blocked_until"] > now:
        return f"blocked, opens {away(limit['blocked_until'], now)}"
    full = [use["free_at"] for use in limit["windows"] if (use["free_at"] or now) > now]
    return f"used up, has room {away(max(full), now)}" if full else "has room"


async def _list(desk: "Desk", _given: Given) -> None:
    now = await desk.insights.now()
    desk.screen.listing(
        "limits",
        [shape(standing) for standing in (await desk.insights.limits()).values()],
        (
            Column("NAME", lambda limit: limit["name"]),
            Column(
                "USED",
                lambda limit: ", ".join(
                    f"{use['used']:,} of {use['window']}" for use in limit["windows"]
                ),
            ),
            Column("CAP", lambda limit: limit["max_running"] and str(limit["max_running"]), True),
            Column("STATUS", lambda limit: _status(limit, now)),
        ),
        empty="There are no limits.",
    )


def _defining(parser: Parser) -> None:
    name_argument("limit")(parser)
    parser.add_argument(
        "windows",
        nargs="*",
        metavar="WINDOW",
        help="such as 20/s, 15/m, '1000000 tokens/m', 1500/day:Asia/Seoul",
    )
    parser.add_argument("--cap", type=at_least(1), metavar="N", help="how many may run at once")
    parser.add_argument("--hold", type=length, metavar="TIME", help="how long a permit is kept")


async def _define(desk: "Desk", given: Given) -> None:
    from dure.core.limit import Limit, Window

    try:
        windows = tuple(Window.parse(text) for text in given.windows)
        limit = Limit(given.name, windows, given.cap, hold=given.hold)
    except ValueError as error:
        raise SettingInvalid(f"The limit {given.name!r} cannot be defined: {error}.") from error
    changed = await desk.commands.define_limit(limit, by=desk.by, reason=given.reason)
    end = "is defined" if changed else "is so already"
    await _tell(desk, given.name, f"Limit {clean(given.name)!r} {end}.")


async def _remove(desk: "Desk", given: Given) -> None:
    await desk.commands.remove_limit(given.name, by=desk.by, reason=given.reason)
    desk.screen.done({"name": given.name}, f"Limit {clean(given.name)!r} is removed.")


def _blocking(parser: Parser) -> None:
    name_argument("limit")(parser)
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument(
        "--for", dest="span", type=length, metavar="TIME", help="grant nothing so long"
    )
    way.add_argument("--lift", action="store_true", help="end the block")


async def _block(desk: "Desk", given: Given) -> None:
    until = await desk.commands.block_limit(given.name, given.span, by=desk.by, reason=given.reason)
    now = await desk.insights.now()
    end = "is not blocked" if until is None else f"grants nothing until {stamp(until, now)}"
    await _tell(desk, given.name, f"Limit {clean(given.name)!r} {end}.")


async def _tell(desk: "Desk", name: str, sentence: str) -> None:
    standing = (await desk.insights.limits()).get(name)
    desk.screen.done({"name": name} if standing is None else shape(standing), sentence)


VERBS: Verbs = {
    "list": Verb("show limits and how full they are", _list),
    "define": Verb("define a limit, or change it", _define, _defining, True),
    "remove": Verb("remove a limit", _remove, name_argument("limit"), True),
    "block": Verb("let a limit grant nothing for some time", _block, _blocking, True),
}
