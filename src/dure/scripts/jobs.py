"""Jobs as they are stored: looking one up, finding many, replaying and editing.

A job is one row, in dure_live while it is unfinished and in dure_history afterwards. A
`Record` is that row with its names resolved, whichever table it stands in. Changes of
state go through `decide`; what is decided here is only whether the row still stands as it
was read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from dure.core.decide import Transition
from dure.core.filter import JobFilter
from dure.core.state import FINAL, Event, Priority, State
from dure.core.stream import kind_of, lane_of, pack, priority_of
from dure.ports.rows import Query, Row
from dure.ports.store import Script
from dure.scripts import pauses
from dure.scripts.matching import condition_of

COUNT_CAP: Final = 10_000
"""Where counting for people stops: more than that is "more than that"."""
_ID_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A job as it is stored. It is a subject of `decide` and a candidate of a filter."""

    id: int
    state: State
    stream: int
    kind_id: int
    lane_id: int
    kind: str
    lane: str
    priority: Priority
    pos: int | None
    attempt: int
    fence: int
    worker: int | None
    enqueued_at: float
    claimed_at: float | None
    finished_at: float | None
    due: float | None
    batch: int | None
    parent: int | None
    epoch: int
    tokens: int
    session: str | None
    subject: str | None
    key: str | None
    reason: str | None
    error: str | None
    result: str | None
    """JSON."""
    body: str
    """JSON: the arguments."""

    @property
    def args(self) -> Mapping[str, object]:
        """The arguments by name; empty when the body is anything else."""
        decoded = msgspec.json.decode(self.body)
        return decoded if isinstance(decoded, dict) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try that did not end in success, and how it ended."""

    job: int
    fence: int
    attempt: int
    worker: int | None
    started_at: float | None
    ended_at: float
    event: Event
    error: str | None


def record_of(row: Row) -> Record:
    """A record from a row of the statements in this module."""
    stream = row["stream"]
    return Record(
        **{
            **row,
            "state": State(row["state"]),
            "kind_id": kind_of(stream),
            "lane_id": lane_of(stream),
            "priority": priority_of(stream),
        }
    )


def get(job: int) -> Script[Record | None]:
    """The job, unfinished or finished; one statement, so that it cannot slip between tables."""
    rows = yield Query("job", {"id": job})
    return record_of(rows[0]) if rows else None


def attempts(job: int, limit: int = 1000) -> Script[list[Attempt]]:
    """The latest tries that did not end in success, oldest first."""
    rows = yield Query("job_attempts", {"id": job, "most": limit})
    return [Attempt(**{**row, "event": Event(row["event"])}) for row in reversed(rows)]


def children(job: int, limit: int) -> Script[list[Record]]:
    """Jobs that name this one as their parent, in order of id.

    A child is enqueued after its parent, so the search walks ids upwards from the parent;
    it reads on to the newest job where there are fewer children than `limit`.
    """
    rows = yield Query("job_children", {"id": job, "most": limit})
    return [record_of(row) for row in rows]


def find(
    wanted: JobFilter,
    *,
    now: float,
    limit: int,
    after: int | None = None,
    newest_first: bool = True,
    upto: int | None = None,
) -> Script[list[Record]]:
    """A page of the jobs a filter means, by id; `after` is the last id of the page before.

    `upto` leaves out jobs with a higher id. The walk follows an index where the filter names
    ids, batches, sessions or finished states but success; otherwise it reads jobs in order
    of id until the page is full, all of them if too few match.
    """
    condition = condition_of(wanted, now)
    high = _ID_MAX if upto is None else min(upto, _ID_MAX - 1) + 1
    low = -1
    if after is not None and newest_first:
        high = min(high, after)
    elif after is not None:
        low = after
    params = {
        **condition.params,
        "live": condition.live,
        "history": condition.history,
        "low": low,
        "high": high,
        "most": limit,
    }
    rows = yield Query("find_newest" if newest_first else "find_oldest", params, condition.where)
    return [record_of(row) for row in rows]


def ids(
    wanted: JobFilter, *, now: float, upto_id: int, after: int, limit: int
) -> Script[list[int]]:
    """The ids above `after` and up to `upto_id` of jobs a filter means, in order; as `find`.

    A bulk command walks in these steps: with `upto_id` fixed at its start it ends, though
    new jobs that match keep arriving.
    """
    condition = condition_of(wanted, now)
    params = {
        **condition.params,
        "live": condition.live,
        "history": condition.history,
        "low": after,
        "high": min(upto_id, _ID_MAX - 1) + 1,
        "most": limit,
    }
    rows = yield Query("found_ids", params, condition.where)
    return [row["id"] for row in rows]


def count(wanted: JobFilter, now: float, cap: int = COUNT_CAP) -> Script[tuple[int, bool]]:
    """How many jobs a filter means, and whether counting stopped at `cap`; as `find`."""
    condition = condition_of(wanted, now)
    params = {
        **condition.params,
        "live": condition.live,
        "history": condition.history,
        "most": cap + 1,
    }
    rows = yield Query("found_count", params, condition.where)
    found: int = rows[0]["jobs"]
    return min(found, cap), found > cap


def state_counts(since: float | None = None) -> Script[dict[State, int]]:
    """How many jobs stand in each unfinished state; reads every unfinished job.

    With `since`, also how many have ended without success since then, from the index over
    those. Successes are left out: no index holds them; batches and rates count them.
    """
    counts = dict.fromkeys((State.PENDING, State.RUNNING, State.RETRY_WAIT, State.SUSPENDED), 0)
    for row in (yield Query("live_counts")):
        counts[State(row["state"])] = row["jobs"]
    if since is not None:
        counts.update(dict.fromkeys((State.FAILED, State.STALE, State.CANCELLED), 0))
        for row in (yield Query("ended_counts", {"since": since})):
            counts[State(row["state"])] = row["jobs"]
    return counts


def kind_counts() -> Script[dict[tuple[int, State], int]]:
    """How many unfinished jobs of each kind, by its number, stand in each state; reads them all."""
    rows = yield Query("live_kinds")
    return {(row["kind"], State(row["state"])): row["jobs"] for row in rows}


def take_positions(number: int) -> Script[list[int]]:
    """Fresh positions in rising order; a store hands them out in ranges or one by one."""
    rows = yield Query("positions_take", {"number": number})
    return [row["start"] + step for row in rows for step in range(row["number"])]


def revive(
    record: Record, transition: Transition, stream: int, *, now: float, body: str | None = None
) -> Script[bool]:
    """Carry out a decided replay: move a finished job back among the unfinished ones.

    False, and nothing changed, when the job no longer stands as the transition expects, or
    when another job has taken its unique key. The fence is kept, so that it only ever grows,
    and so is the last error, which explains the job until it runs again. What the job had
    added to the counts of its batch is taken back. A job of a paused session is SUSPENDED
    at once, as it is when it is enqueued.
    """
    stands = {"id": record.id, "fence": transition.fence, "state": transition.source}
    if transition.source not in FINAL or not (yield Query("revive_lock", stands)):
        return False
    if record.key is not None:
        key = {"key": record.key, "job": record.id, "now": now}
        if not (yield Query("revive_key", key)):
            return False
    (position,) = yield from take_positions(1)
    row = dict((yield Query("revive_take", stands))[0])
    row.update(
        stream=stream,
        pos=position,
        due=transition.due,
        state=transition.to,
        ready=transition.to is State.PENDING,
        attempt=transition.attempt,
        reason=transition.reason,
    )
    if body is not None:
        row["body"] = body
    if (yield from _is_held(record)):
        row.update(state=State.SUSPENDED, ready=False, due=None, reason=pauses.REASON)
    yield Query("revive_add", row)
    if record.batch is not None:
        yield Query("tally_back", {"batch": record.batch, "at": now, **_taken_back(record.state)})
    return True


def _is_held(record: Record) -> Script[bool]:
    """Whether the job's session is paused."""
    if record.session is None:
        return False
    rows = yield Query("waiting_pauses", {"kind": "", "lane": "", "session": record.session})
    return any(row["scope"] == "session" for row in rows)


def _taken_back(state: State) -> dict[str, int]:
    ended = {"failed": State.FAILED, "stale": State.STALE, "cancelled": State.CANCELLED}
    return {name: -int(state is counted) for name, counted in ended.items()}


def edit_body(job: int, fence: int, state: State, body: str) -> Script[bool]:
    """Give an unfinished job other arguments (JSON); False when it runs or has moved on."""
    params = {"id": job, "fence": fence, "state": state, "body": body}
    return bool((yield Query("edit_body", params)))


def owned(worker: int, ids: Iterable[int]) -> Script[dict[int, int]]:
    """The fences of those jobs that still run under this worker; others were taken from it."""
    rows = yield Query("owned", {"worker": worker, "ids": list(ids)})
    return {row["id"]: row["fence"] for row in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRow:
    """A lane as it is stored."""

    id: int
    name: str
    version: int
    weight: float
    max_running: int | None
    limits: str
    """JSON."""
    failures: int
    failures_max: int
    disabled_at: float | None
    disabled_until: float | None
    last_served_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseRow:
    """A pause as it is stored; scope is `all`, `kind`, `lane` or `session`."""

    scope: str
    name: str
    reason: str
    by: str
    at: float
    drain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """A worker as it is stored, alive or not."""

    id: int
    name: str
    host: str
    pid: int
    version: str
    kinds: tuple[str, ...]
    slots: int
    state: str
    started_at: float
    beat_at: float
    lease_until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingFacts:
    """What the store knows of why a job is not running; limits and breakers come on top."""

    record: Record
    lane: LaneRow | None
    pauses: tuple[PauseRow, ...]
    """Those that hold this very job back."""
    workers_alive: int
    workers_knowing_kind: int
    worker: WorkerRow | None
    """Who runs it, when it is running and the worker is not buried yet."""
    ahead: int
    """Waiting jobs of its stream before it, up to COUNT_CAP."""
    lane_running: int | None
    """Running jobs of its lane among its first COUNT_CAP; None when the lane has no cap."""
    lanes_ahead: int | None = None
    """Only a planner knows; the store does not."""


def waiting_facts(job: int, *, now: float) -> Script[WaitingFacts | None]:
    """Why a job waits, as far as the store knows, in a few bounded reads."""
    record = yield from get(job)
    if record is None:
        return None
    lanes = yield Query("waiting_lane", {"id": record.lane_id})
    lane = LaneRow(**lanes[0]) if lanes else None
    names = {"kind": record.kind, "lane": record.lane, "session": record.session}
    pauses = yield Query("waiting_pauses", names)
    workers = [worker_of(row) for row in (yield Query("waiting_workers"))]
    alive = [worker for worker in workers if worker.lease_until > now]
    is_running = record.state is State.RUNNING
    return WaitingFacts(
        record=record,
        lane=lane,
        pauses=tuple(PauseRow(**{**row, "drain": bool(row["drain"])}) for row in pauses),
        workers_alive=len(alive),
        workers_knowing_kind=sum(record.kind in worker.kinds for worker in alive),
        worker=next((w for w in workers if is_running and w.id == record.worker), None),
        ahead=(yield from _ahead(record)),
        lane_running=(yield from _running_in(lane)),
    )


def worker_of(row: Row) -> WorkerRow:
    """A worker from a row of dure_worker."""
    return WorkerRow(**{**row, "kinds": tuple(msgspec.json.decode(row["kinds"]))})


def _ahead(record: Record) -> Script[int]:
    if record.state is not State.PENDING:
        return 0
    params = {"stream": record.stream, "pos": record.pos, "most": COUNT_CAP}
    ahead: int = (yield Query("waiting_ahead", params))[0]["jobs"]
    return ahead


def _running_in(lane: LaneRow | None) -> Script[int | None]:
    if lane is None or lane.max_running is None:
        return None
    low, high = pack(lane.id, 0, 0), pack(lane.id + 1, 0, 0)
    rows = yield Query("waiting_lane_running", {"low": low, "high": high, "most": COUNT_CAP})
    running: int = rows[0]["jobs"]
    return running
