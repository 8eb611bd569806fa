"""Any order of commands, by several workers, against a model made of plain dictionaries."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

import psycopg
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dure.core.backoff import Backoff, RetryPolicy
from dure.core.decide import Cause, Refusal, Subject, Transition, decide
from dure.core.outcome import Write
from dure.core.state import FINAL, Event, State
from dure.core.stream import pack
from dure.ports.rows import Ask, Change, Claim, Effects, NewJob, Query
from dure.ports.store import Script, Store
from dure.scripts import upkeep
from dure.stores import statement
from dure.stores.postgres import PostgresStore
from dure.stores.sqlite import SqliteStore

POLICY: Final = RetryPolicy(max_attempts=3, phases=(Backoff(base=10.0, factor=2.0, cap=60.0),))
STREAMS: Final = (pack(1, 1, 2), pack(2, 1, 2))
BATCHES: Final = (1, 2)
COUNTED: Final = ("added", "success", "failed", "skipped", "stale", "cancelled")
NOTE: Final = "create table note (name text primary key, value bigint not null)"
ADD: Final = "insert into note (name, value) values (:name, 1)"
BUDGET: Final = settings().max_examples
TABLES: Final = ("live", "history", "key", "tally", "attempt")
OUTCOMES: Final = (
    *(Event.SUCCEED, Event.SKIP, Event.RETRY, Event.TIMEOUT, Event.WAIT, Event.SUSPEND),
    *(Event.STALE, Event.FAIL, Event.GIVE_BACK),
)
COMMANDS: Final = (Event.CANCEL, Event.SUSPEND, Event.RESUME)

indexes = st.integers(0, 1 << 16)
streams = st.sampled_from(STREAMS)
plain_jobs = streams.map(lambda stream: NewJob(stream, "{}"))
new_jobs = st.tuples(
    streams,
    st.none() | st.sampled_from([5.0, 20.0]),
    st.none() | st.sampled_from(BATCHES),
    st.none() | st.sampled_from(["a", "b", "c"]),
).map(lambda drawn: NewJob(drawn[0], "{}", delay=drawn[1], batch=drawn[2], key=drawn[3]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the model knows of a job; a subject of `decide`."""

    id: int
    stream: int
    state: State = State.PENDING
    fence: int = 0
    attempt: int = 0
    due: float | None = None
    reason: str | None = None
    batch: int | None = None
    key: str | None = None
    worker: int | None = None


@dataclass(slots=True)
class Model:
    """The promises, as short as they can be written."""

    now: float = 1_800_000_000.0
    jobs: dict[int, Known] = field(default_factory=dict)
    keys: dict[str, tuple[int, float | None]] = field(default_factory=dict)
    counts: Counter[tuple[int, str]] = field(default_factory=Counter)
    notes: set[str] = field(default_factory=set)
    noted: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, job: int, new: NewJob) -> None:
        due = self.now + new.delay if new.delay else None
        state = State.PENDING if due is None else State.RETRY_WAIT
        known = Known(id=job, stream=new.stream, state=state, due=due, batch=new.batch, key=new.key)
        self.jobs[job] = known
        if new.key is not None:
            self.keys[new.key] = (job, new.key_until)
        if new.batch is not None:
            self.counts[new.batch, "added"] += 1

    def is_held(self, key: str | None) -> bool:
        if key is None or key not in self.keys:
            return False
        until = self.keys[key][1]
        return until is None or until > self.now

    def holds_already(self, t: Transition) -> bool:
        """Whether an earlier try can have done just this."""
        job = self.jobs[t.id]
        if (job.fence, job.state) != (t.fence, t.to):
            return False
        live = (job.attempt, job.due, job.reason) == (t.attempt, t.due, t.reason)
        return job.state in FINAL or live

    def apply(self, change: Change) -> bool:
        """Carry out a change; False when state or fence do not hold."""
        t, job = change.transition, self.jobs[change.transition.id]
        if (job.state, job.fence) != (t.source, t.fence):
            return False
        if t.source is State.RUNNING and t.event not in {Event.SUCCEED, Event.SKIP}:
            self.noted[t.id, t.fence] += 1
        self.jobs[t.id] = replace(
            job, state=t.to, attempt=t.attempt, due=t.due, reason=t.reason, worker=None
        )
        if t.to in FINAL:
            if job.key is not None and self.keys.get(job.key) == (job.id, None):
                del self.keys[job.key]
            if job.batch is not None:
                name = "skipped" if change.skipped else t.to.name.lower()
                self.counts[job.batch, name] += 1
        if change.effects is not None and t.to is State.SUCCESS:
            self.notes.update(str(write.params["name"]) for write in change.effects.writes)
        return True

    def in_state(self, *states: State) -> list[Known]:
        return [job for job in self.jobs.values() if job.state in states]


class Machine(RuleBasedStateMachine):
    """Commands in any order; after each of them the store must say what the model says."""

    connect: ClassVar[Callable[["Machine"], Store]]

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.claims: list[Claim] = []
        self.ended: dict[int, dict[str, Any]] = {}
        self.fences: dict[int, int] = {}
        self.runner = asyncio.Runner()
        self.store = type(self).connect(self)
        self.runner.run(self.store.open())
        if self.store.dialect == "sqlite":
            self.ask(NOTE)

    def teardown(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()

    def now(self) -> float:
        return self.model.now

    monotonic = now

    def ask(self, *statements: str) -> list[list[dict[str, Any]]]:
        def script() -> Script[list[list[dict[str, Any]]]]:
            answers = []
            for text in statements:
                rows = yield Query(text)
                answers.append([dict(row) for row in rows])
            return answers

        return self.runner.run(self.store.run(script()))

    @rule(jobs=st.lists(new_jobs, min_size=1, max_size=4) | st.lists(plain_jobs, min_size=1))
    def enqueue(self, jobs: list[NewJob]) -> None:
        receipts = self.runner.run(self.store.enqueue(jobs))
        for job, receipt in zip(jobs, receipts, strict=True):
            assert receipt.is_new is not self.model.is_held(job.key)
            if receipt.is_new:
                assert receipt.id > max(self.model.jobs, default=0)
                self.model.add(receipt.id, job)
            else:
                assert job.key is not None
                assert receipt.id == self.model.keys[job.key][0]

    @rule(stream=streams, seconds=st.sampled_from([5.0, 30.0]))
    def enqueue_under_a_key_for_a_period(self, stream: int, seconds: float) -> None:
        self.enqueue([NewJob(stream, "{}", key="a", key_until=self.model.now + seconds)])

    @rule(worker=st.integers(1, 3), quota=st.integers(0, 4), asked=st.sets(streams))
    def claim(self, worker: int, quota: int, asked: set[int]) -> None:
        asks = [Ask(stream, quota, 0) for stream in sorted(asked)]
        claims = self.runner.run(self.store.claim(worker, asks)) if asks else []
        waiting = Counter(job.stream for job in self.model.in_state(State.PENDING))
        expected = sum(min(quota, waiting[stream]) for stream in asked)
        assert len({claim.id for claim in claims}) == expected
        for claim in claims:
            job = self.model.jobs[claim.id]
            assert job.state is State.PENDING
            assert (claim.fence, claim.attempt) == (job.fence + 1, job.attempt + 1)
            self.model.jobs[claim.id] = replace(
                job,
                state=State.RUNNING,
                fence=claim.fence,
                attempt=claim.attempt,
                worker=worker,
            )
        self.claims.extend(claims)

    @precondition(lambda self: self.claims)
    @rule(
        picks=st.lists(st.tuples(indexes, st.sampled_from(OUTCOMES), st.booleans()), min_size=1),
    )
    def finish(self, picks: list[tuple[int, Event, bool]]) -> None:
        """By those who hold the job, and by those who only think so."""
        changes = []
        for index, event, is_rich in picks:
            claim = self.claims[index % len(self.claims)]
            effects = None
            if is_rich and event is Event.SUCCEED:
                follow_up = NewJob(claim.stream, "{}", batch=claim.batch)
                write = Write(ADD, {"name": f"{claim.id}:{claim.fence}"})
                effects = Effects([write], [follow_up])
            changes.append(self.change(claim, event, effects))
        self.apply([change for change in changes if change is not None])

    @rule(worker=st.integers(1, 3))
    def lose_a_lease(self, worker: int) -> None:
        """The sweeper takes back all jobs of a worker; their claims turn into zombies'."""
        lost = [job for job in self.model.in_state(State.RUNNING) if job.worker == worker]
        self.apply([change for job in lost if (change := self.change(job, Event.LEASE_LOST))])

    @precondition(lambda self: self.model.jobs)
    @rule(index=indexes, event=st.sampled_from(COMMANDS), after=st.sampled_from([None, 15.0]))
    def command(self, index: int, event: Event, after: float | None) -> None:
        """What an operator asks for, wherever the job stands."""
        job = self.model.jobs[sorted(self.model.jobs)[index % len(self.model.jobs)]]
        change = self.change(job, event, after=after if event is Event.RESUME else None)
        if change is not None:
            self.apply([change])

    @rule(limit=st.integers(1, 5))
    def promote(self, limit: int) -> None:
        due = [
            job
            for job in self.model.in_state(State.RETRY_WAIT)
            if job.due is not None and job.due <= self.model.now
        ]
        promoted = self.runner.run(self.store.run(upkeep.promote(self.model.now, limit)))
        assert sum(number for _, number in promoted) == min(len(due), limit)
        for row in self.ask("select id from dure_live where state = 0")[0]:
            job = self.model.jobs[row["id"]]
            if job.state is not State.PENDING:
                assert job in due
                self.model.jobs[job.id] = replace(job, state=State.PENDING, due=None, reason=None)

    @rule(seconds=st.sampled_from([1.0, 10.0, 40.0]))
    def advance(self, seconds: float) -> None:
        self.model.now += seconds

    def change(
        self,
        job: Claim | Known,
        event: Event,
        effects: Effects | None = None,
        after: float | None = None,
    ) -> Change | None:
        subject: Subject = job
        cause = Cause(event, f"{event}", f"{event}", after)
        decided = decide(subject, cause, POLICY, self.model.now, 0.5)
        if isinstance(decided, Refusal):
            return None
        return Change(
            decided,
            job.stream,
            effects=effects,
            batch=job.batch,
            key=job.key,
            skipped=event is Event.SKIP,
        )

    def apply(self, changes: Sequence[Change]) -> None:
        applied = self.runner.run(self.store.apply(changes))
        follow_ups: list[NewJob] = []
        refused = set()
        for change in changes:
            if self.model.apply(change):
                if change.effects is not None:
                    follow_ups.extend(change.effects.then)
            elif not self.model.holds_already(change.transition):
                refused.add(change.transition.id)
        assert refused == applied.refused
        assert not applied.stale
        assert not applied.broken
        last = max(self.model.jobs, default=0)
        rows = self.ask(f"select id, stream, batch from dure_live where id > {last}")[0]
        assert Counter((row["stream"], row["batch"]) for row in rows) == Counter(
            (job.stream, job.batch) for job in follow_ups
        )
        for row in rows:
            self.model.add(row["id"], NewJob(row["stream"], "{}", batch=row["batch"]))

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        live, history, keys, tallies, attempts, notes = self.ask(
            *(f"select * from dure_{table}" for table in TABLES),
            "select name from note",
        )
        rows = {row["id"]: row for row in (*live, *history)}
        assert len(rows) == len(live) + len(history), "a job stands in two places"
        assert rows.keys() == self.model.jobs.keys(), "a job was lost or made up"
        for job in self.model.jobs.values():
            row = rows[job.id]
            told = (row["state"], row["fence"], row["attempt"])
            assert told == (job.state, job.fence, job.attempt)
            assert row["attempt"] <= POLICY.max_attempts
            assert row["fence"] >= self.fences.get(job.id, 0)
            self.fences[job.id] = row["fence"]
            if job.state not in FINAL:
                assert (row["due"], row["ready"]) == (job.due, job.state in {0, 1})
        for row in history:
            assert row == self.ended.setdefault(row["id"], row), "a finished job has changed"
        assert {row["key"]: (row["job"], row["until"]) for row in keys} == self.model.keys
        counted = Counter({(row["batch"], n): 0 for row in tallies for n in COUNTED})
        for row in tallies:
            for name in COUNTED:
                counted[row["batch"], name] += row[name]
        assert +counted == +self.model.counts
        assert Counter((row["job"], row["fence"]) for row in attempts) == self.model.noted
        assert {row["name"] for row in notes} == self.model.notes


@pytest.fixture(autouse=True)
def statements_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts of these tests may write a statement out instead of naming its file."""

    def text(folder: str, name: str, *condition: str) -> str:
        return name if " " in name else statement.shared(folder, name, *condition)

    monkeypatch.setattr("dure.stores.sqlite.store.shared", text)
    monkeypatch.setattr("dure.stores.postgres.store.shared", text)


def run(connect: Callable[[Machine], Store], examples: int, steps: int) -> None:
    machine = type("Machine", (Machine,), {"connect": connect})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_sqlite_keeps_every_promise_of_the_model() -> None:
    """X1 X2 X3 X12"""
    run(lambda machine: SqliteStore(":memory:", clock=machine, inline=True), BUDGET, 40)


def test_postgres_keeps_every_promise_of_the_model(postgres_url: str) -> None:
    """X1 X2 X3 X12"""

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(NOTE)
        sweep = "".join(f"delete from dure_{table};" for table in TABLES) + "delete from note"

        def connect(machine: Machine) -> Store:
            connection.execute(sweep.encode())
            return PostgresStore(postgres_url, clock=machine)

        run(connect, BUDGET // 6, 30)
