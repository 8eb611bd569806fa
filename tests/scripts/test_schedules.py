"""Schedules: declared by programs, fired once for all nodes, paused by people."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dure.core.errors import NotFound
from dure.ports.store import Script, Store
from dure.scripts import audit, control, schedules
from dure.scripts.schedules import Declared, Schedule

if TYPE_CHECKING:
    from tests.scripts.conftest import Nodes

NOW = 1000.0
DAILY = Declared("daily", "0 3 * * *", "Asia/Seoul", "once", '{"kind": "report"}', NOW)
HOURLY = Declared("hourly", "every 1h", "UTC", "skip", '{"kind": "crawl"}', NOW + 10)


def pause(name: str) -> Script[Schedule]:
    return schedules.pause(name, by="kim", reason="holiday", now=NOW)


def resume(name: str, next_at: float | None = None) -> Script[Schedule]:
    return schedules.resume(name, by="lee", reason="back", now=NOW, next_at=next_at)


async def test_declared_schedules_are_stored_and_announced(store: Store) -> None:
    """X11 X17"""
    version = await store.read(control.version())

    assert ["daily", "hourly"] == await store.run(schedules.declare([HOURLY, DAILY]))

    assert version + 1 == await store.read(control.version())
    assert [
        Schedule(
            **each._asdict(),
            version=version + 1,
            last_at=None,
            fired=0,
            missed_count=0,
            paused=False,
        )
        for each in (DAILY, HOURLY)
    ] == await store.read(schedules.listing())


async def test_declaring_the_same_again_changes_nothing(store: Store) -> None:
    """X11"""
    await store.run(schedules.declare([DAILY]))
    version = await store.read(control.version())

    assert [] == await store.run(schedules.declare([DAILY._replace(next_at=NOW + 500)]))

    assert version == await store.read(control.version())
    assert NOW == (await store.read(schedules.get("daily"))).next_at


async def test_a_new_job_keeps_the_next_firing_and_a_new_timetable_moves_it(store: Store) -> None:
    """X11"""
    await store.run(schedules.declare([DAILY]))
    moved = DAILY._replace(next_at=NOW + 500)

    for changed, expected in (
        (moved._replace(job="{}"), NOW),
        (moved._replace(job="{}", missed="all"), NOW),
        (moved._replace(zone="UTC"), NOW + 500),
        (DAILY._replace(timetable="0 4 * * *", zone="UTC", next_at=NOW + 900), NOW + 900),
    ):
        assert ["daily"] == await store.run(schedules.declare([changed]))
        assert expected == (await store.read(schedules.get("daily"))).next_at


async def test_schedules_are_due_from_their_moment_on_the_longest_overdue_first(
    store: Store,
) -> None:
    """X11"""
    await store.run(schedules.declare([HOURLY, DAILY, HOURLY._replace(name="n", next_at=None)]))

    due = [
        [each.name for each in await store.read(schedules.due(now))]
        for now in (NOW - 0.1, NOW, NOW + 10)
    ]

    assert [[], ["daily"], ["daily", "hourly"]] == due


async def test_a_firing_moves_the_schedule_on_and_counts(store: Store) -> None:
    """X11"""
    await store.run(schedules.declare([DAILY]))

    assert await store.run(
        schedules.fire("daily", NOW, next_at=NOW + 60, last_at=NOW + 1, fired=2, missed=3)
    )
    assert await store.run(schedules.fire("daily", NOW + 60, next_at=None, last_at=NOW + 61))

    found = await store.read(schedules.get("daily"))
    assert (None, NOW + 61, 3, 3) == (
        found.next_at,
        found.last_at,
        found.fired,
        found.missed_count,
    )
    assert [] == await store.read(schedules.due(NOW + 1e9))


async def test_one_of_five_nodes_fires(nodes: Nodes) -> None:
    """X11 X21"""
    stores = await nodes(5)
    await stores[0].run(schedules.declare([DAILY._replace(next_at=NOW + 0.1)]))

    fired = await asyncio.gather(
        *(
            store.run(schedules.fire("daily", NOW + 0.1, next_at=NOW + 60, last_at=NOW))
            for store in stores
        )
    )

    assert 1 == sum(fired)
    assert 1 == (await stores[1].read(schedules.get("daily"))).fired


async def test_a_paused_schedule_does_not_fire_until_it_is_resumed(store: Store) -> None:
    """X11 X16 X17"""
    await store.run(schedules.declare([DAILY]))
    version = await store.read(control.version())

    await store.run(pause("daily"))
    assert [] == await store.read(schedules.due(NOW))
    assert not await store.run(schedules.fire("daily", NOW, next_at=NOW + 9, last_at=NOW))
    await store.run(resume("daily"))

    assert ["daily"] == [each.name for each in await store.read(schedules.due(NOW))]
    assert version + 2 == (await store.read(schedules.get("daily"))).version
    assert [("schedule.resume", "lee", "back"), ("schedule.pause", "kim", "holiday")] == [
        (entry.command, entry.actor, entry.reason) for entry in await store.read(audit.listing(9))
    ]


async def test_a_schedule_may_be_resumed_without_what_it_missed(store: Store) -> None:
    """X11"""
    await store.run(schedules.declare([DAILY]))
    await store.run(pause("daily"))

    resumed = await store.run(resume("daily", NOW + 300))

    assert NOW + 300 == resumed.next_at
    assert [] == await store.read(schedules.due(NOW + 299))


async def test_a_paused_schedule_stays_paused_when_a_program_declares_it(store: Store) -> None:
    """X11"""
    await store.run(schedules.declare([DAILY]))
    await store.run(pause("daily"))

    await store.run(schedules.declare([DAILY._replace(timetable="* * * * *")]))

    assert (await store.read(schedules.get("daily"))).paused


async def test_a_removed_schedule_is_gone(store: Store) -> None:
    """X11"""
    await store.run(schedules.declare([DAILY]))

    await store.run(schedules.remove("daily", by="kim", reason="old", now=NOW))

    assert [] == await store.read(schedules.listing())
    assert not await store.run(schedules.fire("daily", NOW, next_at=None, last_at=NOW))


async def test_commands_on_what_is_not_there_say_so(store: Store) -> None:
    await store.run(schedules.declare([DAILY]))

    with pytest.raises(NotFound, match="'daily' is not paused"):
        await store.run(resume("daily"))
    for script in (
        pause("none"),
        resume("none"),
        schedules.remove("none", by="k", reason="", now=NOW),
        schedules.get("none"),
    ):
        with pytest.raises(NotFound, match="no schedule 'none'"):
            await store.run(script)
