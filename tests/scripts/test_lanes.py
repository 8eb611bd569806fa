"""Lanes: configured, counted, disabled by failures in a row, and enabled again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dure.core.errors import NotFound, SettingInvalid
from dure.core.state import Priority
from dure.core.stream import pack
from dure.ports.rows import Ask, NewJob
from dure.ports.store import Script, Store
from dure.scripts import audit, control, lanes, names, workers
from dure.scripts.lanes import FAILURES_NEVER, Lane

if TYPE_CHECKING:
    from tests.scripts.conftest import Nodes

NOW = 1000.0


async def lane_ids(store: Store, *wanted: str) -> list[int]:
    ids = await store.run(names.lanes(wanted))
    return [ids[name] for name in wanted]


def outcomes(
    found: dict[int, tuple[int, bool]], *, maximum: int = 3, recover_after: float | None = 60.0
) -> Script[list[Lane]]:
    return lanes.record_outcomes(
        found, now=NOW, default_failures_max=maximum, recover_after=recover_after
    )


async def test_a_lane_nobody_configured_is_default_and_not_listed_as_changed(store: Store) -> None:
    """X7"""
    await lane_ids(store, "a")

    lane = await store.read(lanes.get("a"))

    assert (0, 1.0, None, (), 0, False) == (
        lane.version,
        lane.weight,
        lane.max_running,
        lane.limits,
        lane.failures,
        lane.is_disabled,
    )
    assert [] == await store.read(lanes.changed_since(0))


async def test_an_unknown_lane_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound, match="no lane 'a'"):
        await store.read(lanes.get("a"))


async def test_configuring_changes_what_is_given_and_nothing_else(store: Store) -> None:
    """X7 X17"""
    made = await store.run(
        lanes.configure(
            "a", by="kim", reason="new", now=NOW, weight=2, max_running=5, limits=["api"]
        )
    )
    again = await store.run(
        lanes.configure("a", by="kim", reason="calm", now=NOW, failures_max=7, max_running=None)
    )

    assert (2.0, 5, ("api",), 0) == (made.weight, made.max_running, made.limits, made.failures_max)
    assert (2.0, None, ("api",), 7) == (
        again.weight,
        again.max_running,
        again.limits,
        again.failures_max,
    )
    assert again == await store.read(lanes.get("a"))
    entries = await store.read(audit.listing(9))
    assert [("lane.configure", "calm"), ("lane.configure", "new")] == [
        (entry.command, entry.reason) for entry in entries
    ]
    assert entries[1].after == entries[0].before != entries[0].after


async def test_nodes_read_only_the_lanes_that_changed_since_they_looked(store: Store) -> None:
    """X7 X17"""
    await lane_ids(store, "a", "b", "c")
    first = await store.run(lanes.configure("a", by="k", reason="", now=NOW, weight=2))
    seen = await store.read(control.version())
    second = await store.run(lanes.configure("b", by="k", reason="", now=NOW, weight=2))

    assert seen == first.version
    assert [first, second] == await store.read(lanes.changed_since(0))
    assert [second] == await store.read(lanes.changed_since(seen))
    assert [] == await store.read(lanes.changed_since(second.version))


@pytest.mark.parametrize(
    "wrong",
    [
        {"weight": 0.0},
        {"weight": float("inf")},
        {"weight": float("nan")},
        {"max_running": 0},
        {"failures_max": -2},
    ],
)
async def test_nonsense_is_refused_and_changes_nothing(
    store: Store, wrong: dict[str, float]
) -> None:
    """X17"""
    version = await store.read(control.version())

    with pytest.raises(SettingInvalid, match="'a' cannot have"):
        await store.run(lanes.configure("a", by="k", reason="", now=NOW, **wrong))  # type: ignore[arg-type]  # wrong on purpose

    assert version == await store.read(control.version())
    assert [] == await store.read(audit.listing(9))


async def test_failures_in_a_row_disable_a_lane_and_only_that_one(store: Store) -> None:
    """X7 D3 D7"""
    a, b = await lane_ids(store, "a", "b")
    version = await store.read(control.version())

    assert [] == await store.run(outcomes({a: (2, False), b: (1, True)}))
    assert version == await store.read(control.version())
    (disabled,) = await store.run(outcomes({a: (1, False), b: (1, False)}))

    assert ("a", 3, NOW, NOW + 60.0) == (
        disabled.name,
        disabled.failures,
        disabled.disabled_at,
        disabled.disabled_until,
    )
    assert disabled == await store.read(lanes.get("a"))
    assert version + 1 == disabled.version == await store.read(control.version())
    assert [disabled] == await store.read(lanes.changed_since(version))
    assert (2, False) == (
        (other := await store.read(lanes.get("b"))).failures,
        other.is_disabled,
    )


async def test_a_success_resets_the_streak(store: Store) -> None:
    """X7 D3"""
    (a,) = await lane_ids(store, "a")
    await store.run(outcomes({a: (2, False)}))

    await store.run(outcomes({a: (0, True)}))

    assert 0 == (await store.read(lanes.get("a"))).failures
    assert [] == await store.run(outcomes({a: (2, True)}))
    assert 2 == (await store.read(lanes.get("a"))).failures


async def test_a_lanes_own_maximum_wins_over_the_default(store: Store) -> None:
    """X7"""
    for name, maximum in (("quick", 1), ("never", FAILURES_NEVER), ("usual", 0)):
        await store.run(lanes.configure(name, by="k", reason="", now=NOW, failures_max=maximum))
    ids = await lane_ids(store, "quick", "never", "usual")

    disabled = await store.run(outcomes(dict.fromkeys(ids, (2, False)), maximum=2))

    assert ["quick", "usual"] == [lane.name for lane in disabled]
    assert [] == await store.run(outcomes({ids[1]: (999, False)}, maximum=2))


async def test_without_any_maximum_no_number_of_failures_disables(store: Store) -> None:
    """X7"""
    (a,) = await lane_ids(store, "a")

    assert [] == await store.run(outcomes({a: (500, False)}, maximum=0))


async def test_late_answers_change_nothing_while_a_lane_is_disabled(store: Store) -> None:
    """X7"""
    (a,) = await lane_ids(store, "a")
    (disabled,) = await store.run(outcomes({a: (3, False)}))

    assert [] == await store.run(outcomes({a: (4, True)}))

    assert disabled == await store.read(lanes.get("a"))


async def test_a_lane_that_recovers_is_disabled_by_its_next_failure(store: Store) -> None:
    """X7"""
    (a,) = await lane_ids(store, "a")
    await store.run(outcomes({a: (5, False)}))

    early = await store.run(lanes.recover_due(NOW + 59.9, default_failures_max=3))
    (back,) = await store.run(lanes.recover_due(NOW + 60.0, default_failures_max=3))
    twice = await store.run(lanes.recover_due(NOW + 60.0, default_failures_max=3))

    assert [] == early == twice
    assert (2, False) == (back.failures, back.is_disabled)
    assert back.version == await store.read(control.version())
    assert ["a"] == [lane.name for lane in await store.run(outcomes({a: (1, False)}))]


async def test_a_lane_that_recovers_is_forgiven_by_its_next_success(store: Store) -> None:
    """X7 D3"""
    (a,) = await lane_ids(store, "a")
    await store.run(outcomes({a: (3, False)}))
    await store.run(lanes.recover_due(NOW + 60.0, default_failures_max=3))

    assert [] == await store.run(outcomes({a: (1, True)}))

    assert 1 == (await store.read(lanes.get("a"))).failures


async def test_without_recovery_a_lane_stays_disabled_until_it_is_reset(store: Store) -> None:
    """X7 D10"""
    (a,) = await lane_ids(store, "a")
    await store.run(outcomes({a: (3, False)}, recover_after=None))

    assert [] == await store.run(lanes.recover_due(NOW + 1e9))
    lane = await store.run(lanes.reset("a", by="kim", reason="fixed", now=NOW + 5))

    assert (0, None, None) == (lane.failures, lane.disabled_at, lane.disabled_until)
    assert lane == await store.read(lanes.get("a"))
    assert lane.version == await store.read(control.version())
    (entry,) = await store.read(audit.listing(9))
    assert ("lane.reset", "a", "kim", "fixed") == (
        entry.command,
        entry.target,
        entry.actor,
        entry.reason,
    )
    assert entry.before != entry.after


async def test_the_last_turn_of_a_lane_is_remembered_and_never_goes_back(store: Store) -> None:
    """D1"""
    a, b = await lane_ids(store, "a", "b")

    await store.run(lanes.mark_served([a, b], 10.0))
    await store.run(lanes.mark_served([b], 20.0))
    await store.run(lanes.mark_served([b], 15.0))

    served = [(await store.read(lanes.get(name))).last_served_at for name in ("a", "b")]
    assert [10.0, 20.0] == served


async def test_a_listing_counts_waiting_and_running_jobs_of_each_lane(store: Store) -> None:
    """X7 X14"""
    a, b, _ = await lane_ids(store, "a", "b", "c")
    now = await store.now()
    streams = [pack(a, 1, Priority.LOW), pack(a, 3, Priority.HIGH), pack(b, 1, Priority.NORMAL)]
    await store.enqueue([NewJob(stream, "{}") for stream in streams for _ in range(4)])
    await store.enqueue([NewJob(streams[0], "{}", due=now + 60)])
    worker = await store.run(
        workers.register("w", "h", pid=1, version="1", kinds=[], slots=9, lease=15, now=now)
    )
    await store.claim(worker, [Ask(streams[0], 3, 0)])

    first = await store.read(lanes.listing(2))
    rest = await store.read(lanes.listing(2, first[-1].lane.name))

    assert [("a", 5, 3), ("b", 4, 0), ("c", 0, 0)] == [
        (each.lane.name, each.waiting, each.running) for each in [*first, *rest]
    ]


async def test_failures_counted_by_many_nodes_at_once_disable_once(nodes: Nodes) -> None:
    """X7 X21"""
    stores = await nodes(4)
    ids = await lane_ids(stores[0], *"abcde")

    answers = await asyncio.gather(
        *(
            store.run(outcomes(dict.fromkeys(order, (1, False)), maximum=10))
            for store in stores
            for order in (ids, ids[::-1], ids)
        )
    )

    assert sorted("abcde") == sorted(lane.name for answer in answers for lane in answer)
    assert {10} == {(await stores[0].read(lanes.get(name))).failures for name in "abcde"}
