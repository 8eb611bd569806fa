"""A PostgreSQL that goes away and comes back: callers are told, and nothing is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from dure.core.decide import Transition
from dure.core.errors import StoreUnavailable
from dure.core.state import Event, State
from dure.core.stream import pack
from dure.ports.rows import Ask, Change, NewJob
from dure.ports.store import Hint
from dure.scripts import jobs
from dure.stores.postgres import PostgresStore
from dure.testing.postgres import OwnServer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from dure.ports.rows import Claim

pytestmark = pytest.mark.process

STREAM = pack(1, 1, 2)


@pytest.fixture(scope="module")
def own_server() -> Iterator[OwnServer]:
    with OwnServer() as server:
        yield server


def finish(claim: Claim) -> Change:
    moved = Transition(
        claim.id, claim.fence, State.RUNNING, Event.SUCCEED, State.SUCCESS, claim.attempt
    )
    return Change(moved, claim.stream)


def verbs(store: PostgresStore, claim: Claim) -> dict[str, Callable[[], Awaitable[Any]]]:
    return {
        "enqueue": lambda: store.enqueue([NewJob(STREAM, "{}")]),
        "enqueue with a key": lambda: store.enqueue([NewJob(STREAM, "{}", key="k")]),
        "claim": lambda: store.claim(1, [Ask(STREAM, 1, 0)]),
        "apply": lambda: store.apply([finish(claim)]),
        "apply in a batch": lambda: store.apply([finish(claim)._replace(batch=1)]),
        "heads": lambda: store.heads(0),
        "beat": lambda: store.beat(1, 30.0),
        "run": lambda: store.run(jobs.get(claim.id)),
        "read": lambda: store.read(jobs.get(claim.id)),
        "hint": lambda: store.hint(Hint("control")),
        "now": store.now,
    }


async def test_callers_hear_of_an_outage_and_go_on_after_it(own_server: OwnServer) -> None:
    """X12"""
    with own_server.database() as url:
        store = PostgresStore(url)
        await store.open()
        await store.enqueue([NewJob(STREAM, str(n)) for n in range(3)])
        [claim] = await store.claim(1, [Ask(STREAM, 1, 0)])
        calls = verbs(store, claim)
        for call in calls.values():
            await call()
        [acknowledged] = await store.enqueue([NewJob(STREAM, '"last"')])
        leaving = PostgresStore(url)
        await leaving.open()

        own_server.stop("immediate")
        for call in calls.values():
            with pytest.raises(StoreUnavailable):
                await call()
        await leaving.close()
        own_server.start()

        for call in calls.values():
            await call()
        record = await store.read(jobs.get(acknowledged.id))
        assert record is not None
        assert '"last"' == record.body
        await store.close()


async def test_a_broken_connection_is_replaced(own_server: OwnServer) -> None:
    """X12: the first call may fail, the second works."""
    with own_server.database() as url:
        store = PostgresStore(url)
        await store.open()
        [receipt] = await store.enqueue([NewJob(STREAM, "{}")])
        hints = store.hints()
        assert Hint("scan") == await anext(hints)

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where application_name like 'dure %'"
            )
        with pytest.raises(StoreUnavailable):
            await store.enqueue([NewJob(STREAM, "{}")])

        assert receipt.id < (await store.enqueue([NewJob(STREAM, "{}")]))[0].id
        assert Hint("scan") == await anext(hints)
        await hints.aclose()
        await store.close()
