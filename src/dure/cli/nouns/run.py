"""`dure run`: a worker of a program, from its start line to the account of its departure."""

import argparse
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dure.cli.catalog import DONE, FAILED
from dure.cli.grammar import Given, Parser, PlainVerb, Verbs, at_least, length
from dure.cli.screen import Screen
from dure.cli.wording import clean, counted
from dure.core.errors import ConfigError

if TYPE_CHECKING:
    import asyncio

    from dure.compose import App
    from dure.engine.node import Node
    from dure.engine.options import Departure, NodeOptions

_TICK_SECONDS: Final = 0.5
_WATCH_SECONDS: Final = 0.05


class Address(NamedTuple):
    """Where to answer questions about health."""

    host: str
    port: int


def _address(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 65536:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no address; write HOST:PORT, as 127.0.0.1:8000"
        )
    return Address(host.strip("[]") or "127.0.0.1", int(port))


def _arguments(parser: Parser) -> None:
    parser.add_argument(
        "program", nargs="?", metavar="MODULE[:APP]", help="a module, or the path of a .py file"
    )
    parser.add_argument("--name", default="", metavar="NAME", help="of this worker, for people")
    parser.add_argument("--slots", type=at_least(1), metavar="N", help="jobs at the same time")
    parser.add_argument("--kinds", metavar="A,B", help="serve only these kinds")
    parser.add_argument(
        "--grace", type=length, metavar="TIME", help="what running jobs have to end"
    )
    parser.add_argument(
        "--recover-lanes", type=length, metavar="TIME", help="try disabled lanes again after this"
    )
    parser.add_argument(
        "--until-idle", action="store_true", help="leave when nothing is left that could run"
    )
    parser.add_argument(
        "--health", type=_address, metavar="HOST:PORT", help="serve /livez, /readyz and /metrics"
    )


def _run(screen: Screen, given: Given) -> int:
    import asyncio

    from dure.cli.program import load
    from dure.engine.options import NodeOptions

    target = given.program or given.app
    if target is None:
        raise ConfigError("Which program?", "Write `dure run MODULE[:APP]` or a .py file.")
    if given.store is not None:
        raise ConfigError(
            "A program names its store by itself.",
            "To choose it from outside, write App(os.environ['DURE_STORE']) in the program.",
        )
    options = NodeOptions(
        name=given.name,
        slots=given.slots,
        grace=given.grace,
        kinds=tuple(kind.strip() for kind in given.kinds.split(",")) if given.kinds else (),
        recover_after=given.recover_lanes,
    )
    departure = asyncio.run(_serve(screen, given, load(target), options))
    screen.done(_shape(departure), _account(departure))
    return DONE if departure.is_clean else FAILED


async def _serve(screen: Screen, given: Given, app: "App", options: "NodeOptions") -> "Departure":
    import asyncio

    from dure.engine.signals import depart_on_signal

    async with app:
        node = app.node(options)
        await node.start()
        health = None
        try:
            health = await _open_health(node, given.health)
        except BaseException:
            await node.stop(0)
            raise
        _greet(screen, given, app, node)
        telling = asyncio.create_task(_tell(screen, node))
        waiting = asyncio.create_task(_leave_when_idle(node, given.until_idle))
        try:
            return await depart_on_signal(node)
        finally:
            if health is not None:
                health.close()
            for task in (telling, waiting):
                task.cancel()
            await asyncio.gather(telling, waiting, return_exceptions=True)
            screen.clear()


async def _leave_when_idle(node: "Node", is_asked: bool) -> None:
    """Ask ourselves to leave as a person would, when that was wanted."""
    import asyncio
    import os
    import signal

    if not is_asked:
        return
    while not await node.is_out_of_work():
        await asyncio.sleep(_WATCH_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


async def _open_health(node: "Node", address: Address | None) -> "asyncio.Server | None":
    if address is None:
        return None
    from dure.engine.desk.health import serve_health

    try:
        return await serve_health(node, address.host, address.port)
    except OSError as error:
        raise ConfigError(
            f"Cannot answer at {address.host}:{address.port}: {error}.", "Choose another --health."
        ) from error


def _greet(screen: Screen, given: Given, app: "App", node: "Node") -> None:
    kinds = ", ".join(sorted(node.kinds)) or "none"
    screen.say(
        f"Worker {node.worker} serves {clean(app.store.url)} with "
        f"{counted(node.slots.size, 'slot')}; kinds: {clean(kinds)}."
    )
    if given.health is not None:
        screen.say(f"Health is at http://{given.health.host}:{given.health.port}/readyz.")
    screen.say("Ctrl-C lets running jobs end and leaves; twice gives them back at once.")


async def _tell(screen: Screen, node: "Node") -> None:
    """A line that lives on a terminal, and what a signal has set off."""
    import asyncio

    is_told = is_hurried = False
    next_at = 0.0
    loop = asyncio.get_running_loop()
    while True:
        if node.is_stopping and not is_told:
            is_told = True
            running = counted(len(node.slots.running), "running job")
            screen.say(f"Leaving: {running} may end; press Ctrl-C again to give them back now.")
        if node.hurry.is_set() and not is_hurried:
            is_hurried = True
            screen.say("Giving back what still runs; another worker takes it at once.")
        if loop.time() >= next_at:
            next_at = loop.time() + _TICK_SECONDS
            screen.progress(_pulse(node))
        await asyncio.sleep(_WATCH_SECONDS)


def _pulse(node: "Node") -> str:
    ended: dict[str, int] = {}
    for (_, event), number in node.tally.events.items():
        name = str(event)
        ended[name] = ended.get(name, 0) + number
    good = ended.pop("succeed", 0) + ended.pop("skip", 0)
    parts = [
        f"{node.tally.rate:,.0f}/s",
        f"{len(node.slots.running):,} running",
        f"{good:,} done",
        *(f"{number:,} {name}" for name, number in sorted(ended.items())),
    ]
    return " · ".join(parts)


def _shape(departure: "Departure") -> dict[str, Any]:
    return {
        "name": "departure",
        "finished": departure.finished,
        "given_back": departure.given_back,
        "interrupted": departure.interrupted,
        "is_clean": departure.is_clean,
    }


def _account(departure: "Departure") -> str:
    text = (
        f"Left: {counted(departure.finished, 'job')} ended in the meantime, "
        f"{departure.given_back:,} given back, {departure.interrupted:,} of them interrupted."
    )
    if departure.is_clean:
        return text
    return f"{text} The store could not be told; another worker takes the rest back in a moment."


VERBS: Verbs = {"": PlainVerb("run a worker of a program", _run, _arguments)}
