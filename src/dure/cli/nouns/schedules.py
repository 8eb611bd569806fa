"""`dure schedules`: what fires when, and what was missed."""

from typing import TYPE_CHECKING, Any

from dure.cli.grammar import Given, Verb, Verbs, name_argument
from dure.cli.screen import Column
from dure.cli.wording import away, clean

if TYPE_CHECKING:
    from dure.cli.desk import Desk
    from dure.scripts.schedules import Schedule


def shape(schedule: "Schedule") -> dict[str, Any]:
    """A schedule as JSON shows it; moments are seconds since 1970."""
    return {
        "name": schedule.name,
        "timetable": schedule.timetable,
        "zone": schedule.zone,
        "missed_policy": schedule.missed,
        "next_at": schedule.next_at,
        "last_at": schedule.last_at,
        "fired": schedule.fired,
        "missed": schedule.missed_count,
        "is_paused": schedule.paused,
    }


async def _list(desk: "Desk", _given: Given) -> None:
    now = await desk.insights.now()
    desk.screen.listing(
        "schedules",
        [shape(schedule) for schedule in await desk.insights.schedules()],
        (
            Column("NAME", lambda one: one["name"]),
            Column("WHEN", lambda one: one["timetable"]),
            Column("ZONE", lambda one: one["zone"]),
            Column("NEXT", lambda one: "paused" if one["is_paused"] else away(one["next_at"], now)),
            Column("LAST", lambda one: away(one["last_at"], now)),
            Column("FIRED", lambda one: f"{one['fired']:,}", True),
            Column("MISSED", lambda one: f"{one['missed']:,}", True),
        ),
        empty="There are no schedules; a program declares them.",
    )


async def _pause(desk: "Desk", given: Given) -> None:
    found = await desk.commands.pause_schedule(given.name, by=desk.by, reason=given.reason)
    desk.screen.done(shape(found), f"Schedule {clean(found.name)!r} is paused.")


async def _resume(desk: "Desk", given: Given) -> None:
    found = await desk.commands.resume_schedule(given.name, by=desk.by, reason=given.reason)
    now = await desk.insights.now()
    following = away(found.next_at, now)
    desk.screen.done(
        shape(found), f"Schedule {clean(found.name)!r} is resumed; its next firing: {following}."
    )


async def _fire(desk: "Desk", given: Given) -> None:
    found = await desk.commands.fire_schedule(given.name, by=desk.by, reason=given.reason)
    desk.screen.done(
        shape(found), f"Schedule {clean(found.name)!r} fires as soon as a worker looks."
    )


VERBS: Verbs = {
    "list": Verb("show schedules and their next firing", _list),
    "pause": Verb("hold all firings of a schedule", _pause, name_argument("schedule"), True),
    "resume": Verb("let a schedule fire again", _resume, name_argument("schedule"), True),
    "fire": Verb("let a schedule fire now, once", _fire, name_argument("schedule"), True),
}
