"""What people may ask: reads only, each bounded, and the same answers for every surface.

The command line and the dashboard show what comes back and work nothing out by themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dure.core.batch import BATCH_FINAL, BatchState, Eta, Tally, eta
from dure.core.breaker import Condition
from dure.core.errors import NotFound, SettingInvalid
from dure.core.filter import JobFilter, Op, Term
from dure.core.settings import SETTINGS, Setting, Value, parse
from dure.core.state import FINAL, State
from dure.engine.desk.bulk import Count
from dure.engine.desk.checkup import Finding, findings
from dure.engine.desk.commands import Kinds
from dure.engine.desk.explain import Explanation, explain
from dure.ports.store import Script, Store
from dure.scripts import (
    audit,
    batches,
    breakers,
    jobs,
    keys,
    lanes,
    limits,
    names,
    pauses,
    progress,
    schedules,
    settings,
    workers,
)
from dure.scripts.audit import Entry
from dure.scripts.batches import Batch
from dure.scripts.jobs import COUNT_CAP, Attempt, Record
from dure.scripts.keys import Key
from dure.scripts.lanes import Lane, Listed
from dure.scripts.limits import Standing
from dure.scripts.pauses import Pause, Scope
from dure.scripts.schedules import Schedule
from dure.scripts.workers import Worker

HOUR: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchView:
    """A batch with all that has been counted, and when it will be over."""

    batch: Batch
    tally: Tally
    eta: Eta | None
    """None when it is over, or too little is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """A session: its jobs by state, its pause, and when they will all be finished."""

    name: str
    counts: Mapping[State, int]
    pause: Pause | None
    eta: Eta | None

    @property
    def remaining(self) -> int:
        return sum(number for state, number in self.counts.items() if state not in FINAL)


class KindView(NamedTuple):
    """A kind: who serves it, and whether it is paused."""

    name: str
    workers: int
    """Live workers that know it."""
    is_declared: bool
    """Whether the program at hand declares it; always False without one."""
    pause: Pause | None


class SettingView(NamedTuple):
    """A setting, its value in force, and where that comes from."""

    setting: Setting
    value: Value
    by: str | None
    """Who changed it; None when it is at its default."""
    at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Everything at a glance."""

    now: float
    counts: Mapping[State, int]
    """Unfinished jobs as they are, and what ended without success in the last hour."""
    oldest_ready: float | None
    """Seconds that the oldest waiting job has been there."""
    workers_alive: int
    workers_gone: int
    """Stopped or dead, and not buried yet."""
    pauses: Sequence[Pause]
    lanes_disabled: Sequence[Lane]
    breakers: Mapping[str, Condition]
    batches: Sequence[BatchView]
    """Those that are not over."""


class Insights:
    """Answers questions. `kinds` are those of a program, where it is at hand."""

    def __init__(self, store: Store, kinds: Kinds | None = None) -> None:
        self._store = store
        self._kinds = kinds or {}

    async def now(self) -> float:
        """The store's time, to which all moments in the answers belong."""
        return await self._store.now()

    async def job(self, job: int) -> Record:
        """One job. Raises NotFound."""
        record = await self._store.read(jobs.get(job))
        if record is None:
            raise _no_job(job)
        return record

    async def attempts(self, job: int) -> list[Attempt]:
        """Its tries that did not end in success, oldest first."""
        return await self._store.read(jobs.attempts(job))

    async def children(self, job: int, limit: int = 100) -> list[Record]:
        """The jobs it has enqueued."""
        return await self._store.read(jobs.children(job, limit))

    async def jobs(
        self,
        wanted: JobFilter,
        *,
        limit: int = 50,
        after: int | None = None,
        newest_first: bool = True,
    ) -> list[Record]:
        """A page of the jobs a filter means; `after` is the last id of the page before."""
        script = jobs.find(
            wanted,
            now=await self._store.now(),
            limit=limit,
            after=after,
            newest_first=newest_first,
        )
        return await self._store.read(script)

    async def count(self, wanted: JobFilter, *, cap: int = COUNT_CAP) -> Count:
        """How many jobs a filter means, up to a cap."""
        return Count(*await self._store.read(jobs.count(wanted, await self._store.now(), cap)))

    async def why(self, job: int) -> Explanation:
        """Why a job is not running. Raises NotFound."""
        terms = {name: kind.terms for name, kind in self._kinds.items()}
        script = explain(job, terms, now=await self._store.now())
        explanation = await self._store.read(script)
        if explanation is None:
            raise _no_job(job)
        return explanation

    async def lanes(self, limit: int = 100, after: str = "") -> list[Listed]:
        """A page of lanes by name; `after` is the last one of the page before."""
        return await self._store.read(lanes.listing(limit, after))

    async def lane(self, name: str) -> Listed:
        """One lane. Raises NotFound."""
        return await self._store.read(lanes.listed(name))

    async def pauses(self) -> list[Pause]:
        return await self._store.read(pauses.active())

    async def kinds(self) -> list[KindView]:
        """Every kind a job was ever made of, or the program declares, by name."""
        now = await self._store.now()
        known, alive, paused = await self._store.read(_kinds(now))
        return [
            KindView(
                name,
                sum(name in worker.kinds for worker in alive),
                name in self._kinds,
                next((p for p in paused if p.scope is Scope.KIND and p.name == name), None),
            )
            for name in sorted({*known, *self._kinds})
        ]

    async def kind_counts(self) -> dict[tuple[str, State], int]:
        """How many unfinished jobs of each kind stand in each state; counts every one."""
        return await self._store.read(_kind_counts())

    async def limits(self) -> dict[str, Standing]:
        """Every limit and how full it is, by name."""
        found = await self._store.read(limits.used(now=await self._store.now()))
        return dict(sorted(found.items()))

    async def breakers(self) -> dict[str, Condition]:
        """Every breaker that was ever used, by name."""
        found = await self._store.read(breakers.states(now=await self._store.now()))
        return dict(sorted(found.items()))

    async def batches(
        self,
        name: str | None = None,
        state: BatchState | None = None,
        *,
        limit: int = 20,
        before: int | None = None,
    ) -> list[BatchView]:
        """The newest batches first; `before` is the last id of the page before."""
        now = await self._store.now()
        listing = batches.listing(name, state, limit=limit, before_id=before)
        return await self._store.read(_batch_views(listing, now))

    async def batch(self, batch: int) -> BatchView:
        """One batch. Raises NotFound."""
        now = await self._store.now()
        return (await self._store.read(_batch_views(_only(batches.get(batch)), now)))[0]

    async def session(self, name: str) -> SessionView:
        """One session. Raises NotFound when it has no jobs and is not paused."""
        return await self._store.read(_session_view(name, await self._store.now()))

    async def keys(self, prefix: str = "", *, limit: int = 50, after: str = "") -> list[Key]:
        """Unique keys under a prefix in order; `after` is the last one of the page before."""
        return await self._store.read(keys.listing(prefix, limit=limit, after=after))

    async def schedules(self) -> list[Schedule]:
        return await self._store.read(schedules.listing())

    async def schedule(self, name: str) -> Schedule:
        """One schedule. Raises NotFound."""
        return await self._store.read(schedules.get(name))

    async def workers(self) -> list[Worker]:
        """Every worker that is not buried yet, oldest first."""
        return await self._store.read(workers.listing(await self._store.now()))

    async def settings(self) -> list[SettingView]:
        """Every setting with its value in force."""
        overrides = await self._store.read(settings.overrides())
        return [_setting_view(setting, overrides.get(key)) for key, setting in SETTINGS.items()]

    async def audit(self, limit: int = 50, before: int | None = None) -> list[Entry]:
        """The newest entries first; `before` is the last id of the page before."""
        return await self._store.read(audit.listing(limit, before))

    async def overview(self) -> Overview:
        """Everything at a glance; counts every unfinished job."""
        now = await self._store.now()
        oldest = jobs.find(_PENDING, now=now, limit=1, newest_first=False)
        found = await self._store.read(oldest)
        everyone = await self.workers()
        alive = sum(worker.is_alive for worker in everyone)
        changed = await self._store.read(lanes.changed_since(0))
        unfinished: list[BatchView] = []
        for state in (BatchState.OPEN, BatchState.SEALED):
            unfinished += await self.batches(state=state)
        return Overview(
            now=now,
            counts=await self._store.read(jobs.state_counts(since=now - HOUR)),
            oldest_ready=max(now - found[0].enqueued_at, 0.0) if found else None,
            workers_alive=alive,
            workers_gone=len(everyone) - alive,
            pauses=await self.pauses(),
            lanes_disabled=[lane for lane in changed if lane.is_disabled],
            breakers=await self.breakers(),
            batches=unfinished,
        )

    async def health(self) -> list[Finding]:
        """What is wrong in the fleet, component by component, and what to do about it."""
        heads = await self._store.heads(0)
        return await self._store.read(findings(heads, self._kinds, now=await self._store.now()))


_PENDING = JobFilter((Term("state", Op.EQ, (State.PENDING,)),))


def _no_job(job: int) -> NotFound:
    return NotFound(f"There is no job {job}.", "It may have been finished and removed long ago.")


def _only(script: Script[Batch]) -> Script[list[Batch]]:
    return [(yield from script)]


def _kinds(now: float) -> Script[tuple[list[str], list[Worker], list[Pause]]]:
    known = yield from names.kind_names()
    everyone = yield from workers.listing(now)
    paused = yield from pauses.active()
    return sorted(known.values()), [worker for worker in everyone if worker.is_alive], paused


def _kind_counts() -> Script[dict[tuple[str, State], int]]:
    known = yield from names.kind_names()
    counts = yield from jobs.kind_counts()
    return {(known[kind], state): number for (kind, state), number in counts.items()}


def _setting_view(setting: Setting, override: settings.Override | None) -> SettingView:
    if override is None:
        return SettingView(setting, setting.default, None, None)
    try:
        value = parse(setting.key, override.value)
    except SettingInvalid:  # stored by a release with other bounds; nodes keep the default
        value = setting.default
    return SettingView(setting, value, override.by, override.at)


def _batch_views(listing: Script[list[Batch]], now: float) -> Script[list[BatchView]]:
    found = yield from listing
    waiting = yield from progress.unfolded(batch.id for batch in found)
    paused = yield from _paused_since(None)
    views = []
    for batch in found:
        tally = batch.tally + waiting.get(batch.id, Tally())
        when = None
        if batch.state not in BATCH_FINAL:
            samples = yield from progress.finishes_of_batch(batch.id, tally.finished)
            when = eta(samples, tally.remaining, now, _paused_seconds(paused, samples, now))
        views.append(BatchView(batch=batch, tally=tally, eta=when))
    return views


def _session_view(name: str, now: float) -> Script[SessionView]:
    counts = yield from progress.session_counts(name)
    active = yield from pauses.active()
    own = next((p for p in active if p.scope is Scope.SESSION and p.name == name), None)
    if not counts and own is None:
        raise NotFound(f"There is no session {name!r}.", "A session exists once a job names it.")
    finished = sum(number for state, number in counts.items() if state in FINAL)
    samples = yield from progress.finishes_of_session(name, finished)
    paused = yield from _paused_since(name)
    remaining = sum(counts.values()) - finished
    when = (
        eta(samples, remaining, now, _paused_seconds(paused, samples, now)) if remaining else None
    )
    return SessionView(name=name, counts=counts, pause=own, eta=when)


def _paused_since(session: str | None) -> Script[float | None]:
    """Since when all of the work stands still because somebody paused it."""
    active = yield from pauses.active()
    since = [
        pause.at
        for pause in active
        if pause.scope is Scope.ALL or (pause.scope is Scope.SESSION and pause.name == session)
    ]
    return min(since, default=None)


def _paused_seconds(since: float | None, samples: Sequence[tuple[float, int]], now: float) -> float:
    """How much of the time that the samples cover was a pause that still goes on."""
    if since is None or not samples:
        return 0.0
    return max(now - max(since, samples[0][0]), 0.0)
