"""Cells: changed one after another, whoever asks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dure.ports.store import Store
from dure.scripts import cells
from dure.scripts.cells import Texts

if TYPE_CHECKING:
    from tests.scripts.conftest import Nodes


def plus_one(texts: Texts, _now: float) -> tuple[dict[str, str], list[int]]:
    after = {name: int(text or 0) + 1 for name, text in texts.items()}
    return {name: str(number) for name, number in after.items()}, list(after.values())


async def test_a_new_cell_is_absent_to_the_function_and_readable_once_written(store: Store) -> None:
    """X8"""
    seen: list[tuple[Texts, float]] = []

    def decide(texts: Texts, now: float) -> tuple[dict[str, str], str]:
        seen.append((dict(texts), now))
        return {"b": '{"x": "두레"}'}, "answer"

    assert "answer" == await store.run(cells.change("s", ["b", "a", "a"], decide, 5.0))
    await store.run(cells.change("s", ["a", "b"], decide, 6.0))

    assert [({"a": None, "b": None}, 5.0), ({"a": None, "b": '{"x": "두레"}'}, 6.0)] == seen
    assert {"b": '{"x": "두레"}'} == await store.read(cells.read("s"))
    assert {"b": '{"x": "두레"}'} == await store.read(cells.read("s", ["a", "b", "c"]))


async def test_cells_of_another_space_are_other_cells(store: Store) -> None:
    await store.run(cells.change("s", ["a"], plus_one, 1.0))

    assert {} == await store.read(cells.read("t"))
    assert [1] == await store.run(cells.change("t", ["a"], plus_one, 1.0))


async def test_a_function_that_fails_leaves_everything_as_it_was(store: Store) -> None:
    await store.run(cells.change("s", ["a"], plus_one, 1.0))

    def decide(_texts: Texts, _now: float) -> tuple[dict[str, str], None]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await store.run(cells.change("s", ["a", "b"], decide, 2.0))

    assert {"a": "1"} == await store.read(cells.read("s"))


async def test_deleted_cells_are_absent_again_and_counted_if_they_held_anything(
    store: Store,
) -> None:
    await store.run(cells.change("s", ["a", "b"], plus_one, 1.0))
    await store.run(cells.change("s", ["c"], lambda _texts, _now: ({}, None), 1.0))

    assert 2 == await store.run(cells.delete("s", ["a", "b", "c", "d"]))

    assert {} == await store.read(cells.read("s"))
    assert [1] == await store.run(cells.change("s", ["a"], plus_one, 1.0))


async def test_no_names_are_no_cells(store: Store) -> None:
    assert [] == await store.run(cells.change("s", [], plus_one, 1.0))
    assert {} == await store.read(cells.read("s", []))


async def test_no_change_is_lost_among_eight_nodes_that_overlap_in_any_order(nodes: Nodes) -> None:
    """X8 X21: neither lost updates nor deadlocks, from the first change on."""
    stores = await nodes(8)
    overlapping = [["a", "b", "c"], ["c", "d"], ["b", "d", "a"], ["d", "b"]]

    answers = await asyncio.gather(
        *(
            store.run(cells.change("s", group, plus_one, 1.0))
            for number, store in enumerate(stores)
            for group in [*overlapping[number % 4 :], *overlapping[: number % 4]] * 5
        )
    )

    assert 160 == len(answers)
    assert {"a": "80", "b": "120", "c": "80", "d": "120"} == await stores[0].read(cells.read("s"))
