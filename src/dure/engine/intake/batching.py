"""Batches as a program uses them: open, add, seal; counted once, always reported.

    async with app.batch("VECTOR_DAILY") as batch:
        await batch.add([upload(shop) for shop in shops])
    report = await batch.finished()

While a batch is open its opener holds a lease. When the opener dies the batch is an orphan:
the next one of that name ends it first, with its unfinished jobs, and reports how many.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from dure.core.backoff import NEVER
from dure.core.batch import BATCH_FINAL, Overlap, Report, WaitFor
from dure.core.decide import Cause, Refusal, decide
from dure.core.errors import BatchRunning, Refused
from dure.core.filter import JobFilter
from dure.core.job import Job
from dure.core.state import Event, State
from dure.engine.intake.enqueue import Enqueuer
from dure.engine.store_clock import StoreClock
from dure.ports.rows import Change, Receipt
from dure.ports.store import Hint, Store
from dure.scripts import batches, jobs

LEASE_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.25
_GROUP: Final = 500
_ORPHANED: Final = "the batch was left unfinished"


class BatchRun:
    """One batch of this program; use it as a context."""

    def __init__(
        self,
        store: Store,
        enqueuer: Enqueuer,
        clock: StoreClock,
        name: str,
        *,
        overlap: Overlap,
        lease: float = LEASE_SECONDS,
    ) -> None:
        self._store = store
        self._enqueuer = enqueuer
        self._clock = clock
        self.name = name
        self._overlap = overlap
        self._lease = lease
        self._id: int | None = None
        self._renewing: asyncio.Task[None] | None = None

    @property
    def id(self) -> int:
        """Its number. Raises Refused before it was opened."""
        if self._id is None:
            raise Refused(f"The batch {self.name!r} is not open.", "Use `async with app.batch(…)`.")
        return self._id

    async def __aenter__(self) -> Self:
        await self._clock.sync()
        orphans = await self._recover()
        while True:
            answer = await self._store.run(
                batches.open_(
                    self.name,
                    self._overlap,
                    now=self._clock.now(),
                    lease=self._lease,
                    orphans=orphans,
                )
            )
            if isinstance(answer, int):
                break
            if not isinstance(answer, WaitFor):
                raise BatchRunning(answer.sentence)
            await asyncio.sleep(_POLL_SECONDS)
        self._id = answer
        self._renewing = asyncio.get_running_loop().create_task(self._renew(answer))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        if error is None:
            await self._store.run(batches.seal(self.id, self._clock.now()))
        else:
            note = f"interrupted by {type(error).__name__}: {error}"
            await self._store.run(batches.interrupt(self.id, note[:500], self._clock.now()))

    async def add(self, work: Sequence[Job], **options: object) -> list[Receipt]:
        """Enqueue jobs that belong to this batch."""
        joined = [job.options(batch=self.id) for job in work]
        if options:
            joined = [job.options(**options) for job in joined]  # type: ignore[arg-type]
        return await self._enqueuer.many(joined)

    async def finished(self) -> Report:
        """Wait until every job of it has ended, and return the report."""
        while True:
            batch = await self._store.read(batches.get(self.id))
            if batch.state in BATCH_FINAL:
                return batch.summary(self._clock.now())
            await asyncio.sleep(_POLL_SECONDS)

    async def _renew(self, batch: int) -> None:
        while True:
            await asyncio.sleep(self._lease / 3)
            with contextlib.suppress(Exception):  # the next round tries again
                await self._store.run(batches.renew(batch, self._lease, self._clock.now()))

    async def _recover(self) -> int:
        """End orphaned batches of this name; how many of their jobs were still unfinished."""
        recovered = 0
        for orphan in await self._store.run(batches.orphans(self.name, self._clock.now())):
            recovered += await self._end_jobs(orphan.id)
            await self._store.run(batches.interrupt(orphan.id, _ORPHANED, self._clock.now()))
        return recovered

    async def _end_jobs(self, batch: int) -> int:
        wanted = JobFilter.parse(f"batch:{batch} state:pending,running,retry_wait,suspended")
        ended = 0
        while True:
            now = self._clock.now()
            found = await self._store.run(jobs.find(wanted, now=now, limit=_GROUP))
            changes: list[Change] = []
            for job in found:
                event = Event.FAIL if job.state is State.RUNNING else Event.CANCEL
                cause = Cause(event, reason=_ORPHANED, error=_ORPHANED)
                move = decide(job, cause, NEVER, now, 0.0)
                if not isinstance(move, Refusal):
                    changes.append(Change(move, job.stream, batch=job.batch, key=job.key))
            if not changes:
                return ended
            applied = await self._store.apply(changes)
            ended += len(changes) - len(applied.refused)
            await self._store.hint(Hint("jobs"))
