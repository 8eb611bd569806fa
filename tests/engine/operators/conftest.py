"""A store with jobs in any state, what operators do to it, and what they can see of it."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dure.core.backoff import RetryPolicy
from dure.core.decide import Cause, Transition, decide
from dure.core.state import Event, State
from dure.core.stream import pack
from dure.engine.desk.commands import Commands
from dure.engine.desk.insights import Insights
from dure.ports.rows import Applied, Ask, Change, Claim, NewJob
from dure.ports.store import Hint, Store
from dure.scripts import names, workers
from dure.scripts.audit import Entry
from dure.stores.postgres.store import PostgresStore
from dure.stores.sqlite.store import SqliteStore

START = 1_700_000_000.0
ONE_ATTEMPT = RetryPolicy(max_attempts=1)


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


class Yard:
    """A store, its clock, the two doors operators use, and every hint that was given."""

    def __init__(self, store: Store, clock: SetClock) -> None:
        self.store = store
        self.clock = clock
        self.commands = Commands(store)
        self.insights = Insights(store)
        self.hints: list[Hint] = []

    async def put(self, kind: str = "fetch", lane: str = "acme", **fields: Any) -> int:
        """Enqueue one job."""
        kinds = await self.store.run(names.kinds([kind]))
        lanes = await self.store.run(names.lanes([lane]))
        stream = pack(lanes[lane], kinds[kind], fields.pop("priority", 2))
        job = NewJob(**{"stream": stream, "body": "{}", **fields})
        return (await self.store.enqueue([job]))[0].id

    async def claim(self, job: int, worker: int = 1) -> Claim:
        """Claim one job, and those before it."""
        record = await self.insights.job(job)
        claims = await self.store.claim(worker, [Ask(record.stream, 1000, 0)])
        return next(claim for claim in claims if claim.id == job)

    async def apply(self, job: int, event: Event, *, fence: int | None = None, **cause: Any) -> Any:
        """What a worker does with a job; `fence` may be one that is not valid any more."""
        record = await self.insights.job(job)
        move = decide(record, Cause(event, **cause), ONE_ATTEMPT, self.clock.now(), 0.5)
        assert isinstance(move, Transition), move
        if fence is not None:
            move = move._replace(fence=fence)
        return await self.store.apply(
            [Change(move, record.stream, batch=record.batch, key=record.key)]
        )

    async def make(self, state: State, kind: str = "fetch", **fields: Any) -> int:
        """A job in this state."""
        job = await self.put(kind, **fields)
        match state:
            case State.SUSPENDED:
                await self.apply(job, Event.SUSPEND, reason="QUOTA")
            case State.CANCELLED:
                await self.apply(job, Event.CANCEL)
            case State.STALE:
                await self.apply(job, Event.STALE)
            case State.RETRY_WAIT:
                await self.claim(job)
                await self.apply(job, Event.WAIT, after=600.0)
            case State.FAILED:
                await self.claim(job)
                await self.apply(job, Event.FAIL, error="boom")
            case State.SUCCESS:
                await self.claim(job)
                await self.apply(job, Event.SUCCEED)
            case State.RUNNING:
                await self.claim(job)
        assert await self.state(job) is state
        return job

    async def one_of_each(self) -> dict[State, int]:
        """A job in every state; each of a kind of its own, so that claims do not mix them up."""
        return {state: await self.make(state, f"kind of {state.name}") for state in State}

    async def state(self, job: int) -> State:
        return (await self.insights.job(job)).state

    async def states(self, ids: Sequence[int]) -> list[State]:
        return [await self.state(job) for job in ids]

    async def due(self, job: int) -> float | None:
        return (await self.insights.job(job)).due

    async def audited(self) -> Entry:
        """The newest entry of the audit."""
        return (await self.insights.audit(1))[0]

    async def worker(self, *kinds: str, lease: float = 30.0) -> int:
        """A worker whose lease begins now."""
        script = workers.register(
            "worker-1",
            "host",
            pid=1,
            version="1",
            kinds=kinds,
            slots=4,
            lease=lease,
            now=self.clock.now(),
        )
        return await self.store.run(script)

    def topics(self) -> list[str]:
        return [hint.topic for hint in self.hints]


class Meddler:
    """A store in which a worker is quicker: it claims everything just before each apply."""

    def __init__(self, store: Store, yard: Yard) -> None:
        self._store = store
        self._yard = yard
        self.apply_calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def apply(self, changes: Sequence[Change]) -> Applied:
        self.apply_calls += 1
        if self.apply_calls == 1:
            await self._store.claim(9, [Ask(change.stream, 1000, 0) for change in changes])
        return await self._store.apply(changes)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture(params=["file", "postgres"])
async def yard(
    request: pytest.FixtureRequest,
    clock: SetClock,
    sqlite_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Yard]:
    """An empty store that tells the time of `clock`."""
    store: Any = (
        SqliteStore(sqlite_path, clock=clock)
        if request.param == "file"
        else PostgresStore(request.getfixturevalue("postgres_url"), clock=clock)
    )
    await store.open()
    made = Yard(store, clock)
    hint = store.hint

    async def remembered(given: Hint) -> None:
        made.hints.append(given)
        await hint(given)

    monkeypatch.setattr(store, "hint", remembered)
    try:
        yield made
    finally:
        await store.close()


@pytest.fixture
def meddled(yard: Yard) -> Commands:
    """Commands that always come a moment too late for the first chunk."""
    meddler: Any = Meddler(yard.store, yard)
    return Commands(meddler)
