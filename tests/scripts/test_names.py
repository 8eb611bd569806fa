"""Numbers for names: given once, to all nodes alike."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dure.core.errors import KindInvalid
from dure.core.stream import KINDS_MAX
from dure.ports.rows import Query
from dure.ports.store import Script, Store
from dure.scripts import names

if TYPE_CHECKING:
    from tests.scripts.conftest import Nodes


async def test_a_kind_keeps_the_number_it_was_given_first(store: Store) -> None:
    first = await store.run(names.kinds(["mail", "crawl"]))

    again = await store.run(names.kinds(["parse", "crawl", "mail", "mail"]))

    assert {"crawl": 1, "mail": 2} == first
    assert {**first, "parse": 3} == again
    assert {1: "crawl", 2: "mail", 3: "parse"} == await store.read(names.kind_names())


async def test_no_names_have_no_numbers(store: Store) -> None:
    assert {} == await store.run(names.kinds([]))
    assert {} == await store.run(names.lanes([]))


async def test_a_kind_takes_the_smallest_free_number(store: Store) -> None:
    await store.run(_add_kinds([1, 2, 4], ["a", "b", "d"]))

    assert {"c": 3, "e": 5} == await store.run(names.kinds(["e", "c"]))


async def test_the_last_free_number_is_given_and_one_kind_more_is_refused(store: Store) -> None:
    many = [f"kind{i:05}" for i in range(1, KINDS_MAX - 1)]
    await store.run(names.kinds(many))

    last = await store.run(names.kinds(["last"]))

    assert {"last": KINDS_MAX - 1} == last
    with pytest.raises(KindInvalid, match="no room for 1 more kinds, like 'straw'"):
        await store.run(names.kinds(["straw"]))
    assert last == await store.run(names.kinds(["last"]))


async def test_ten_thousand_lanes_are_named_in_at_most_three_statements(store: Store) -> None:
    many = [f"tenant/{i} 두레" for i in range(10_000)]
    statements: list[str] = []

    found = await store.run(_counted(names.lanes(many), statements))

    assert 10_000 == len(set(found.values()))
    assert found == await store.run(names.lanes(reversed(many)))
    assert len(statements) <= 3


async def test_lane_names_are_found_by_id_and_unknown_ids_left_out(store: Store) -> None:
    ids = await store.run(names.lanes(["a", "b", "c"]))

    found = await store.read(names.lane_names([ids["c"], ids["a"], 999_999]))

    assert {ids["a"]: "a", ids["c"]: "c"} == found


async def test_nodes_that_name_the_same_kinds_and_lanes_at_once_agree(nodes: Nodes) -> None:
    """X21"""
    stores = await nodes(6)
    orders = [[f"n{(i * step) % 101:03}" for i in range(101)] for step in range(1, 7)]

    kinds = await asyncio.gather(
        *(store.run(names.kinds(order)) for store, order in zip(stores, orders, strict=True))
    )
    lanes = await asyncio.gather(
        *(store.run(names.lanes(order)) for store, order in zip(stores, orders, strict=True))
    )

    assert [kinds[0]] * 6 == list(kinds)
    assert set(range(1, 102)) == set(kinds[0].values())
    assert [lanes[0]] * 6 == list(lanes)
    assert 101 == len(set(lanes[0].values()))


async def test_nodes_that_name_different_kinds_at_once_share_no_number(nodes: Nodes) -> None:
    """X21"""
    stores = await nodes(6)

    found = await asyncio.gather(
        *(
            store.run(names.kinds([f"node{n}.{i}" for i in range(20)]))
            for n, store in enumerate(stores)
        )
    )

    assert set(range(1, 121)) == {number for ids in found for number in ids.values()}


def _add_kinds(ids: list[int], kinds: list[str]) -> Script[None]:
    yield Query("kinds_add", {"ids": ids, "names": kinds})


def _counted(script: Script[dict[str, int]], statements: list[str]) -> Script[dict[str, int]]:
    """The same script, noting the name of each statement."""
    try:
        query = next(script)
        while True:
            statements.append(query.name)
            query = script.send((yield query))
    except StopIteration as stop:
        answer: dict[str, int] = stop.value
        return answer
