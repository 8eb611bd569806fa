"""Dead letters make themselves heard: an alert for each kind, at most one in so many minutes.

An alert is a job like any other, so it survives a crash and is tried again. A duty of every
node looks for what has FAILED; its unique key leaves one alert for each kind and period.
"""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import dure
from dure.core.filter import JobFilter
from dure.core.job import Unique
from dure.engine.journal import tell
from dure.fetch import ERRORS, Fetcher, FetchPolicy, Wire
from dure.ports.clock import Clock
from newsroom.diary import LOG
from newsroom.prompts import KINDS
from newsroom.settings import Settings

ALERT: Final = "DEAD_LETTER_ALERT"
_LOOK_SHARE: Final = 10
"""How many times in its period a kind's dead letters are looked for."""
_SHOWN_MAX: Final = 10


class Alerts:
    """Looks for dead letters, and tells people."""

    def __init__(
        self, app: dure.App, settings: Settings, *, wire: Wire | None, clock: Clock | None
    ) -> None:
        self._app = app
        self._period = settings.seconds("alert_every")
        self._url = settings.alert_url
        self._http = Fetcher(FetchPolicy.for_api(allow=settings.allow), wire=wire, clock=clock)
        self._alert = app.kind(name=ALERT, retry=5, errors=ERRORS, lane="alerts")(self._tell)
        app.duty("dead letters", self._look)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Ready to send inside of the block."""
        async with self._http:
            yield

    async def _look(self) -> float:
        """Ask for an alert about each kind that has failed since about the last one."""
        for kind in KINDS:
            if (await self._app.insights.count(self._dead(kind))).jobs:
                unique = Unique(key=kind, period=self._period)
                await self._app.enqueue(self._alert(kind), unique=unique)
        return self._period / _LOOK_SHARE

    def _dead(self, kind: str) -> JobFilter:
        """What failed in the last two periods: each failure is in one alert at least."""
        return JobFilter.parse(f"state:failed kind:{kind} finished<{2 * self._period:g}s")

    async def _tell(self, kind: str) -> dure.Outcome:
        """Write it into the log, and post it where somebody reads it."""
        wanted = self._dead(kind)
        count = (await self._app.insights.count(wanted)).jobs
        if not count:
            return dure.Skip("all of them were replayed in the meantime")
        shown = await self._app.insights.jobs(wanted, limit=_SHOWN_MAX)
        alert = {
            "event_type": "dead_letters",
            "kind": kind,
            "count": count,
            "newest": [{"job": each.id, "lane": each.lane, "error": each.error} for each in shown],
        }
        tell("dead_letters", logging.ERROR, log=LOG, kind=kind, count=count)
        if self._url:
            await self._http.send(
                "POST",
                self._url,
                headers={"Content-Type": "application/json"},
                body=json.dumps(alert, ensure_ascii=False).encode(),
            )
        return dure.Done({"count": count})
