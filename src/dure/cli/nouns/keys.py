"""`dure keys`: unique keys and who took them, and letting them be taken again."""

from typing import TYPE_CHECKING, Any, Final

from dure.cli.grammar import Given, Parser, Verb, Verbs, at_least
from dure.cli.many import caution_arguments
from dure.cli.screen import Column
from dure.cli.wording import away, clean, counted

if TYPE_CHECKING:
    from dure.cli.desk import Desk
    from dure.scripts.keys import Key

_BEGIN: Final = "how they begin: global:..., kind:NAME:..., lane:NAME:..."
_LOOKED_AT: Final = 10_000
"""How many keys the look before the question counts."""


def shape(key: "Key") -> dict[str, Any]:
    """A unique key as JSON shows it; moments are seconds since 1970."""
    return {
        "name": key.key,
        "job": key.job,
        "is_held": key.is_held,
        "is_forever": key.is_forever,
        "until": None if key.is_forever else key.until,
    }


def _taken(key: dict[str, Any], now: float) -> str:
    if key["is_forever"]:
        return "forever"
    return "while its job is unfinished" if key["until"] is None else away(key["until"], now)


def _listing_arguments(parser: Parser) -> None:
    parser.add_argument("prefix", nargs="?", default="", metavar="PREFIX", help=_BEGIN)
    parser.add_argument(
        "--limit", type=at_least(1), default=50, metavar="N", help="how many (default: 50)"
    )
    parser.add_argument(
        "--after", default="", metavar="KEY", help="the last key of the page before"
    )


async def _list(desk: "Desk", given: Given) -> None:
    now = await desk.insights.now()
    found = await desk.insights.keys(given.prefix, limit=given.limit, after=given.after)
    desk.screen.listing(
        "keys",
        [shape(key) for key in found],
        (
            Column("JOB", lambda key: str(key["job"]), True),
            Column("TAKEN", lambda key: _taken(key, now)),
            Column("KEY", lambda key: key["name"]),
        ),
        empty="No unique key begins like that.",
    )
    if len(found) == given.limit and desk.screen.form == "table":
        desk.screen.say(f"There may be more: --after {clean(found[-1].key)!r}")


def _forgetting(parser: Parser) -> None:
    parser.add_argument("prefix", metavar="PREFIX", help=_BEGIN)
    caution_arguments(parser)


async def _forget(desk: "Desk", given: Given) -> None:
    if given.dry_run or not given.yes:
        found = await desk.insights.keys(given.prefix, limit=_LOOKED_AT)
        free = sum(not key.is_held and key.until is not None for key in found)
        told = counted(free, "key", capped=len(found) == _LOOKED_AT)
        if given.dry_run:
            item = _account(given.prefix, free, len(found) - free)
            desk.screen.done(item, f"Would forget {told}.")
            return
        if free and not desk.screen.confirm(f"Forget {told}?", is_sure=False):
            desk.screen.say("Nothing was done.")
            return
    forgotten, held = await desk.commands.forget_keys(given.prefix, by=desk.by, reason=given.reason)
    kept = f"; {held:,} stay, their jobs are unfinished" if held else ""
    item = _account(given.prefix, forgotten, held)
    desk.screen.done(item, f"Forgot {counted(forgotten, 'key')}{kept}.")


def _account(prefix: str, forgotten: int, held: int) -> dict[str, Any]:
    return {"command": "keys.forget", "prefix": prefix, "forgotten": forgotten, "held": held}


VERBS: Verbs = {
    "list": Verb(
        "show the unique keys under a prefix and who took them", _list, _listing_arguments
    ),
    "forget": Verb("let the unique keys under a prefix be taken again", _forget, _forgetting, True),
}
