"""Slots: a cap for the whole fleet that no interleaving exceeds, and no death leaks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dure.ports.store import Store
from dure.scripts import slots, workers

if TYPE_CHECKING:
    from tests.scripts.conftest import Nodes

NOW = 10.0


async def take(store: Store, worker: int, want: int, cap: int = 10, name: str = "lane/a") -> int:
    needs = {name: slots.Need(0, cap)}
    return (await store.run(slots.take(needs, worker, want=want, now=NOW)))[name]


async def test_workers_share_a_cap_and_get_what_is_free(store: Store) -> None:
    """X7 X14"""
    assert 6 == await take(store, 1, 6)

    assert 4 == await take(store, 2, 6)
    assert 0 == await take(store, 3, 1)

    assert {"lane/a": {1: 6, 2: 4}} == await store.read(slots.held())


async def test_asking_again_for_the_same_total_takes_nothing_more(store: Store) -> None:
    """X7"""
    await take(store, 1, 3)

    assert 3 == await take(store, 1, 3)
    assert 3 == await take(store, 1, 2)

    assert {"lane/a": {1: 3}} == await store.read(slots.held(["lane/a"]))


async def test_slots_of_several_caps_are_taken_together_or_not_at_all(store: Store) -> None:
    """X7"""
    both = {"lane/a": slots.Need(0, 2), "kind/mail": slots.Need(0, 3)}
    await take(store, 1, 1, cap=2)

    assert {"lane/a": 1, "kind/mail": 1} == await store.run(slots.take(both, 2, want=5, now=NOW))
    assert {"lane/a": 0, "kind/mail": 0} == await store.run(slots.take(both, 3, want=1, now=NOW))

    assert {"lane/a": {1: 1, 2: 1}, "kind/mail": {2: 1}} == await store.read(slots.held())


async def test_slots_in_use_are_not_counted_as_room(store: Store) -> None:
    """X7"""
    await take(store, 1, 3)
    needs = {"lane/a": slots.Need(3, 10)}

    assert {"lane/a": 5} == await store.run(slots.take(needs, 1, want=2, now=NOW))
    assert {"lane/a": 5} == await store.run(slots.take(needs, 1, want=2, now=NOW))


async def test_slots_given_back_are_free_for_others(store: Store) -> None:
    """X7"""
    await take(store, 1, 10)

    assert 7 == await store.run(slots.give_back("lane/a", 1, keep=7, now=NOW))
    assert 7 == await store.run(slots.give_back("lane/a", 1, keep=9, now=NOW))
    assert 3 == await take(store, 2, 9)
    assert 0 == await store.run(slots.give_back("lane/a", 1, keep=0, now=NOW))
    assert 0 == await store.run(slots.give_back("lane/a", 5, keep=1, now=NOW))

    assert {"lane/a": {2: 3}} == await store.read(slots.held())


async def test_a_lowered_cap_takes_nothing_away_and_gives_nothing_more(store: Store) -> None:
    """X7"""
    await take(store, 1, 8)

    assert 8 == await take(store, 1, 9, cap=5)
    assert 0 == await take(store, 2, 1, cap=5)


async def test_the_slots_of_the_dead_are_freed_everywhere(store: Store) -> None:
    """X7 X12"""
    for name in ("lane/a", "kind/mail"):
        await take(store, 1, 2, name=name)
        await take(store, 2, 3, name=name)
    await take(store, 3, 4, name="lane/c")

    assert 8 == await store.run(slots.bury([1, 3, 77], NOW))

    found = await store.read(slots.held())
    assert {"lane/a": {2: 3}, "kind/mail": {2: 3}} == {k: v for k, v in found.items() if v}
    assert 0 == await store.run(slots.bury([1, 3], NOW))


async def test_a_worker_that_takes_slots_after_its_death_is_found(store: Store) -> None:
    """X12"""
    alive = await store.run(
        workers.register("w", "h", pid=1, version="1", kinds=[], slots=1, lease=5.0, now=NOW)
    )
    await take(store, alive, 1)
    await take(store, 999, 1)

    assert frozenset({999}) == await store.read(slots.strays())


async def test_slots_never_exceed_the_cap_however_many_nodes_take_at_once(nodes: Nodes) -> None:
    """X7 X14 X21"""
    stores = await nodes(8)

    for want in (1, 2, 5):
        await asyncio.gather(*(take(store, n, want, cap=7) for n, store in enumerate(stores)))
        found = (await stores[0].read(slots.held()))["lane/a"]
        assert 7 == sum(found.values())
        await asyncio.gather(
            *(
                store.run(slots.give_back("lane/a", n, keep=0, now=NOW))
                for n, store in enumerate(stores)
            )
        )
