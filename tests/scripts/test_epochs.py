"""Epochs only grow."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dure.ports.store import Store
from dure.scripts import epochs

if TYPE_CHECKING:
    from tests.scripts.conftest import Nodes


async def test_an_epoch_is_raised_by_one_or_to_a_number_and_never_lowered(store: Store) -> None:
    """B1"""
    asked = [None, None, 7, 3, 7, None]

    raised = [await store.run(epochs.raise_to("shop/1", epoch)) for epoch in asked]

    assert [1, 2, 7, 7, 7, 8] == raised
    assert {"shop/1": 8, "shop/2": 0} == await store.read(epochs.current(["shop/1", "shop/2"]))


async def test_a_subject_may_begin_at_any_epoch(store: Store) -> None:
    assert 40 == await store.run(epochs.raise_to("shop/1", 40))


async def test_epochs_raised_at_once_on_several_nodes_are_all_different(nodes: Nodes) -> None:
    """X21"""
    stores = await nodes(4)

    raised = await asyncio.gather(
        *(store.run(epochs.raise_to("shop/1")) for store in stores for _ in range(5))
    )

    assert list(range(1, 21)) == sorted(raised)
