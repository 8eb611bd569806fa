"""Open stores for the scripts: SQLite in memory, SQLite in a file, PostgreSQL; time is set."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dure.core.backoff import RetryPolicy
from dure.core.decide import Cause, Transition, decide
from dure.core.state import Event, State
from dure.core.stream import pack
from dure.ports.rows import Ask, Change, Claim, NewJob, Query, Row
from dure.ports.store import Script, Store
from dure.scripts import jobs, names, workers
from dure.stores import statement
from dure.stores.postgres.store import PostgresStore
from dure.stores.sqlite.store import SqliteStore

START = 1_700_000_000.0

Nodes = Callable[[int], Awaitable[list[Store]]]


@dataclass
class SetClock:
    """A clock that stands still until a test moves it."""

    moment: float = START

    def now(self) -> float:
        return self.moment

    def monotonic(self) -> float:
        return self.moment

    def advance(self, seconds: float) -> None:
        self.moment += seconds


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture(params=["memory", "file", "postgres"])
async def store(
    request: pytest.FixtureRequest, clock: SetClock, sqlite_path: Path
) -> AsyncIterator[Store]:
    """An empty store that tells the time of `clock`."""
    async with _opened(_store(request, request.param, clock, sqlite_path)) as opened:
        yield opened


@pytest.fixture(params=["file", "postgres"])
async def nodes(
    request: pytest.FixtureRequest, clock: SetClock, sqlite_path: Path
) -> AsyncIterator[Nodes]:
    """Opens as many stores on one database as asked for, each with connections of its own."""
    async with AsyncExitStack() as stack:

        async def open_nodes(count: int) -> list[Store]:
            return [
                await stack.enter_async_context(
                    _opened(_store(request, request.param, clock, sqlite_path))
                )
                for _ in range(count)
            ]

        yield open_nodes


def _store(request: pytest.FixtureRequest, where: str, clock: SetClock, path: Path) -> Store:
    match where:
        case "memory":
            return SqliteStore(":memory:", clock=clock)
        case "file":
            return SqliteStore(path, clock=clock)
        case _:
            return PostgresStore(request.getfixturevalue("postgres_url"), clock=clock)


@asynccontextmanager
async def _opened(store: Store) -> AsyncIterator[Store]:
    await store.open()
    try:
        yield store
    finally:
        await store.close()


class Stage:
    """A store with jobs in the states that a test needs."""

    def __init__(self, store: Store, clock: SetClock) -> None:
        self.store = store
        self.clock = clock

    async def stream(self, kind: str = "fetch", lane: str = "acme", priority: int = 2) -> int:
        """The stream of a kind and a lane, which get their numbers here."""
        kinds = await self.store.run(names.kinds([kind]))
        lanes = await self.store.run(names.lanes([lane]))
        return pack(lanes[lane], kinds[kind], priority)

    async def put(self, stream: int | None = None, **fields: Any) -> int:
        """Enqueue one job."""
        where = await self.stream() if stream is None else stream
        job = NewJob(**{"stream": where, "body": "{}", **fields})
        return (await self.store.enqueue([job]))[0].id

    async def claim(self, job: int, worker: int = 1) -> Claim:
        """Claim one job, and those before it."""
        record = await self.record(job)
        claims = await self.store.claim(worker, [Ask(record.stream, 1000, 0)])
        return next(claim for claim in claims if claim.id == job)

    async def decided(self, job: int, event: Event, **cause: Any) -> Transition:
        """What follows from an event; one attempt is all a job has."""
        record = await self.record(job)
        policy = RetryPolicy(max_attempts=1)
        transition = decide(record, Cause(event, **cause), policy, self.clock.now(), 0.5)
        assert isinstance(transition, Transition), transition
        return transition

    async def end(
        self, job: int, event: Event, *, result: str | None = None, **cause: Any
    ) -> jobs.Record:
        """Decide and apply an event; the job afterwards."""
        record = await self.record(job)
        transition = await self.decided(job, event, **cause)
        change = Change(transition, record.stream, result, batch=record.batch, key=record.key)
        applied = await self.store.apply([change])
        assert not applied.refused
        assert not applied.broken
        return await self.record(job)

    async def ended(self, event: Event = Event.FAIL, **fields: Any) -> jobs.Record:
        """A job that was claimed once and ended."""
        job = await self.put(**fields)
        await self.claim(job)
        return await self.end(job, event, **({"error": "boom"} if event is Event.FAIL else {}))

    async def replay(self, job: int, *, body: str | None = None, **cause: Any) -> bool:
        """Decide a replay and carry it out."""
        record = await self.record(job)
        transition = await self.decided(job, Event.REPLAY, **cause)
        now = self.clock.now()
        script = jobs.revive(record, transition, record.stream, now=now, body=body)
        return await self.store.run(script)

    async def record(self, job: int) -> jobs.Record:
        found = await self.store.read(jobs.get(job))
        assert found is not None, f"there is no job {job}"
        return found

    async def state(self, job: int) -> State:
        return (await self.record(job)).state

    async def worker(self, *kinds: str, lease: float = 30.0) -> int:
        """A worker whose lease begins now."""
        script = workers.register(
            f"worker of {', '.join(kinds)}",
            "host",
            pid=1,
            version="1",
            kinds=kinds,
            slots=4,
            lease=lease,
            now=self.clock.now(),
        )
        return await self.store.run(script)

    async def ask(self, sql: str, **params: object) -> list[Row]:
        """Any statement, written out, in a transaction of its own."""

        def script() -> Script[list[Row]]:
            return (yield Query(sql, params))

        return await self.store.run(script())


@pytest.fixture
def stage(store: Store, clock: SetClock, monkeypatch: pytest.MonkeyPatch) -> Stage:
    def text(folder: str, name: str, where: str = "") -> str:
        return name if " " in name else statement.shared(folder, name, where)

    monkeypatch.setattr("dure.stores.sqlite.store.shared", text)
    monkeypatch.setattr("dure.stores.postgres.store.shared", text)
    return Stage(store, clock)
