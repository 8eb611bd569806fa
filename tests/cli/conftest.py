"""A terminal to type commands into, and a store with something of everything."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dure.cli.main import main
from dure.compose import open_store
from dure.core.backoff import RetryPolicy
from dure.core.batch import Overlap
from dure.core.decide import Cause, Transition, decide
from dure.core.limit import Limit, Window
from dure.core.state import Event, State
from dure.core.stream import pack
from dure.engine.desk.commands import Commands
from dure.ports.rows import Ask, Change, NewJob
from dure.ports.store import Store
from dure.scripts import batches, jobs, names, schedules, workers
from dure.scripts.schedules import Declared

WORKER_LEASE = 1e6
"""Longer than any test takes: whether a worker is alive must not depend on the time."""


@dataclass(frozen=True)
class Ran:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def item(self) -> Any:
        return self.document["item"]

    @property
    def items(self) -> Any:
        return self.document["items"]


Dure = Callable[..., Ran]


@pytest.fixture
def dure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Dure:
    """Runs `dure WORDS...` in an empty folder; no store is named by the environment."""
    monkeypatch.delenv("DURE_STORE", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def run(*words: object) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def on_store(dure: Dure, sqlite_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dure:
    """The same on an empty SQLite store that DURE_STORE names."""
    monkeypatch.setenv("DURE_STORE", str(sqlite_path))
    assert dure("migrate").code == 0
    return dure


@dataclass(frozen=True)
class Busy:
    """The ids of what `fill` has put into a store."""

    jobs: dict[State, int]
    batch: int
    worker: int


def with_store(url: str | Path, do: Callable[[Store], Awaitable[Any]]) -> Any:
    """Open a store, do something, close it."""

    async def session() -> Any:
        store = open_store(url)
        await store.open()
        try:
            return await do(store)
        finally:
            await store.close()

    return asyncio.run(session())


async def fill(store: Store) -> Busy:
    """A job in every state, and one of everything else."""
    commands, now = Commands(store), await store.now()
    batch = await store.run(batches.open_("NIGHT", Overlap.ALLOW, now=now))
    assert isinstance(batch, int)
    worker = await store.run(
        workers.register(
            "worker-1",
            "host",
            pid=1,
            version="0",
            kinds=["fetch"],
            slots=4,
            lease=WORKER_LEASE,
            now=now,
        )
    )
    made = {state: await _make(store, state, batch, worker) for state in State}
    await commands.define_limit(Limit("kis", (Window.parse("20/s"),)), by="kim", reason="contract")
    await commands.configure_lane("acme", by="kim", limits=["kis"], max_running=3)
    await commands.force_breaker("naver", "open", by="kim")
    await commands.configure_lane("zeta", by="kim", weight=2.0)
    await commands.pause("lane", "zeta", by="kim", reason="audit")
    await store.run(
        schedules.declare([Declared("hourly", "0 * * * *", "UTC", "once", "{}", now + 1e6)])
    )
    return Busy(made, batch, worker)


async def _make(store: Store, state: State, batch: int, worker: int) -> int:
    """A job in this state, of a kind of its own."""
    kind = f"kind-{state.name.lower()}"
    kinds, lanes = await store.run(names.kinds([kind])), await store.run(names.lanes(["acme"]))
    stream = pack(lanes["acme"], kinds[kind], 2)
    new = NewJob(stream, '{"url":"https://example.org"}', session="nightly", batch=batch)
    ((job, _),) = await store.enqueue([new])
    events = {
        State.SUSPENDED: Cause(Event.SUSPEND, reason="QUOTA"),
        State.CANCELLED: Cause(Event.CANCEL, reason="not needed"),
        State.STALE: Cause(Event.STALE),
        State.RETRY_WAIT: Cause(Event.WAIT, after=1e6),
        State.FAILED: Cause(Event.FAIL, error="TimeoutError: no answer"),
        State.SUCCESS: Cause(Event.SUCCEED),
    }
    if state in {State.RUNNING, State.RETRY_WAIT, State.FAILED, State.SUCCESS}:
        await store.claim(worker, [Ask(stream, 1, 0)])
    if state in events:
        record = await store.read(jobs.get(job))
        assert record is not None
        move = decide(record, events[state], RetryPolicy(), await store.now(), 0.5)
        assert isinstance(move, Transition)
        await store.apply([Change(move, stream, result='{"size":3}', batch=batch)])
    return job


@pytest.fixture
def busy(on_store: Dure, sqlite_path: Path) -> Busy:
    """The store that `on_store` looks at, filled."""
    found: Busy = with_store(sqlite_path, fill)
    return found


@pytest.fixture
def state_of(sqlite_path: Path) -> Callable[[int], State]:
    """Looks at a job without the command line."""

    def look(job: int) -> State:
        record = with_store(sqlite_path, lambda store: store.read(jobs.get(job)))
        found: State = record.state
        return found

    return look


@pytest.fixture
def on_postgres(dure: Dure, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Dure:
    """Runs commands on an empty PostgreSQL store that DURE_STORE names."""
    monkeypatch.setenv("DURE_STORE", postgres_url)
    assert dure("migrate").code == 0
    return dure


@pytest.fixture
def busy_on_postgres(on_postgres: Dure, postgres_url: str) -> Busy:
    """The store that `on_postgres` looks at, filled."""
    found: Busy = with_store(postgres_url, fill)
    return found
