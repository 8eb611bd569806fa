"""A place to hurt workers in: a store, processes on it, and a judge who asks only the database."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import pytest
from tests.process.asking import Ack, Row, ask_postgres, ask_sqlite

from dure import App, Event, Job, State
from dure.core.backoff import NEVER
from dure.core.decide import Cause, Transition, decide
from dure.core.errors import StoreUnavailable
from dure.ports.rows import Change
from dure.ports.store import Hint, Script
from dure.scripts import jobs, settings
from dure.testing.crash import PATIENCE_SECONDS, Line, Victim, end_strays, is_running, lines_of
from dure.testing.postgres import OwnServer

APPS: Final = Path(__file__).parent / "apps"
CHILD: Final = "dure.engine.attempts.child"
LEASE: Final = 1.0
_KINDS: Final = (
    *("step", "leaf", "branch", "capped", "plain", "apart", "soft", "blocking"),
    *("endless_soft", "endless_plain", "endless_apart", "exiting", "crashing", "poison"),
)
_SETTINGS: Final = {
    "sweep.interval": "200ms",
    "promote.interval": "50ms",
    "scan.interval": "200ms",
}
_ROWS: Final = """
select id, state, attempt, fence, parent, worker, error, claimed_at, body, 0 as ended from dure_live
union all
select id, state, attempt, fence, parent, worker, error, claimed_at, body, 1 from dure_history
order by id"""


class MakeScene(Protocol):
    """Makes the scene of a test that wants one of its own."""

    async def __call__(
        self,
        url: str,
        path: Path | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        is_prepared: bool = True,
    ) -> Scene: ...


class Scene:
    """One store and the processes on it."""

    def __init__(
        self,
        url: str,
        ask: Callable[[str], list[tuple[Any, ...]]],
        folder: Path,
        path: Path | None = None,
    ) -> None:
        self.url = url
        self.path = path
        self.is_open = False
        self.unavailable = StoreUnavailable
        self.ask = ask
        self.folder = folder
        self.log = folder / "side.log"
        self.acks = folder / "acks.log"
        self.victims: list[Victim] = []
        self.app = App(url)
        for name in _KINDS:
            self.app.kind(name=name)(_anything)

    async def prepare(self, chosen: Mapping[str, str]) -> None:
        """The schema, the quick settings of these tests, and the application's own table."""
        await self.app.open()
        for key, text in {**_SETTINGS, **chosen}.items():
            await self.run(settings.set_(key, text, by="test", reason="", now=time.time()))
        self.is_open = True
        self.ask("create table effect (job bigint not null, fence bigint not null)")

    async def close(self) -> None:
        for victim in self.victims:
            victim.close()
        if self.is_open:
            await self.app.close()
        end_strays(sorted({line.pid for line in self.lines()}), CHILD)

    async def run(self, script: Script[Any]) -> Any:
        return await self.app.store.run(script)

    def start(self, script: str, *arguments: str, **environment: str) -> Victim:
        """A process of one of the apps."""
        named = {"DURE_URL": self.url, "DURE_LOG": str(self.log), "DURE_ACKS": str(self.acks)}
        victim = Victim(
            [APPS / f"{script}.py", *arguments],
            output=self.folder / f"{script}-{len(self.victims)}",
            environment={**named, **environment},
        )
        self.victims.append(victim)
        return victim

    def worker(self, *, environment: Mapping[str, str] | None = None, **options: Any) -> Victim:
        """A worker process that is on its way."""
        given = json.dumps({"lease": LEASE, "beat": 0.25, **options})
        return self.start("worker", given, **(environment or {}))

    async def working(self, **options: Any) -> Victim:
        """A worker process that has registered."""
        victim = self.worker(**options)
        await self.ready(victim)
        return victim

    async def ready(self, *victims: Victim) -> None:
        for victim in victims:
            await self.until(lambda v=victim: "ready" in v.said() or not v.is_running)
            assert victim.is_running, f"the worker ended: {victim.said()} {victim.complaints()}"

    def connections(self, name: str) -> int:
        """How many connections to PostgreSQL go by this name."""
        found: int = self.ask(
            f"select count(*) from pg_stat_activity where application_name = '{name}'"
        )[0][0]
        return found

    def up(self, crew: Iterable[Victim]) -> list[Victim]:
        """Those of a crew that work; none while there are fewer than two."""
        ready = [victim for victim in crew if "ready" in victim.said()]
        return ready if len(ready) > 1 else []

    async def put(
        self, kind: str, count: int = 1, *, to: str = "default", **args: Any
    ) -> list[int]:
        """Enqueue jobs that are alike to a lane; returns their ids."""
        job = Job(kind, json.dumps(args)).options(lane=to)
        return [receipt.id for receipt in await self.app.enqueue_many([job] * count)]

    async def cancel(self, job: int) -> None:
        """As an operator's command does it."""
        record = await self.app.store.read(jobs.get(job))
        assert record is not None
        move = decide(record, Cause(Event.CANCEL, reason="test"), NEVER, time.time(), 0.0)
        assert isinstance(move, Transition), move
        applied = await self.app.store.apply([Change(move, record.stream)])
        assert not applied.refused
        await self.app.store.hint(Hint("jobs"))

    async def until(
        self,
        holds: Callable[[], Any] | Callable[[], Awaitable[Any]],
        seconds: float = PATIENCE_SECONDS,
    ) -> Any:
        """What `holds` answers, once that is true."""
        deadline = time.monotonic() + seconds
        while True:
            answer = holds()
            if answer:
                return answer
            assert time.monotonic() < deadline, f"not after {seconds} s:\n{self.report()}"
            await asyncio.sleep(0.02)

    def lines(self, event: str | None = None, job: int | None = None) -> list[Line]:
        """The side log, or its lines of one event, of one job."""
        return [
            line
            for line in lines_of(self.log)
            if event in {None, line.event} and job in {None, line.job}
        ]

    def told(self) -> list[Ack]:
        """What producers were told is durable, in the order in which they heard it."""
        found: list[Ack] = []
        for line in self._acks("durable"):
            _, pid, number, *ids = line.split(" ")
            found += [Ack(int(pid), int(number) + i, int(job)) for i, job in enumerate(ids)]
        return found

    def refusals(self) -> list[tuple[str, str]]:
        """What producers got instead: the name of the error, and its text."""
        lines = [line.split(" ", 4) for line in self._acks("refused")]
        return [(name, text) for _, _, _, name, text in lines]

    def _acks(self, verb: str) -> list[str]:
        if not self.acks.exists():
            return []
        whole, _, _ = self.acks.read_text().rpartition("\n")
        return [line for line in whole.splitlines() if line.startswith(verb)]

    def enqueued_at(self, job: int) -> float:
        tables = ("dure_live", "dure_history")
        (found,) = [
            row[0]
            for table in tables
            for row in self.ask(f"select enqueued_at from {table} where id = {job}")
        ]
        moment: float = found
        return moment

    def have_started(self, ids: Iterable[int]) -> bool:
        return {line.job for line in self.lines("start")}.issuperset(ids)

    def rows(self) -> list[Row]:
        return [Row(*row) for row in self.ask(_ROWS)]

    def row(self, job: int) -> Row:
        (found,) = [row for row in self.rows() if row.id == job]
        return found

    def events(self, job: int) -> list[str]:
        """How its attempts ended that did not succeed."""
        return [
            r[0]
            for r in self.ask(f"select event from dure_attempt where job = {job} order by fence")
        ]

    def state(self, job: int) -> str:
        return State(self.row(job).state).name

    def lost_leases(self) -> dict[tuple[int, int], float]:
        """When attempts were taken back from dead workers, by job and fence."""
        rows = self.ask("select job, fence, ended_at from dure_attempt where event = 'lease_lost'")
        return {(job, fence): at for job, fence, at in rows}

    def has_ended(self, ids: Iterable[int] | None = None) -> bool:
        """Whether these jobs are final; without ids, whether no job is left unfinished."""
        if ids is None:
            return not self.ask("select 1 from dure_live limit 1")
        live = {row[0] for row in self.ask("select id from dure_live")}
        return live.isdisjoint(ids)

    def alive(self, victim: Victim) -> tuple[int, float, float] | None:
        """Worker number, last beat and end of the lease of a process, by the store's own time."""
        found = self.ask(
            "select id, beat_at, lease_until from dure_worker "
            f"where pid = {victim.pid} order by id desc limit 1"
        )
        return found[0] if found else None

    def farewell(self, victim: Victim) -> dict[str, Any]:
        """The report a worker printed when it left."""
        report: dict[str, Any] = json.loads(victim.said()[-1])
        return report

    def is_leaving(self, victim: Victim) -> bool:
        """Whether it has said so."""
        return "leaving" in victim.said()

    def is_child(self, pid: int) -> bool:
        """Whether a child process of a node still runs."""
        return is_running(pid, CHILD)

    def is_write_locked(self) -> bool:
        """Whether somebody holds the write lock of a SQLite file right now."""
        if self.path is None:
            return False
        connection = sqlite3.connect(self.path, timeout=0, isolation_level=None)
        try:
            connection.execute("begin immediate")
            connection.execute("rollback")
        except sqlite3.OperationalError:
            return True
        else:
            return False
        finally:
            connection.close()

    def report(self) -> str:
        """What a failed wait should show."""
        states = Counter((State(row.state).name, row.worker) for row in self.rows())
        said = [(v.pid, v.exit_code, v.said()[-1:], v.complaints()) for v in self.victims]
        kinds = self.ask(
            "select k.name, j.stream >> 16, j.state, j.reason, count(*) from dure_live j "
            "join dure_kind k on k.id = ((j.stream >> 2) & 16383) group by 1, 2, 3, 4"
        )
        cells = self.ask("select name, value from dure_cell")
        workers = self.ask("select * from dure_worker")
        return f"{states}\nunfinished: {kinds}\ncells: {cells}\nworkers: {workers}\n{said}"

    def judge(self, told: Iterable[int], *, attempts_max: int = 60) -> None:
        """Nothing lost, nothing twice, everything final or explained. Asks only the database."""
        rows = self.rows()
        by_id = {row.id: row for row in rows}
        effects = Counter(row[0] for row in self.ask("select job from effect"))
        started = Counter((line.job, line.fence) for line in self.lines("start"))
        succeeded = {row.id for row in rows if row.state == State.SUCCESS}
        failed = {row.id for row in rows if row.state == State.FAILED}
        steps = {n for n in self.step_ids() if n in succeeded}
        children = Counter(row.parent for row in rows if row.parent is not None)

        assert [] == [i for i in told if i not in by_id], "acknowledged and lost"
        assert len(rows) == len(by_id), "a job is in two places"
        assert [] == [row for row in rows if not row.ended], "neither final nor on its way"
        assert dict.fromkeys(succeeded, 1) == dict(effects), "each success writes once, nobody else"
        assert dict.fromkeys(steps, 1) == dict(children), "each follow-up exists once"
        assert [] == [pair for pair, count in started.items() if count > 1], "a fence ran twice"
        assert [] == [row for row in rows if row.attempt > attempts_max]
        assert [] == [row for row in rows if row.fence < row.attempt]
        assert succeeded | failed == by_id.keys(), "nobody cancelled anything"
        for job in failed:
            assert by_id[job].error, f"job {job} failed without a word"
            spent = [event for event in self.events(job) if event != Event.GIVE_BACK]
            assert by_id[job].attempt == len(spent), f"job {job} is not explained"
        fences = {row[0]: row[1] for row in self.ask("select job, fence from effect")}
        assert {job: by_id[job].fence for job in succeeded} == fences, "a fenced-off attempt wrote"

    def step_ids(self) -> set[int]:
        """Jobs of the kinds that enqueue one follow-up."""
        return {
            row[0]
            for table in ("dure_live", "dure_history")
            for row in self.ask(
                f"select j.id from {table} j join dure_kind k on k.id = ((j.stream >> 2) & 16383) "
                "where k.name in ('step', 'branch')"
            )
        }

    def assert_calm(self) -> None:
        """No process met an error that nobody caught."""
        uncaught = [text for victim in self.victims if (text := victim.complaints())]
        assert not uncaught, "\n".join(uncaught)


async def _anything(seconds: float = 0.0) -> None:
    """Stands for every kind; the tests only enqueue."""


@pytest.fixture
async def make_scene(tmp_path: Path) -> AsyncIterator[MakeScene]:
    """Scenes that end with the test, whatever becomes of it."""
    made: list[Scene] = []

    async def make(
        url: str,
        path: Path | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        is_prepared: bool = True,
    ) -> Scene:
        ask = ask_postgres(url) if path is None else ask_sqlite(path)
        folder = tmp_path / f"scene-{len(made)}"
        folder.mkdir()
        scene = Scene(url, ask, folder, path)
        made.append(scene)
        if is_prepared:
            await scene.prepare(settings or {})
        return scene

    try:
        yield make
    finally:
        for scene in made:
            await scene.close()


@pytest.fixture
async def sqlite_scene(make_scene: MakeScene, sqlite_path: Path) -> Scene:
    return await make_scene(str(sqlite_path), sqlite_path)


@pytest.fixture
async def postgres_scene(make_scene: MakeScene, own_postgres_url: str) -> Scene:
    return await make_scene(own_postgres_url)


@pytest.fixture(params=["sqlite", "postgres"])
def scene(request: pytest.FixtureRequest) -> Scene:
    """The same test on both stores."""
    found: Scene = request.getfixturevalue(f"{request.param}_scene")
    return found


@pytest.fixture
def own_server() -> Iterator[OwnServer]:
    """A PostgreSQL that one test may stop and crash."""
    with OwnServer({"max_connections": "60"}) as server:
        yield server
