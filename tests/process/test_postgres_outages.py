"""PostgreSQL that goes away under load, or cuts single connections: workers go on by themselves."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from dure.core.limit import Limit, Window
from dure.scripts import limits
from dure.stores.postgres import PostgresStore

if TYPE_CHECKING:
    from tests.process.conftest import MakeScene, Scene

    from dure.testing.postgres import Mode, OwnServer

pytestmark = pytest.mark.process

LINES = ("claim", "finish", "desk", "scan", "reports", "beat", "ear")


async def put_while_shaken(scene: Scene, kind: str, count: int, **args: Any) -> list[int]:
    """Enqueue over and over until one try is answered; the others may have happened as well."""
    while True:
        try:
            return await scene.put(kind, count, **args)
        except scene.unavailable:
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_workers_outlive_a_server_that_stops_and_starts_under_load(
    own_server: OwnServer, make_scene: MakeScene, mode: Mode
) -> None:
    """X12 X21"""
    scene = await make_scene(own_server.url)
    draw = random.Random(mode)
    crew = [scene.worker(slots=8), scene.worker(slots=8)]
    await scene.ready(*crew)
    producers = [scene.start("producer", "1"), scene.start("producer", "30")]
    await scene.ready(*producers)
    told: list[int] = []

    for pause in (0.1, 0.4, 2.5, 0.2):
        for kind in ("capped", "soft", "plain"):
            told += await put_while_shaken(scene, kind, 8, seconds=0.1)
        await asyncio.sleep(draw.uniform(0.1, 0.6))
        for _ in range(4):  # these end while the server is away, and need it to name a lane
            lane = f"new-{draw.randrange(10**6)}"
            told += await put_while_shaken(scene, "branch", 1, lane=lane, seconds=0.3)
        await scene.until(lambda ids=told[-4:]: scene.have_started(ids))
        own_server.stop(mode)
        await asyncio.sleep(pause)
        own_server.start()
    for producer in producers:
        producer.kill()
    (last,) = await put_while_shaken(scene, "step", 1)

    await scene.until(scene.has_ended, 40)
    assert [True, True] == [victim.is_running for victim in crew]
    more: list[int] = []
    while {v.pid for v in crew} != {x.pid for x in scene.lines("start") if x.job in set(more)}:
        more += await scene.put("step", 50, seconds=0.05)
        assert len(more) < 2000, f"a worker did not come back: {scene.report()}"
        await scene.until(scene.has_ended)
    scene.judge([*told, last, *more, *(ack.id for ack in scene.told())])
    scene.assert_calm()


async def test_workers_outlive_connections_that_are_cut_again_and_again(
    own_server: OwnServer, make_scene: MakeScene
) -> None:
    """X12 X21: every line, the ear and the heartbeat's own among them."""
    scene = await make_scene(own_server.url, settings={"scan.interval": "1m"})
    draw = random.Random(7)
    crew = [scene.worker(slots=8), scene.worker(slots=8)]
    await scene.ready(*crew)
    told: list[int] = []
    cut = dict.fromkeys(LINES, 0)

    with psycopg.connect(own_server.url, autocommit=True) as connection:
        for turn in range(40):
            for kind in ("step", "capped", "leaf"):
                told += await put_while_shaken(scene, kind, 4)
            line = LINES[turn % len(LINES)] if turn % 2 else draw.choice(LINES)
            found = connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where application_name = %s and pid <> pg_backend_pid()",
                [f"dure {line}"],
            ).fetchall()
            cut[line] += len(found)
            await asyncio.sleep(draw.uniform(0.02, 0.15))

    await scene.until(lambda: scene.connections("dure ear") == 2, 5)
    await scene.until(scene.has_ended, 40)
    assert min(cut.values()) > 0, f"not every line was cut: {cut}"
    assert [True, True] == [victim.is_running for victim in crew]
    (job,) = await put_while_shaken(scene, "leaf", 1)
    await scene.until(lambda: scene.lines("start", job))
    waited = scene.lines("start", job)[0].at - scene.enqueued_at(job)
    assert waited < 1.0, "nobody listens any more: scans come once a minute here"
    scene.judge([*told, job])
    scene.assert_calm()


async def test_permits_that_were_answered_are_still_booked_after_a_crash(
    own_server: OwnServer,
) -> None:
    """X8 X12: their row is let go before the disk has answered, their caller only afterwards."""
    limit = Limit("api", (Window(1000, 3600.0),))
    booked = 0
    for _ in range(5):
        store = PostgresStore(own_server.url)
        await store.open()
        now = await store.now()
        await store.run(limits.define(limit, by="test", reason="test", now=now))
        await store.run(limits.acquire([limits.Request("api", 7)], now))
        booked += 7
        own_server.stop("immediate")
        await store.close()
        own_server.start()
        store = PostgresStore(own_server.url)
        await store.open()
        found = await store.read(limits.used(["api"], now=now))
        await store.close()
        assert booked == found["api"].windows[0].used
