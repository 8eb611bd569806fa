"""Workers: registered with a lease, drained, retired, never removed behind the sweeper's back."""

import pytest

from dure.core.errors import NotFound
from dure.ports.store import Script, Store
from dure.scripts import workers
from dure.scripts.workers import Worker

LEASE = 15.0


def worker(name: str, now: float) -> Script[int]:
    return workers.register(
        name,
        "host",
        pid=7,
        version="1.2",
        kinds=["mail", "crawl"],
        slots=50,
        lease=LEASE,
        now=now,
    )


async def test_a_registered_worker_is_listed_with_a_fresh_lease(store: Store) -> None:
    now = await store.now()
    number = await store.run(worker("w", now))

    expected = Worker(
        id=number,
        name="w",
        host="host",
        pid=7,
        version="1.2",
        kinds=("crawl", "mail"),
        slots=50,
        state="running",
        started_at=now,
        beat_at=now,
        lease_until=now + LEASE,
        is_alive=True,
    )
    assert [expected] == await store.read(workers.listing(now))


async def test_a_worker_is_alive_until_its_lease_ends(store: Store) -> None:
    now = await store.now()
    await store.run(worker("w", now))

    assert [True, False] == [
        (await store.read(workers.listing(now + seconds)))[0].is_alive
        for seconds in (LEASE - 0.5, LEASE)
    ]


async def test_a_draining_worker_still_renews_its_lease(store: Store) -> None:
    """X12"""
    number = await store.run(worker("w", await store.now()))

    await store.run(workers.drain(number))

    assert "draining" == (await store.read(workers.listing(0.0)))[0].state
    assert await store.beat(number, LEASE)


async def test_draining_a_worker_that_was_buried_is_refused(store: Store) -> None:
    with pytest.raises(NotFound, match="no worker 41"):
        await store.run(workers.drain(41))


async def test_a_retired_worker_cannot_beat_and_waits_for_the_sweeper(store: Store) -> None:
    """X12"""
    now = await store.now()
    number = await store.run(worker("w", now))

    await store.run(workers.retire(number))

    (found,) = await store.read(workers.listing(now))
    assert ("draining", False) == (found.state, found.is_alive)
    assert not await store.beat(number, LEASE)
