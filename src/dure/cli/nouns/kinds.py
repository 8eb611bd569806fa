"""`dure kinds`: which kinds of job there are, who serves them, and whether they are paused."""

from typing import TYPE_CHECKING

from dure.cli.grammar import Given, Parser, Verb, Verbs, name_argument
from dure.cli.nouns.pause import interrupt_argument, shape as pause_shape, tell_paused, tell_resumed
from dure.cli.screen import Column
from dure.cli.wording import away

if TYPE_CHECKING:
    from dure.cli.desk import Desk


async def _list(desk: "Desk", _given: Given) -> None:
    now = await desk.insights.now()
    items = [
        {
            "name": kind.name,
            "workers": kind.workers,
            "is_declared": kind.is_declared,
            "pause": None if kind.pause is None else pause_shape(kind.pause),
        }
        for kind in await desk.insights.kinds()
    ]
    columns = [
        Column("NAME", lambda kind: kind["name"]),
        Column("WORKERS", lambda kind: str(kind["workers"]), True),
        Column(
            "STATUS",
            lambda kind: (
                f"paused {away(kind['pause']['at'], now)}"
                if kind["pause"]
                else "open"
                if kind["workers"]
                else "no live worker knows it"
            ),
        ),
    ]
    if desk.kinds:
        declared = Column("DECLARED", lambda kind: "yes" if kind["is_declared"] else "no")
        columns.insert(2, declared)
    empty = "There are no kinds yet; a kind exists once a program that declares it has run."
    desk.screen.listing("kinds", items, columns, empty=empty)


def _pausing(parser: Parser) -> None:
    name_argument("kind")(parser)
    interrupt_argument(parser)


async def _pause(desk: "Desk", given: Given) -> None:
    pause = await desk.commands.pause(
        "kind", given.name, by=desk.by, reason=given.reason, drain=not given.interrupt
    )
    await tell_paused(desk, pause)


async def _resume(desk: "Desk", given: Given) -> None:
    pause = await desk.commands.resume("kind", given.name, by=desk.by, reason=given.reason)
    tell_resumed(desk, pause)


VERBS: Verbs = {
    "list": Verb("show kinds and who serves them", _list),
    "pause": Verb("stop a kind", _pause, _pausing, True),
    "resume": Verb("end the pause of a kind", _resume, name_argument("kind"), True),
}
