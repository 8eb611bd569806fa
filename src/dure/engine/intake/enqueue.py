"""Putting work in: values become rows, callers share a commit, full queues hold back.

One flush is under way at a time; whatever arrives meanwhile goes into the next. There is
no timer: under light load a job is written at once, under heavy load groups form by
themselves. A caller is answered when its job is durable, never before.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from dure.core.errors import KindUnknown
from dure.core.job import Job
from dure.core.notice import Enqueued
from dure.core.state import Priority
from dure.core.stream import pack
from dure.engine.intake.pressure import Pressure
from dure.engine.names import Names
from dure.engine.notices import Notices, tell_enqueued
from dure.ports.clock import Clock
from dure.ports.rows import NewJob, Receipt
from dure.ports.store import Store

GROUP_MAX: Final = 1000
"""Jobs in one flush; larger calls are cut into groups of this size."""


class Enqueuer:
    """Turns jobs into rows and writes them in shared groups."""

    def __init__(
        self,
        store: Store,
        names: Names,
        clock: Clock,
        pressure: Pressure,
        notices: Notices | None = None,
    ) -> None:
        self._store = store
        self._names = names
        self._clock = clock
        self.pressure = pressure
        self.notices = notices or Notices()
        self._kinds: set[str] | None = None
        self._waiting: list[tuple[NewJob, asyncio.Future[Receipt]]] = []
        self._flusher: asyncio.Task[None] | None = None
        self._streams: dict[tuple[str, str, Priority], int] = {}

    def allow(self, kinds: Iterable[str]) -> None:
        """Refuse jobs of kinds that are not declared here."""
        self._kinds = set(kinds)

    async def one(self, job: Job) -> Receipt:
        """Enqueue one job; returns when it is durable."""
        row = self._row_now(job)
        if row is None:
            (row,) = await self.rows([job])
        if self.pressure.is_needed:
            await self.pressure.admit([row])
        future: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._waiting.append((row, future))
        if self._flusher is None:
            self._flusher = asyncio.get_running_loop().create_task(self._flush())
        return await future

    async def many(self, jobs: Sequence[Job]) -> list[Receipt]:
        """Enqueue many jobs in groups; each group is all or nothing, in order."""
        receipts: list[Receipt] = []
        for start in range(0, len(jobs), GROUP_MAX):
            rows = await self.rows(jobs[start : start + GROUP_MAX])
            if self.pressure.is_needed:
                await self.pressure.admit(rows)
            receipts.extend(await self.put(rows))
        return receipts

    async def put(self, rows: Sequence[NewJob]) -> Sequence[Receipt]:
        """Write rows as they are: all or nothing, in order, and say so."""
        receipts = await self._store.enqueue(rows)
        if Enqueued in self.notices.heard:
            tell_enqueued(self.notices, self._names, rows, [each.is_new for each in receipts])
        return receipts

    async def rows(self, jobs: Sequence[Job]) -> list[NewJob]:
        """The jobs as rows, with unknown names given numbers."""
        found = [self._row_now(job) for job in jobs]
        if None in found:
            await self._names.learn((j.kind for j in jobs), (j.how.lane for j in jobs))
            found = [self._row_now(job) for job in jobs]
        return [row for row in found if row is not None]

    def _row_now(self, job: Job) -> NewJob | None:
        """The job as a row, or None while a name of it has no number yet."""
        how = job.how
        stream = self._streams.get((job.kind, how.lane, how.priority))
        if stream is None:
            stream = self._stream(job)
            if stream is None:
                return None
        if how.is_plain:
            return NewJob(stream, job.body)
        unique = how.unique
        key = None if unique is None else unique.stored(job.kind, how.lane)
        until = None if unique is None else unique.until(self._clock.now())
        return NewJob(
            stream,
            job.body,
            how.at,
            how.delay or None,
            how.batch,
            how.parent,
            how.session,
            how.subject,
            how.epoch,
            how.tokens,
            key,
            until,
        )

    def _stream(self, job: Job) -> int | None:
        if self._kinds is not None and job.kind not in self._kinds:
            raise KindUnknown(
                f"No kind {job.kind!r} is declared here.",
                f"Declared are: {', '.join(sorted(self._kinds)) or 'none'}.",
            )
        kind = self._names.kinds.get(job.kind)
        lane = self._names.lanes.get(job.how.lane)
        if kind is None or lane is None:
            return None
        stream = pack(lane, kind, job.how.priority)
        self._streams[job.kind, job.how.lane, job.how.priority] = stream
        return stream

    async def _flush(self) -> None:
        """Write groups until nothing waits."""
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:GROUP_MAX], self._waiting[GROUP_MAX:]
                try:
                    await self._write(group)
                except ValueError:  # one row no store can hold must not fail its neighbours
                    for one in group:
                        await self._write_alone(one)
                except Exception as error:  # every waiting caller must hear of it
                    _refuse(group, error)
        finally:
            self._flusher = None

    async def _write(self, group: Sequence[tuple[NewJob, asyncio.Future[Receipt]]]) -> None:
        receipts = await self.put([row for row, _ in group])
        for (_, future), receipt in zip(group, receipts, strict=True):
            if not future.done():
                future.set_result(receipt)

    async def _write_alone(self, one: tuple[NewJob, asyncio.Future[Receipt]]) -> None:
        try:
            await self._write([one])
        except Exception as error:  # its caller must hear of it, and nobody else
            _refuse([one], error)


def _refuse(group: Sequence[tuple[NewJob, asyncio.Future[Receipt]]], error: Exception) -> None:
    for _, future in group:
        if not future.done():
            future.set_exception(error)
