"""`dure pause`: stop everything; and how every pause is asked for and told."""

from typing import TYPE_CHECKING, Any

from dure.cli.grammar import Given, Parser, Verb, Verbs
from dure.cli.wording import clean

if TYPE_CHECKING:
    from dure.cli.desk import Desk
    from dure.scripts.pauses import Pause


def shape(pause: "Pause") -> dict[str, Any]:
    """A pause as JSON shows it."""
    return {
        "scope": pause.scope.value,
        "name": pause.name,
        "reason": pause.reason,
        "by": pause.by,
        "at": pause.at,
        "drain": pause.drain,
    }


def interrupt_argument(parser: Parser) -> None:
    """Whether running jobs may end."""
    parser.add_argument(
        "--interrupt", action="store_true", help="also stop what runs, which then waits again"
    )


async def tell_paused(desk: "Desk", pause: "Pause") -> None:
    """Say what is paused now; a name nobody has used yet may be a slip."""
    running = "running jobs may end" if pause.drain else "running jobs are stopped"
    target = clean(pause.target)
    desk.screen.done(shape(pause), f"{target[:1].upper()}{target[1:]} is paused; {running}.")
    if not await _is_known(desk, pause):
        desk.screen.say(f"Note: there is no {target} yet. If that is a slip, resume it.")


async def _is_known(desk: "Desk", pause: "Pause") -> bool:
    from dure.core.errors import NotFound

    match pause.scope.value:
        case "lane":
            try:
                await desk.insights.lane(pause.name)
            except NotFound:
                return False
        case "kind":
            return any(kind.name == pause.name for kind in await desk.insights.kinds())
        case "session":
            return bool((await desk.insights.session(pause.name)).counts)
    return True


def tell_resumed(desk: "Desk", pause: "Pause") -> None:
    """Say what is not paused any more."""
    target = clean(pause.target)
    desk.screen.done(shape(pause), f"{target[:1].upper()}{target[1:]} is resumed.")


async def _pause(desk: "Desk", given: Given) -> None:
    pause = await desk.commands.pause(
        "all", by=desk.by, reason=given.reason, drain=not given.interrupt
    )
    await tell_paused(desk, pause)


VERBS: Verbs = {"": Verb("stop everything", _pause, interrupt_argument, True)}
