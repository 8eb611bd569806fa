"""`dure lanes`: who shares the workers, how much each has going on, and what holds it back."""

from typing import TYPE_CHECKING, Any

from dure.cli.grammar import Given, Parser, Verb, Verbs, name_argument
from dure.cli.nouns.pause import interrupt_argument, tell_paused, tell_resumed
from dure.cli.screen import Column
from dure.cli.wording import away, clean, counted, stamp
from dure.core.errors import ConfigError

if TYPE_CHECKING:
    from dure.cli.desk import Desk
    from dure.scripts.lanes import Lane, Listed
    from dure.scripts.pauses import Pause

_UNBOUND = "none"


def shape(listed: "Listed", paused: "Pause | None") -> dict[str, Any]:
    """A lane as JSON shows it."""
    lane = listed.lane
    return {
        "name": lane.name,
        "weight": lane.weight,
        "running": listed.running,
        "waiting": listed.waiting,
        "max_running": lane.max_running,
        "limits": list(lane.limits),
        "failures": lane.failures,
        "failures_max": lane.failures_max,
        "disabled_at": lane.disabled_at,
        "disabled_until": lane.disabled_until,
        "paused_at": None if paused is None else paused.at,
        "last_served_at": lane.last_served_at,
    }


async def _paused(desk: "Desk") -> "dict[str, Pause]":
    return {pause.name: pause for pause in await desk.insights.pauses() if pause.scope == "lane"}


def _counted(number: int) -> str:
    from dure.scripts.lanes import COUNT_MAX

    return f"{number:,}+" if number >= COUNT_MAX else f"{number:,}"


def _status(lane: dict[str, Any], now: float) -> str:
    parts = []
    if lane["paused_at"] is not None:
        parts.append(f"paused {away(lane['paused_at'], now)}")
    if lane["disabled_at"] is not None:
        until = lane["disabled_until"]
        parts.append("disabled until " + ("reset" if until is None else away(until, now)))
    return ", ".join(parts) or "open"


def _listing_arguments(parser: Parser) -> None:
    from dure.cli.grammar import at_least

    parser.add_argument("--limit", type=at_least(1), default=100, metavar="N", help="how many")
    parser.add_argument("--after", default="", metavar="NAME", help="the last of the page before")


async def _list(desk: "Desk", given: Given) -> None:
    now = await desk.insights.now()
    paused = await _paused(desk)
    found = await desk.insights.lanes(given.limit, given.after)
    desk.screen.listing(
        "lanes",
        [shape(each, paused.get(each.lane.name)) for each in found],
        (
            Column("NAME", lambda lane: lane["name"]),
            Column("WEIGHT", lambda lane: f"{lane['weight']:g}", True),
            Column("RUNNING", lambda lane: _counted(lane["running"]), True),
            Column("WAITING", lambda lane: _counted(lane["waiting"]), True),
            Column("CAP", lambda lane: lane["max_running"] and str(lane["max_running"]), True),
            Column("FAILURES", lambda lane: str(lane["failures"]), True),
            Column("LIMITS", lambda lane: ", ".join(lane["limits"])),
            Column("STATUS", lambda lane: _status(lane, now)),
        ),
        empty="There are no lanes yet; a lane exists once a job was put in it.",
    )
    if len(found) == given.limit and desk.screen.form == "table":
        desk.screen.say(f"There may be more: --after {clean(found[-1].lane.name)}")


async def _show(desk: "Desk", given: Given) -> None:
    now = await desk.insights.now()
    found = await desk.insights.lane(given.name)
    lane = shape(found, (await _paused(desk)).get(given.name))
    served = lane["last_served_at"]
    desk.screen.card(
        "lane",
        lane,
        [
            ("name", clean(found.lane.name)),
            ("status", _status(lane, now)),
            ("waiting", _counted(found.waiting)),
            ("running", _counted(found.running)),
            ("weight", f"{found.lane.weight:g}"),
            ("cap", _UNBOUND if found.lane.max_running is None else str(found.lane.max_running)),
            ("limits", clean(", ".join(found.lane.limits)) or _UNBOUND),
            ("failures", f"{found.lane.failures} in a row, {_allowed(found.lane)}"),
            ("served", None if served is None else stamp(served, now)),
        ],
    )


def _allowed(lane: "Lane") -> str:
    if lane.failures_max < 0:
        return "never disabled"
    if lane.failures_max == 0:
        return "disabled as lane.failures_max_default says"
    return f"disabled at {lane.failures_max}"


def _pausing(parser: Parser) -> None:
    name_argument("lane")(parser)
    interrupt_argument(parser)


async def _pause(desk: "Desk", given: Given) -> None:
    pause = await desk.commands.pause(
        "lane", given.name, by=desk.by, reason=given.reason, drain=not given.interrupt
    )
    await tell_paused(desk, pause)


async def _resume(desk: "Desk", given: Given) -> None:
    tell_resumed(
        desk, await desk.commands.resume("lane", given.name, by=desk.by, reason=given.reason)
    )


async def _reset(desk: "Desk", given: Given) -> None:
    lane = await desk.commands.reset_lane(given.name, by=desk.by, reason=given.reason)
    await _tell(desk, lane, f"Lane {clean(lane.name)!r} is enabled; its failures are forgotten.")


def _limiting(parser: Parser) -> None:
    name_argument("lane; it is created when there is none yet")(parser)
    parser.add_argument("--weight", metavar="NUMBER", help="its share of turns; 1 is ordinary")
    parser.add_argument("--cap", metavar="N", help="how many of it may run at once, or 'none'")
    parser.add_argument("--limits", metavar="A,B", help="limits its jobs draw on, or 'none'")
    parser.add_argument(
        "--failures-max",
        metavar="N",
        help="failures in a row that disable it, 'default' or 'never'",
    )


async def _limit(desk: "Desk", given: Given) -> None:
    change: dict[str, Any] = {}
    if given.weight is not None:
        change["weight"] = _number("--weight", given.weight, float)
    if given.cap is not None:
        unbound = given.cap == _UNBOUND
        change["max_running"] = None if unbound else _number("--cap", given.cap, int)
    if given.limits is not None:
        unbound = given.limits == _UNBOUND
        change["limits"] = [] if unbound else [n.strip() for n in given.limits.split(",")]
    if given.failures_max is not None:
        words = {"default": 0, "never": -1}
        named = words.get(given.failures_max)
        failures = _number("--failures-max", given.failures_max, int) if named is None else named
        change["failures_max"] = failures
    if not change:
        raise ConfigError("Nothing to change.", "Give --weight, --cap, --limits or --failures-max.")
    lane = await desk.commands.configure_lane(given.name, by=desk.by, reason=given.reason, **change)
    cap = "no cap" if lane.max_running is None else f"at most {counted(lane.max_running, 'job')}"
    limits = f", limits {', '.join(lane.limits)}" if lane.limits else ""
    await _tell(
        desk, lane, f"Lane {clean(lane.name)!r}: weight {lane.weight:g}, {cap}{clean(limits)}."
    )


def _number(option: str, text: str, read: type[int] | type[float]) -> int | float:
    try:
        return read(text)
    except ValueError as error:
        raise ConfigError(f"{option} takes a number, not {text!r}.") from error


async def _tell(desk: "Desk", lane: "Lane", sentence: str) -> None:
    listed = await desk.insights.lane(lane.name)
    desk.screen.done(shape(listed, (await _paused(desk)).get(lane.name)), sentence)


VERBS: Verbs = {
    "list": Verb("show lanes and what they have going on", _list, _listing_arguments),
    "show": Verb("show all that is known of a lane", _show, name_argument("lane")),
    "pause": Verb("stop a lane", _pause, _pausing, True),
    "resume": Verb("end the pause of a lane", _resume, name_argument("lane"), True),
    "reset": Verb("enable a lane that failures disabled", _reset, name_argument("lane"), True),
    "limit": Verb("set a lane's weight, cap, limits or failures allowed", _limit, _limiting, True),
}
