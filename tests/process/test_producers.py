"""A producer that dies in the middle: what it was told is durable is there, in order."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.process.conftest import Scene

pytestmark = pytest.mark.process


@pytest.mark.parametrize("group", [1, 50])
async def test_what_a_killed_producer_was_told_is_durable_is_there_and_in_order(
    scene: Scene, group: int
) -> None:
    """X12"""
    draw = random.Random(group)
    for _ in range(4):
        producer = scene.start("producer", str(group))
        await scene.until(lambda pid=producer.pid: any(ack.pid == pid for ack in scene.told()))
        await asyncio.sleep(draw.uniform(0.0, 0.3))
        producer.kill()

    told = scene.told()
    stored = {
        row.id: tuple(map(int, json.loads(row.body)["note"].split()[:2])) for row in scene.rows()
    }
    assert {ack.id: (ack.pid, ack.number) for ack in told}.items() <= stored.items()
    for pid, found in _by_producer(stored).items():
        assert found == list(range(len(found))), f"gaps, doubles or disorder from {pid}: {found}"
        durable = sum(ack.pid == pid for ack in told)
        assert len(found) - durable in {0, group}, "at most one call was under way"
    assert 4 == len(Counter(ack.pid for ack in told))


def _by_producer(stored: dict[int, tuple[int, ...]]) -> dict[int, list[int]]:
    """The numbers of each producer's jobs, in the order of their ids."""
    found: dict[int, list[int]] = {}
    for _, (pid, number) in sorted(stored.items()):
        found.setdefault(pid, []).append(number)
    return found
