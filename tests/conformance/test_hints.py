"""Hints: news of work and of changes, from this node and from others."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dure.core.stream import pack
from dure.ports.rows import NewJob
from dure.ports.store import Hint

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Yard

    from dure.ports.store import Store

STREAM = pack(1, 1, 2)


class Ear:
    """Listens to a store until it is closed."""

    def __init__(self, store: Store) -> None:
        self._hints = store.hints()
        self._heard: list[Hint] = []
        self._more = asyncio.Event()
        self._task = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for hint in self._hints:
            self._heard.append(hint)
            self._more.set()

    async def ready(self, store: Store) -> None:
        """PostgreSQL says when it listens; SQLite does as soon as the loop has turned."""
        if store.dialect == "postgres":
            await self.wait_for(lambda hint: hint.topic == "scan")
            self._heard.clear()
        else:
            for _ in range(5):
                await asyncio.sleep(0)

    async def wait_for(self, is_wanted: Callable[[Hint], bool]) -> Hint:
        async with asyncio.timeout(20):
            while True:
                for hint in self._heard:
                    if is_wanted(hint):
                        return hint
                self._more.clear()
                await self._more.wait()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._hints.aclose()


async def listen(store: Store) -> Ear:
    ear = Ear(store)
    await ear.ready(store)
    return ear


async def test_a_node_hears_of_what_it_enqueues(yard: Yard) -> None:
    """X21"""
    ear = await listen(yard.store)

    await yard.put(3)

    assert Hint("streams", (STREAM,)) == await ear.wait_for(lambda hint: hint.topic == "streams")
    await ear.close()


async def test_a_node_hears_of_what_another_one_enqueues(yard: Yard) -> None:
    """X21: in which stream, or at least that something happened."""
    other = await yard.neighbour()
    ear = await listen(other)

    await yard.put(1, key="k", batch=1)

    await ear.wait_for(lambda hint: hint.topic == "scan" or STREAM in hint.streams)
    assert 1 == len(await other.heads(0))
    await ear.close()


async def test_a_hint_reaches_those_who_listen(yard: Yard) -> None:
    """X17"""
    first, second = await listen(yard.store), await listen(yard.store)

    await yard.store.hint(Hint("control"))
    await yard.store.hint(Hint("streams", (1, 2)))

    for ear in (first, second):
        await ear.wait_for(lambda hint: hint == Hint("control"))
        await ear.wait_for(lambda hint: hint == Hint("streams", (1, 2)))
        await ear.close()


async def test_a_hint_of_too_many_streams_is_still_a_hint(yard: Yard) -> None:
    ear = await listen(yard.store)

    await yard.store.enqueue([NewJob(pack(lane, 1, 2), "{}") for lane in range(1, 2001)])
    await yard.store.hint(Hint("streams", tuple(range(10**15, 10**15 + 2000))))

    await ear.wait_for(lambda hint: hint.topic == "scan" or len(hint.streams) == 2000)
    assert 2000 == len(await yard.store.heads(0))
    await ear.close()


@pytest.mark.parametrize("connect", ["file"], indirect=True)
async def test_two_processes_on_one_file_see_each_others_jobs(yard: Yard) -> None:
    """X21"""
    other = await yard.neighbour()
    mine, theirs = await listen(yard.store), await listen(other)

    await yard.put(1)
    assert Hint("scan") == await theirs.wait_for(lambda hint: hint.topic == "scan")
    await other.enqueue([NewJob(STREAM, "{}")])
    assert Hint("scan") == await mine.wait_for(lambda hint: hint.topic == "scan")

    assert 2 == len(await yard.take())
    await mine.close()
    await theirs.close()


@pytest.mark.parametrize("connect", ["file"], indirect=True)
async def test_a_process_that_writes_all_the_time_still_hears_of_the_others(yard: Yard) -> None:
    """X21"""
    other = await yard.neighbour()
    ear = await listen(yard.store)

    async def write_on() -> None:
        while True:
            await yard.store.beat(1, 1.0)

    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(write_on())
        await other.enqueue([NewJob(STREAM, "{}")])
        await ear.wait_for(lambda hint: hint.topic == "scan")
        writing.cancel()
    await ear.close()
