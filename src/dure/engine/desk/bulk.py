"""Bulk: one command over the jobs a filter means, or over jobs named one by one.

A filter is frozen when the command begins: its moment, and the highest id there is. The
walk goes upwards in chunks by id, so it ends although new jobs keep arriving, and it can be
given again after a crash: jobs that had their turn are no longer in a state it acts on.

Each chunk is read, decided, written into the audit, and then applied, in that order: a
crash may leave an entry about something that was not done, never the other way round.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from dure.core.backoff import RetryPolicy
from dure.core.decide import Cause, Refusal, Transition, decide
from dure.core.filter import JobFilter, Op, Term
from dure.core.state import Event, State
from dure.core.table import refusal, sources_of
from dure.engine.notices import Notices, moved
from dure.ports.rows import Change
from dure.ports.store import Hint, Script, Store
from dure.scripts import audit, jobs, pauses
from dure.scripts.jobs import Record
from dure.scripts.pauses import Scope

CHUNK: Final = 500
"""Jobs in one step of the walk; one audit entry each."""
NOTES_MAX: Final = 20
"""How many jobs a result explains one by one."""
_COUNT_MAX: Final = 2**31 - 1
_HINT_STREAMS_MAX: Final = 200
NO_RETRIES: Final = RetryPolicy()
"""What operators do has no attempts to spend; `decide` asks for a policy all the same."""

Selection = JobFilter | Sequence[int]
"""Which jobs are meant: all that a filter means, or these ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What a command does to a job, by the state it finds it in."""

    command: str
    """As the audit calls it."""
    events: Mapping[State, Event]
    """Jobs in other states are left alone."""
    reason: str | None = None
    """What the job keeps as its reason."""
    pace: float = 0.0
    """Seconds over which the jobs are spread, so that what they call is not flattened."""

    @property
    def wakes(self) -> bool:
        """Whether jobs may run because of it: those of paused sessions are then left alone."""
        return Event.RESUME in self.events.values()


RETRY: Final = Act(
    command="jobs.retry",
    events={
        State.RETRY_WAIT: Event.RESUME,
        State.FAILED: Event.REPLAY,
        State.STALE: Event.REPLAY,
        State.CANCELLED: Event.REPLAY,
    },
)
RESUME: Final = Act(command="jobs.resume", events={State.SUSPENDED: Event.RESUME})
CANCEL: Final = Act(
    command="jobs.cancel", events=dict.fromkeys(sorted(sources_of(Event.CANCEL)), Event.CANCEL)
)
SUSPEND: Final = Act(
    command="jobs.suspend", events=dict.fromkeys(sorted(sources_of(Event.SUSPEND)), Event.SUSPEND)
)


class Note(NamedTuple):
    """Why nothing happened to one job."""

    job: int
    sentence: str


class Count(NamedTuple):
    """A number of jobs; `is_capped` when counting stopped there."""

    jobs: int
    is_capped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a command would do: the jobs it means by state, and which of them it acts on."""

    counts: Mapping[State, Count]
    acts_on: frozenset[State]

    @property
    def affected(self) -> Count:
        return self._sum(act_on=True)

    @property
    def skipped(self) -> Count:
        return self._sum(act_on=False)

    def _sum(self, *, act_on: bool) -> Count:
        chosen = [c for state, c in self.counts.items() if (state in self.acts_on) is act_on]
        return Count(sum(c.jobs for c in chosen), any(c.is_capped for c in chosen))


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a command has done."""

    applied: int = 0
    skipped: int = 0
    """Were in a state that the command does not act on, or in a paused session."""
    refused: int = 0
    """Changed while the command ran, or lost their unique key to another job."""
    missing: tuple[int, ...] = ()
    """Ids that no job has."""
    notes: tuple[Note, ...] = ()
    """Why, for the first of those that were skipped or refused."""

    @property
    def matched(self) -> int:
        return self.applied + self.skipped + self.refused

    def __add__(self, other: "Result") -> "Result":
        return Result(
            applied=self.applied + other.applied,
            skipped=self.skipped + other.skipped,
            refused=self.refused + other.refused,
            missing=self.missing + other.missing,
            notes=(self.notes + other.notes)[:NOTES_MAX],
        )


class _Order(NamedTuple):
    """One command under way."""

    act: Act
    target: str
    by: str
    reason: str
    now: float
    total: int
    """How many jobs the pace is spread over."""
    paused: frozenset[str]
    """Sessions whose jobs must not be woken."""


class _Move(NamedTuple):
    record: Record
    transition: Transition


Watcher = Callable[[Result], None]
"""Is told after each chunk what has been done so far."""


class Bulk:
    """Carries out acts over any number of jobs."""

    def __init__(self, store: Store, notices: Notices) -> None:
        self._store = store
        self._notices = notices

    async def plan(self, act: Act, selection: Selection) -> Plan:
        """What `run` would do now; each state is counted up to a cap."""
        now = await self._store.now()
        wanted = _filter_of(selection)
        counts = {}
        for state in State:
            one = _within(wanted, [state])
            found = Count(*await self._store.read(jobs.count(one, now)))
            if found.jobs:
                counts[state] = found
        return Plan(counts=counts, acts_on=frozenset(act.events))

    async def run(
        self,
        act: Act,
        selection: Selection,
        *,
        by: str,
        reason: str = "",
        watch: Watcher | None = None,
    ) -> Result:
        """Do it. A filter is narrowed to the states the act is for; ids are all looked at."""
        now = await self._store.now()
        paused: frozenset[str] = frozenset()
        if act.wakes:
            paused = await self._store.read(_paused_sessions())
        order = _Order(act, _target(selection), by, reason, now, 0, paused)
        if isinstance(selection, JobFilter):
            return await self._walk(order, _within(selection, act.events), watch)
        ids = sorted(set(selection))
        done = Result()
        order = order._replace(total=len(ids))
        for start in range(0, len(ids), CHUNK):
            chosen = ids[start : start + CHUNK]
            found = await self._page(_filter_of(chosen), now, after=0, upto=chosen[-1])
            known = {record.id for record in found}
            done += await self._chunk(order, found, start)
            done += Result(missing=tuple(job for job in chosen if job not in known))
            if watch is not None:
                watch(done)
        return done

    async def _walk(self, order: _Order, wanted: JobFilter, watch: Watcher | None) -> Result:
        newest = await self._store.read(jobs.find(JobFilter(), now=order.now, limit=1))
        if not newest:
            return Result()
        if order.act.pace:
            total, _ = await self._store.read(jobs.count(wanted, order.now, _COUNT_MAX))
            order = order._replace(total=total)
        done, after = Result(), 0
        while True:
            found = await self._page(wanted, order.now, after=after, upto=newest[0].id)
            done += await self._chunk(order, found, done.matched)
            if watch is not None and found:
                watch(done)
            if len(found) < CHUNK:
                return done
            after = found[-1].id

    async def _page(
        self, wanted: JobFilter, now: float, *, after: int, upto: int
    ) -> Sequence[Record]:
        script = jobs.find(wanted, now=now, limit=CHUNK, after=after, newest_first=False, upto=upto)
        return await self._store.read(script)

    async def _chunk(self, order: _Order, found: Sequence[Record], place: int) -> Result:
        moves, notes = _decided(order, found, place)
        skipped = Result(skipped=len(notes), notes=tuple(notes[:NOTES_MAX]))
        if not moves:
            return skipped
        replays = [move for move in moves if move.transition.event is Event.REPLAY]
        others = [move for move in moves if move.transition.event is not Event.REPLAY]
        lost = await self._store.run(_recorded(order, len(moves), replays))
        lost += await self._apply(others)
        await self._tell(moves)
        gone = {note.job for note in lost}
        for record, move in moves:
            if record.id not in gone:
                self._notices.tell(moved(move, record.kind, record.lane))
        refused = Result(
            applied=len(moves) - len(lost), refused=len(lost), notes=tuple(lost[:NOTES_MAX])
        )
        return skipped + refused

    async def _apply(self, moves: Sequence[_Move]) -> list[Note]:
        if not moves:
            return []
        changes = [
            Change(move, record.stream, batch=record.batch, key=record.key)
            for record, move in moves
        ]
        applied = await self._store.apply(changes)
        lost = [Note(job, "it changed in the meantime") for job in sorted(applied.refused)]
        return lost + [Note(job, error) for job, error in sorted(applied.broken.items())]

    async def _tell(self, moves: Sequence[_Move]) -> None:
        """Workers stop what was taken from them, and look at what can run now."""
        if any(move.transition.source is State.RUNNING for move in moves):
            await self._store.hint(Hint("jobs"))
        ready = {move.record.stream for move in moves if move.transition.to is State.PENDING}
        if len(ready) > _HINT_STREAMS_MAX:
            await self._store.hint(Hint("scan"))
        elif ready:
            await self._store.hint(Hint("streams", sorted(ready)))


def _decided(order: _Order, found: Sequence[Record], place: int) -> tuple[list[_Move], list[Note]]:
    """What happens to each job, and why nothing happens to some."""
    moves: list[_Move] = []
    notes: list[Note] = []
    for step, record in enumerate(found, place):
        event = order.act.events.get(record.state)
        if event is None:
            notes.append(Note(record.id, _unfit(order.act, record.state)))
            continue
        if event is Event.RESUME and record.session in order.paused:
            sentence = f"its session {record.session!r} is paused: resume the session"
            notes.append(Note(record.id, sentence))
            continue
        after = order.act.pace * min(step / order.total, 1.0) if order.act.pace else None
        cause = Cause(event, reason=order.act.reason, after=after)
        move = decide(record, cause, NO_RETRIES, order.now, 0.0)
        if isinstance(move, Refusal):
            notes.append(Note(record.id, move.sentence))
        else:
            moves.append(_Move(record, move))
    return moves, notes


def _unfit(act: Act, state: State) -> str:
    """Why the act has nothing for this state."""
    match act.command, state:
        case RETRY.command, State.PENDING | State.RUNNING:
            return f"it is {state.name} already"
        case RETRY.command, State.SUSPENDED:
            return "it is SUSPENDED; resume it instead"
        case SUSPEND.command, State.SUSPENDED:
            return "it is SUSPENDED already"
        case RESUME.command, State.RETRY_WAIT:
            return "it is RETRY_WAIT, not SUSPENDED; retry it to run it now"
        case _:
            sentence = refusal(state, next(iter(act.events.values())))
            return sentence or f"it is {state.name}"


def _recorded(order: _Order, count: int, replays: Sequence[_Move]) -> Script[list[Note]]:
    """Write the chunk into the audit, and carry out its replays in the same transaction."""
    yield from audit.add(
        order.act.command,
        order.target,
        by=order.by,
        reason=order.reason,
        now=order.now,
        count=count,
    )
    lost: list[Note] = []
    for record, move in replays:
        if not (yield from jobs.revive(record, move, record.stream, now=order.now)):
            taken = "another job holds its unique key" if record.key else "it changed"
            lost.append(Note(record.id, f"{taken} in the meantime"))
    return lost


def _paused_sessions() -> Script[frozenset[str]]:
    active = yield from pauses.active()
    return frozenset(pause.name for pause in active if pause.scope is Scope.SESSION)


def _filter_of(selection: Selection) -> JobFilter:
    if isinstance(selection, JobFilter):
        return selection
    return JobFilter((Term("id", Op.EQ, tuple(sorted(set(selection)))),))


def _within(wanted: JobFilter, states: Mapping[State, object] | Sequence[State]) -> JobFilter:
    """The jobs of a filter that are in one of these states."""
    return replace(wanted, terms=(*wanted.terms, Term("state", Op.EQ, tuple(states))))


def _target(selection: Selection) -> str:
    """What was meant, as the audit shows it."""
    if isinstance(selection, JobFilter):
        return f"jobs {selection}" if selection.terms else "all jobs"
    ids = sorted(set(selection))
    listed = ", ".join(map(str, ids[:NOTES_MAX]))
    return f"job {listed}" + (f" and {len(ids) - NOTES_MAX} more" if len(ids) > NOTES_MAX else "")
