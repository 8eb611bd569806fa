"""Tenure: one node serves a host, hands on what it learned, and no death leaks it."""

from __future__ import annotations

from dure.ports.store import Store
from dure.scripts import slots, tenure

NOW = 10.0
BOTH = ["host:a", "host:b"]


async def take(store: Store, worker: int, most: int = 10) -> list[str]:
    return sorted(await store.run(tenure.take(BOTH, worker, most=most, now=NOW)))


async def test_a_host_belongs_to_one_worker_until_it_is_given_back(store: Store) -> None:
    """C14"""
    assert BOTH == await take(store, 1)
    assert [] == await take(store, 2)
    assert BOTH == await take(store, 1)

    await store.run(tenure.give({"host:a": "learned"}, 1, NOW))

    assert ["host:a"] == await take(store, 2)
    learned = await store.run(tenure.take(["host:a"], 2, most=1, now=NOW))
    assert {"host:a": "learned"} == learned


async def test_no_more_hosts_are_taken_than_are_asked_for(store: Store) -> None:
    """C14"""
    assert ["host:a"] == await take(store, 1, most=1)
    assert ["host:b"] == await take(store, 2, most=1)


async def test_giving_back_what_another_holds_changes_nothing(store: Store) -> None:
    """C14"""
    await take(store, 1)

    await store.run(tenure.give({"host:a": ""}, 2, NOW))

    assert [] == await take(store, 2)


async def test_the_hosts_of_a_dead_worker_are_free(store: Store) -> None:
    """C14"""
    await take(store, 1)

    assert 2 == await store.run(slots.bury([1], NOW))

    assert BOTH == await take(store, 2)
