"""Schedules: timetable entries become jobs, one firing for all nodes.

The job is enqueued under a key made of the schedule and the moment before the firing is
claimed. A node that dies in between loses nothing, and the next one enqueues nothing twice.
Anything else may pull the trigger too: a message queue's consumer calls `fire` with the
message's id and acknowledges when it returns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dure.core.errors import NotFound
from dure.core.job import Job, Options
from dure.core.timetable import Missed, Timetable, due
from dure.engine.intake.enqueue import Enqueuer
from dure.engine.store_clock import StoreClock
from dure.ports.rows import Receipt
from dure.ports.store import Store
from dure.scripts import schedules
from dure.scripts.schedules import Declared, Schedule

_SECONDS_MAX: Final = 1.0
_SECONDS_MIN: Final = 0.005
_KEY_SECONDS: Final = 7 * 86400.0
"""How long a firing or a message id is remembered."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the timetable: when, and which job."""

    name: str
    when: str
    zone: str
    missed: Missed
    job: Job

    @property
    def timetable(self) -> Timetable:
        return Timetable.parse(self.when, tz=self.zone, missed=self.missed)


class Firing:
    """Declares schedules and fires them when due."""

    def __init__(
        self, store: Store, enqueuer: Enqueuer, clock: StoreClock, entries: Mapping[str, Entry]
    ) -> None:
        self._store = store
        self._enqueuer = enqueuer
        self._clock = clock
        self._entries = entries
        self.fired = 0
        self.missed = 0

    async def declare(self) -> None:
        """Store what the program declares; unchanged timetables keep their next firing."""
        now = self._clock.now()
        declared = [
            Declared(
                name=entry.name,
                timetable=entry.when,
                zone=entry.zone,
                missed=entry.missed.value,
                job=_stored(entry.job),
                next_at=entry.timetable.next_after(now),
            )
            for entry in self._entries.values()
        ]
        if declared:
            await self._store.run(schedules.declare(declared))

    async def tick(self) -> float:
        """Fire what is due; sleep until the next entry or a second."""
        listed = await self._store.read(schedules.listing())
        now = self._clock.now()
        wait = _SECONDS_MAX
        for schedule in listed:
            if schedule.paused or schedule.next_at is None:
                continue
            if schedule.next_at > now:
                wait = min(wait, schedule.next_at - now)
                continue
            await self._fire(schedule, schedule.next_at, now)
            wait = _SECONDS_MIN
        return max(wait, _SECONDS_MIN)

    async def _fire(self, schedule: Schedule, planned: float, now: float) -> None:
        timetable = Timetable.parse(
            schedule.timetable, tz=schedule.zone, missed=Missed(schedule.missed)
        )
        firing = due(timetable, planned, now)
        for moment in firing.fire_at:
            await self._enqueue(schedule, f"schedule:{schedule.name}:{moment:.3f}")
        is_ours = await self._store.run(
            schedules.fire(
                schedule.name,
                planned,
                next_at=firing.next_at,
                last_at=firing.fire_at[-1] if firing.fire_at else schedule.last_at or planned,
                fired=len(firing.fire_at),
                missed=firing.missed,
            )
        )
        if is_ours:
            self.fired += len(firing.fire_at)
            self.missed += firing.missed

    async def fire(self, name: str, message: str | None = None) -> Receipt:
        """Fire by hand or by a message; a message id fires once however often it is delivered."""
        listed = await self._store.read(schedules.listing())
        for schedule in listed:
            if schedule.name == name:
                key = None if message is None else f"trigger:{name}:{message}"
                return await self._enqueue(schedule, key)
        names = ", ".join(schedule.name for schedule in listed) or "none"
        raise NotFound(f"There is no schedule {name!r}.", f"Declared are: {names}.")

    async def _enqueue(self, schedule: Schedule, key: str | None) -> Receipt:
        stored = msgspec.json.decode(schedule.job, type=StoredJob)
        job = Job(stored.kind, stored.body, Options.from_dict(stored.how))
        (row,) = await self._enqueuer.rows([job])
        if key is not None:
            row = row._replace(key=key, key_until=self._clock.now() + _KEY_SECONDS)
        (receipt,) = await self._enqueuer.put([row])
        return receipt


def _stored(job: Job) -> str:
    return msgspec.json.encode(StoredJob(job.kind, job.body, job.how.to_dict())).decode()


class StoredJob(msgspec.Struct):
    """A schedule's job as it lies in the store."""

    kind: str
    body: str
    how: dict[str, Any]
