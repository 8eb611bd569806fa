"""One suite, three stores: SQLite in memory, SQLite in a file, PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import psycopg
import pytest

from dure.core.backoff import Backoff, RetryPolicy
from dure.core.decide import Cause, Subject, Transition, decide
from dure.core.state import Event, State
from dure.core.stream import pack
from dure.ports.rows import Applied, Ask, Change, Claim, Effects, NewJob, Query, Receipt, Row
from dure.ports.store import Script, Store
from dure.scripts.jobs import Record
from dure.stores import statement
from dure.stores.postgres import PostgresStore
from dure.stores.sqlite import SqliteStore
from dure.testing.postgres import OwnServer

STREAM: Final = pack(1, 1, 2)
POLICY: Final = RetryPolicy(max_attempts=5, phases=(Backoff(base=30.0, factor=2.0, cap=3600.0),))
_EMPTIED: Final = (
    *("attempt", "batch", "epoch", "history", "key", "live", "pause", "tally", "worker"),
)
_NOTE: Final = "create table note (name text primary key, value bigint not null)"
_HASTE: Final = """
do $$ begin
  execute format('alter database %I set synchronous_commit = off', current_database());
end $$"""
"""No test here ends the server; those that do have one of their own."""


class SetClock:
    """The store's time, moved by the test alone."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def advance(self, seconds: float) -> None:
        self.time += seconds


class Standing(NamedTuple):
    """A job as it stands, with what a change of it must name."""

    id: int
    state: State
    fence: int
    attempt: int
    stream: int
    batch: int | None = None
    key: str | None = None
    subject: str | None = None
    epoch: int = 0


Held = Claim | Standing | Record
"""A job as somebody knows it who wants to change it."""


class Yard:
    """A store with its clock, and the steps of which the tests here are made."""

    def __init__(self, store: Store, clock: SetClock, connect: Callable[[], Store]) -> None:
        self.store = store
        self.clock = clock
        self._connect = connect
        self._opened = AsyncExitStack()

    @property
    def is_memory(self) -> bool:
        return self.store.url.endswith(":memory:")

    async def neighbour(self) -> Store:
        """A second node on the same jobs; memory has room for one only."""
        if self.is_memory:
            return self.store
        other = self._connect()
        await other.open()
        self._opened.push_async_callback(other.close)
        return other

    async def close(self) -> None:
        await self._opened.aclose()
        await self.store.close()

    async def put(self, count: int = 1, **fields: Any) -> list[int]:
        """Enqueue jobs that are alike; returns their ids."""
        job = NewJob(**{"stream": STREAM, "body": "{}", **fields})
        return [receipt.id for receipt in await self.store.enqueue([job] * count)]

    async def enqueue(self, **fields: Any) -> Receipt:
        job = NewJob(**{"stream": STREAM, "body": "{}", **fields})
        return (await self.store.enqueue([job]))[0]

    async def take(
        self, quota: int = 100, *, stream: int = STREAM, mark: int = 0, worker: int = 1
    ) -> list[Claim]:
        return list(await self.store.claim(worker, [Ask(stream, quota, mark)]))

    async def take_one(self, **fields: Any) -> Claim:
        """Enqueue one job and claim it."""
        job = await self.enqueue(**fields)
        [claim] = await self.take(1, mark=job.id)
        return claim

    def change(
        self,
        job: Held,
        event: Event,
        *,
        result: str | None = None,
        effects: Effects | None = None,
        **cause: Any,
    ) -> Change:
        """What the engine would ask for after this event."""
        now = self.clock.now()
        transition = decide(cast("Subject", job), Cause(event, **cause), POLICY, now, 0.5)
        assert isinstance(transition, Transition), transition
        return Change(
            transition,
            job.stream,
            result,
            effects,
            job.batch,
            job.key,
            job.subject,
            job.epoch,
            event is Event.SKIP,
        )

    async def end(self, job: Held, event: Event, **fields: Any) -> Applied:
        """Decide one event and apply it."""
        return await self.store.apply([self.change(job, event, **fields)])

    async def stand(self, state: State, **fields: Any) -> Standing:
        """A new job brought into an unfinished state."""
        job = await self.enqueue(**fields)
        if state is not State.PENDING:
            [claim] = await self.take(1, mark=job.id)
            if state is State.RETRY_WAIT:
                await self.end(claim, Event.RETRY, error="first")
            elif state is State.SUSPENDED:
                await self.end(claim, Event.SUSPEND, reason="first")
        standing = await self.standing(job.id)
        assert state is standing.state
        return standing

    async def standing(self, job: int) -> Standing:
        row = await self.live(job)
        assert row is not None, f"job {job} is not among the unfinished"
        return Standing(
            job,
            State(row["state"]),
            *(row[name] for name in ("fence", "attempt", "stream")),
            *(row[name] for name in ("batch", "key", "subject", "epoch")),
        )

    async def ask(self, sql: str, **params: object) -> list[Row]:
        """Any statement, in a transaction of its own."""

        def script() -> Script[list[Row]]:
            return (yield Query(sql, params))

        return await self.store.run(script())

    async def live(self, job: int) -> Row | None:
        rows = await self.ask("select * from dure_live where id = :job", job=job)
        return rows[0] if rows else None

    async def past(self, job: int) -> Row | None:
        rows = await self.ask("select * from dure_history where id = :job", job=job)
        assert len(rows) < 2, "a job was moved to history twice"
        return rows[0] if rows else None

    async def state(self, job: int) -> State:
        """Where the job is, which must be exactly one place."""
        places = [row for row in (await self.live(job), await self.past(job)) if row is not None]
        assert len(places) == 1, f"job {job} is in {len(places)} places"
        return State(places[0]["state"])

    async def attempts(self, job: int) -> list[tuple[int, str, str | None]]:
        """The noted attempts: fence, event, error."""
        rows = await self.ask(
            "select fence, event, error from dure_attempt where job = :job order by fence", job=job
        )
        return [(row["fence"], row["event"], row["error"]) for row in rows]

    async def notes(self) -> Mapping[str, int]:
        """The application's own table, which writes go to."""
        rows = await self.ask("select name, value from note order by name")
        return {row["name"]: row["value"] for row in rows}

    async def tally(self, batch: int) -> Sequence[int]:
        """Added, success, failed, skipped, stale, cancelled."""
        names = ("added", "success", "failed", "skipped", "stale", "cancelled")
        sums = ", ".join(f"cast(coalesce(sum({name}), 0) as bigint) as {name}" for name in names)
        rows = await self.ask(f"select {sums} from dure_tally where batch = :batch", batch=batch)
        return [rows[0][name] for name in names]


@pytest.fixture(autouse=True)
def statements_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts of these tests may write a statement out instead of naming its file."""

    def text(folder: str, name: str, *condition: str) -> str:
        return name if " " in name else statement.shared(folder, name, *condition)

    monkeypatch.setattr("dure.stores.sqlite.store.shared", text)
    monkeypatch.setattr("dure.stores.postgres.store.shared", text)


@pytest.fixture(scope="session")
def migrated_url(postgres_server: OwnServer) -> Iterator[str]:
    """A database with our tables, shared by the tests of this suite; each finds it empty."""

    async def migrate(url: str) -> None:
        store = PostgresStore(url)
        await store.open()
        await store.close()

    with postgres_server.database() as url:
        asyncio.run(migrate(url))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_NOTE)
            connection.execute(_HASTE)
        yield url


@pytest.fixture(scope="session")
def broom(migrated_url: str) -> Iterator[Callable[[], None]]:
    """Empties the shared database."""
    with psycopg.connect(migrated_url, autocommit=True) as connection:
        text = "".join(f"delete from dure_{name};" for name in _EMPTIED) + "delete from note"

        def sweep() -> None:
            connection.execute(text.encode())

        yield sweep


@pytest.fixture(params=["memory", "file", "postgres"])
def connect(
    request: pytest.FixtureRequest, clock: SetClock, sqlite_path: Path
) -> Callable[[], Store]:
    """Makes an unopened store on the test's own, empty place."""
    match request.param:
        case "memory":
            return lambda: SqliteStore(":memory:", clock=clock)
        case "file":
            return lambda: SqliteStore(sqlite_path, clock=clock, durability="NORMAL")
    url = request.getfixturevalue("migrated_url")
    request.getfixturevalue("broom")()
    return lambda: PostgresStore(url, clock=clock)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
async def yard(connect: Callable[[], Store], clock: SetClock) -> AsyncIterator[Yard]:
    store = connect()
    await store.open()
    made = Yard(store, clock, connect)
    if store.dialect == "sqlite":
        await made.ask(_NOTE)
    yield made
    await made.close()
