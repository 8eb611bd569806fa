"""Counting batches and sending their reports: each once, whoever crashes in between."""

from collections.abc import Mapping
from typing import Any, Final

from dure.core.batch import Report
from dure.core.job import Job, Unique
from dure.engine.intake.enqueue import Enqueuer
from dure.engine.kind import Kind
from dure.engine.store_clock import StoreClock
from dure.ports.store import Store
from dure.scripts import batches

ANY: Final = "*"
"""Reports of batches that have no handler of their own."""
_SECONDS: Final = 0.5
_BUSY_SECONDS: Final = 0.01
_FOLD: Final = 10_000
_GROUP: Final = 50

Reports = Mapping[str, Kind[[Report], Any]]
"""Handlers of reports, by batch name."""


class Closing:
    """Folds tallies into batches and enqueues the report of each that ended."""

    def __init__(
        self, store: Store, enqueuer: Enqueuer, clock: StoreClock, reports: Reports
    ) -> None:
        self._store = store
        self._enqueuer = enqueuer
        self._clock = clock
        self._reports = reports

    async def fold(self) -> float:
        """Count, close, report."""
        await self._store.run(batches.fold(self._clock.now(), _FOLD))
        ended = await self._store.read(batches.unreported(_GROUP))
        for batch in ended:
            job = self._report(batch.name, batch.summary(self._clock.now()))
            if job is not None:
                await self._enqueuer.many([job])
            await self._store.run(batches.reported(batch.id, self._clock.now()))
        return _BUSY_SECONDS if len(ended) == _GROUP else _SECONDS

    def _report(self, name: str, report: Report) -> Job | None:
        kind = self._reports.get(name) or self._reports.get(ANY)
        if kind is None:
            return None
        key = Unique(key=f"report:{report.id}", scope="global", period="30d")
        return kind(report).options(unique=key)
