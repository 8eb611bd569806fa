"""Everything operators can do: the only writes that do not come from a program or a worker.

Each command names its actor and the reason, is written into the audit together with what it
changes, and ends with a hint, so that workers act on it at once instead of at their next look.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import EllipsisType
from typing import Any, Final, Literal, TypeVar

import msgspec

from dure.core.batch import BATCH_FINAL, BatchEvent, batch_refusal
from dure.core.breaker import Condition
from dure.core.duration import Span, seconds_of
from dure.core.errors import Conflict, IllegalTransition, NotFound
from dure.core.filter import JobFilter, Op, Term, Text
from dure.core.limit import Limit
from dure.core.settings import Value
from dure.core.state import FINAL, Event, State
from dure.engine.desk import bulk
from dure.engine.desk.bulk import Act, Bulk, Plan, Result, Selection, Watcher
from dure.engine.desk.editing import checked, edit
from dure.engine.kind import ChunkKind, Kind
from dure.engine.names import check
from dure.engine.notices import Notices
from dure.ports.store import Hint, Script, Store
from dure.scripts import (
    audit,
    batches,
    breakers,
    holds,
    jobs,
    keys,
    lanes,
    limits,
    pauses,
    schedules,
    settings,
)
from dure.scripts.batches import Batch
from dure.scripts.jobs import Record
from dure.scripts.lanes import Lane
from dure.scripts.pauses import Pause, Scope
from dure.scripts.schedules import Schedule

T = TypeVar("T")

Kinds = Mapping[str, Kind[Any, Any] | ChunkKind[Any]]
"""What a program declares, by name."""

_ROUNDS_MAX: Final = 100
"""How often a session's jobs are looked for again, while others keep adding to it."""
_KEYS_STEP: Final = 1000
"""Unique keys in one transaction; one audit entry each."""


class Commands:
    """Carries out what operators ask for. `kinds` are those of a program, where it is at hand."""

    def __init__(
        self, store: Store, kinds: Kinds | None = None, notices: Notices | None = None
    ) -> None:
        self._store = store
        self._kinds = kinds or {}
        self._bulk = Bulk(store, notices or Notices())

    async def preview(self, act: Act, selection: Selection) -> Plan:
        """What an act would do, without doing it."""
        return await self._bulk.plan(act, selection)

    async def retry(
        self,
        selection: Selection,
        *,
        by: str,
        reason: str = "",
        spread: Span = 0.0,
        watch: Watcher | None = None,
    ) -> Result:
        """Run waiting retries now, and replay what FAILED, is STALE or was CANCELLED.

        With `spread` they do not all start now but one after another over that time.
        """
        act = replace(bulk.RETRY, pace=seconds_of(spread))
        return await self._bulk.run(act, selection, by=by, reason=reason, watch=watch)

    async def resume_jobs(
        self,
        selection: Selection,
        *,
        by: str,
        reason: str = "",
        spread: Span = 0.0,
        watch: Watcher | None = None,
    ) -> Result:
        """Let SUSPENDED jobs run again, all now or spread over some time.

        Chosen by a reason, what is held for that reason may go on as well: an account whose
        wallet was empty, a kind whose requests were wrong.
        """
        if isinstance(selection, JobFilter):
            now = await self._store.now()
            if await self._store.run(holds.lift(selection, by=by, reason=reason, now=now)):
                await self._store.hint(Hint("control"))
        act = replace(bulk.RESUME, pace=seconds_of(spread))
        return await self._bulk.run(act, selection, by=by, reason=reason, watch=watch)

    async def suspend(
        self, selection: Selection, why: str, *, by: str, watch: Watcher | None = None
    ) -> Result:
        """Stop unfinished jobs until somebody resumes them; `why` is kept on each of them.

        A running one stops at once: its worker can no longer write, and is told.
        """
        act = replace(bulk.SUSPEND, reason=why)
        return await self._bulk.run(act, selection, by=by, reason=why, watch=watch)

    async def cancel(
        self,
        selection: Selection,
        *,
        by: str,
        reason: str = "",
        watch: Watcher | None = None,
    ) -> Result:
        """End unfinished jobs; a running one at once, as `suspend` does."""
        act = replace(bulk.CANCEL, reason=reason or f"cancelled by {by}")
        return await self._bulk.run(act, selection, by=by, reason=reason, watch=watch)

    async def edit(self, job: int, body: str, *, by: str, reason: str = "") -> Record:
        """Give a job other arguments, a JSON object; a finished one is replayed with them.

        Raises NotFound, KindInvalid when they do not fit the kind, IllegalTransition when the
        job runs or has succeeded, and Conflict when it changed meanwhile.
        """
        record = await self._store.read(jobs.get(job))
        if record is None:
            raise NotFound(f"There is no job {job}.")
        edited = checked(record, body, self._kinds.get(record.kind))
        now = await self._store.now()
        if not await self._store.run(edit(record, edited, by=by, reason=reason, now=now)):
            raise Conflict(
                f"Job {job} changed in the meantime, or another job holds its unique key.",
                "Look at it again, and repeat the command if it still makes sense.",
            )
        if record.state in FINAL:
            await self._store.hint(Hint("streams", [record.stream]))
        after = await self._store.run(jobs.get(job))
        return replace(record, body=edited) if after is None else after

    async def pause(
        self, scope: Scope | str, name: str = "", *, by: str, reason: str = "", drain: bool = True
    ) -> Pause:
        """Stop everything, a kind, a lane or a session.

        With `drain` running jobs may end; without it they are stopped and go back to wait.
        The waiting jobs of a session are SUSPENDED; those with a due time keep it and are
        SUSPENDED when it comes.
        """
        now = await self._store.now()
        pause = await self._store.run(
            pauses.pause(scope, name, by=by, reason=reason, drain=drain, now=now)
        )
        await self._store.hint(Hint("control"))
        if pause.scope is Scope.SESSION:
            await self._suspend_session(pause)
        return pause

    async def _suspend_session(self, pause: Pause) -> None:
        """Until none is left: workers may claim some of them meanwhile, or give some back."""
        states = [State.PENDING] if pause.drain else [State.PENDING, State.RUNNING]
        act = replace(
            bulk.SUSPEND, reason=pauses.REASON, events=dict.fromkeys(states, Event.SUSPEND)
        )
        wanted = session_filter(pause.name)
        for _ in range(_ROUNDS_MAX):
            done = await self._bulk.run(act, wanted, by=pause.by, reason=pause.reason)
            if not done.refused:
                return

    async def resume(
        self, scope: Scope | str, name: str = "", *, by: str, reason: str = "", spread: Span = 0.0
    ) -> Pause:
        """End a pause; the jobs that a session's pause SUSPENDED run again.

        Raises NotFound when there is no such pause.
        """
        now = await self._store.now()
        pause = await self._store.run(pauses.resume(scope, name, by=by, reason=reason, now=now))
        await self._store.hint(Hint("control"))
        if pause.scope is Scope.SESSION:
            held = Term("reason", Op.EQ, (Text(pauses.REASON),))
            wanted = JobFilter((*session_filter(pause.name).terms, held))
            await self.resume_jobs(wanted, by=by, reason=reason, spread=spread)
        return pause

    async def configure_lane(
        self,
        name: str,
        *,
        by: str,
        reason: str = "",
        weight: float | EllipsisType = ...,
        max_running: int | EllipsisType | None = ...,
        limits: Sequence[str] | EllipsisType = ...,
        failures_max: int | EllipsisType = ...,
    ) -> Lane:
        """Change a lane's share, cap, limits or failures allowed; the rest stays."""
        wanted = () if limits is ... else tuple(limits)
        check(name, "lane")
        return await self._controlled(
            lambda now: _configured(
                name,
                wanted,
                by=by,
                reason=reason,
                now=now,
                weight=weight,
                max_running=max_running,
                limits=limits,
                failures_max=failures_max,
            )
        )

    async def reset_lane(self, name: str, *, by: str, reason: str = "") -> Lane:
        """Enable a disabled lane and forget its failures. Raises NotFound."""
        return await self._controlled(lambda now: lanes.reset(name, by=by, reason=reason, now=now))

    async def define_limit(self, limit: Limit, *, by: str, reason: str = "") -> bool:
        """Define a limit or change it; False when it is exactly so already."""
        return await self._controlled(
            lambda now: limits.define(limit, by=by, reason=reason, now=now)
        )

    async def remove_limit(self, name: str, *, by: str, reason: str = "") -> None:
        """Remove a limit; what it has booked is remembered. Raises NotFound."""
        await self._controlled(lambda now: limits.remove(name, by=by, reason=reason, now=now))

    async def block_limit(
        self, name: str, span: Span | None, *, by: str, reason: str = ""
    ) -> float | None:
        """Let a limit grant nothing for so long, or lift that with None; until when it holds."""
        seconds = None if span is None else seconds_of(span)
        return await self._controlled(
            lambda now: _blocked(name, seconds, by=by, reason=reason, now=now)
        )

    async def force_breaker(
        self,
        name: str,
        to: Literal["open", "closed"],
        *,
        by: str,
        reason: str = "",
        span: Span | None = None,
    ) -> Condition:
        """Open or close a breaker by hand, for so long or until somebody changes it."""
        seconds = None if span is None else seconds_of(span)
        return await self._controlled(
            lambda now: breakers.force(
                name,
                to,
                by=by,
                reason=reason,
                now=now,
                until=None if seconds is None else now + seconds,
            )
        )

    async def set_setting(self, key: str, text: str, *, by: str, reason: str = "") -> Value:
        """Change a setting everywhere. Raises SettingInvalid."""
        return await self._controlled(
            lambda now: settings.set_(key, text, by=by, reason=reason, now=now)
        )

    async def unset_setting(self, key: str, *, by: str, reason: str = "") -> None:
        """Go back to the default. Raises NotFound when it is in force already."""
        await self._controlled(lambda now: settings.unset(key, by=by, reason=reason, now=now))

    async def forget_keys(self, prefix: str, *, by: str, reason: str = "") -> tuple[int, int]:
        """Let unique keys be taken again that a period or `forever` keeps; those under a prefix.

        Answers how many were forgotten, and how many stay because their jobs are unfinished.
        Raises ConfigError unless the prefix begins with a scope: `global:`, `kind:`, `lane:`.
        """
        forgotten, held, after = 0, 0, ""
        while True:
            now = await self._store.now()
            step = await self._store.run(
                keys.forget(prefix, by=by, reason=reason, now=now, limit=_KEYS_STEP, after=after)
            )
            forgotten, held = forgotten + step.forgotten, held + step.held
            if step.after is None:
                return forgotten, held
            after = step.after

    async def pause_schedule(self, name: str, *, by: str, reason: str = "") -> Schedule:
        """Hold all firings of a schedule. Raises NotFound."""
        return await self._controlled(
            lambda now: schedules.pause(name, by=by, reason=reason, now=now)
        )

    async def resume_schedule(self, name: str, *, by: str, reason: str = "") -> Schedule:
        """Fire again; what was missed is made up for as the schedule says. Raises NotFound."""
        return await self._controlled(
            lambda now: schedules.resume(name, by=by, reason=reason, now=now)
        )

    async def fire_schedule(self, name: str, *, by: str, reason: str = "") -> Schedule:
        """Let a schedule fire now, once, by whichever worker looks first.

        Raises NotFound, and Refused when it is paused.
        """
        return await self._controlled(
            lambda now: schedules.bring_forward(name, by=by, reason=reason, now=now)
        )

    async def interrupt_batch(
        self, batch: int, *, by: str, reason: str = "", cancel: bool = False
    ) -> tuple[Batch, Result]:
        """End a batch before its time, with or without its unfinished jobs.

        Raises NotFound, and IllegalTransition when it is over.
        """
        present = await self._store.read(batches.get(batch))
        if present.state in BATCH_FINAL:
            sentence = batch_refusal(present.state, BatchEvent.INTERRUPT)
            raise IllegalTransition(f"Cannot interrupt batch {batch} ({present.name}): {sentence}.")
        done = Result()
        if cancel:
            wanted = JobFilter((Term("batch", Op.EQ, (batch,)),))
            done = await self.cancel(wanted, by=by, reason=reason or "the batch was interrupted")
        note = f"interrupted by {by}" + (f": {reason}" if reason else "")
        after = await self._controlled(
            lambda now: _interrupted(batch, note, by=by, reason=reason, now=now)
        )
        return after, done

    async def _controlled(self, script_at: Callable[[float], Script[T]]) -> T:
        """Run a script that changes what nodes watch, and tell them to look."""
        answer = await self._store.run(script_at(await self._store.now()))
        await self._store.hint(Hint("control"))
        return answer


def session_filter(name: str) -> JobFilter:
    """All jobs of a session."""
    return JobFilter((Term("session", Op.EQ, (Text(name),)),))


def _configured(name: str, wanted: Sequence[str], **change: Any) -> Script[Lane]:
    """Refuse limits nobody has defined: a lane with one would wait for ever."""
    known = yield from limits.defined(wanted)
    missing = [limit for limit in wanted if limit not in known]
    if missing:
        raise NotFound(f"There is no limit {missing[0]!r}.", "Define it first.")
    return (yield from lanes.configure(name, **change))


def _blocked(
    name: str, seconds: float | None, *, by: str, reason: str, now: float
) -> Script[float | None]:
    until = None if seconds is None else now + seconds
    yield from limits.block(name, until, now)
    after = None if until is None else msgspec.json.encode({"blocked_until": until}).decode()
    yield from audit.add("limit.block", name, by=by, reason=reason, now=now, after=after)
    return until


def _interrupted(batch: int, note: str, *, by: str, reason: str, now: float) -> Script[Batch]:
    ended = yield from batches.interrupt(batch, note, now)
    yield from audit.add("batch.interrupt", f"batch {batch}", by=by, reason=reason, now=now)
    return ended
