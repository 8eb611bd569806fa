"""Housekeeping that keeps promises: waiting jobs fall due, dead workers' jobs come back.

Every node may do these rounds; each round is safe to be done by several at once. Recovery
is never a thing of start-up only: it runs for as long as the node does.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from dure.core.backoff import RetryPolicy
from dure.core.decide import Cause, Refusal, decide
from dure.core.notice import Moved, Promoted, SweepBegan, Swept
from dure.core.state import Event, State
from dure.core.stream import kind_of, lane_of, with_priority
from dure.engine.control import Control
from dure.engine.journal import tell
from dure.engine.kind import Terms
from dure.engine.names import Names
from dure.engine.notices import Notices, moved
from dure.engine.store_clock import StoreClock
from dure.ports.clock import Clock, Dice
from dure.ports.rows import Change
from dure.ports.store import Hint, Store
from dure.scripts import lanes, slots, upkeep
from dure.scripts.upkeep import Orphan

_PROMOTE_GROUP: Final = 1000
_SWEEP_GROUP: Final = 500
_PRUNE_GROUP: Final = 2000
_PRUNE_SECONDS: Final = 600.0
_BUSY_SECONDS: Final = 0.01
LEASE_LOST: Final = "LeaseLost: the worker that ran this attempt stopped answering"


class Upkeep:
    """The rounds of sweeper, promoter and pruner."""

    def __init__(
        self,
        store: Store,
        control: Control,
        *,
        store_clock: StoreClock,
        clock: Clock,
        dice: Dice,
        terms_of: Callable[[int], Terms | None],
        note: Callable[[Iterable[int]], None],
        names: Names,
        notices: Notices,
        interval: float | None = None,
    ) -> None:
        self._store = store
        self._control = control
        self._clock = store_clock
        self._monotonic = clock.monotonic
        self._dice = dice
        self._terms_of = terms_of
        self._note = note
        self._names = names
        self._notices = notices
        self._interval = interval
        self.worker = 0
        self.swept = 0
        self.promoted = 0
        self.pruned = 0

    async def promote(self) -> float:
        """RETRY_WAIT jobs whose time has come become PENDING."""
        due = await self._store.run(upkeep.promote(self._clock.now(), _PROMOTE_GROUP))
        if due:
            streams = [stream for stream, _ in due]
            count = sum(number for _, number in due)
            self.promoted += count
            self._note(streams)
            await self._store.hint(Hint("streams", streams))
            if Promoted in self._notices.heard:
                await self._tell_promoted(due)
            if count >= _PROMOTE_GROUP:
                return _BUSY_SECONDS
        seconds: float = self._control.settings["promote.interval"]
        return seconds

    async def _tell_promoted(self, due: Sequence[tuple[int, int]]) -> None:
        await self._names.recall(stream for stream, _ in due)
        for stream, count in due:
            kind, lane = self._names.kind(kind_of(stream)), self._names.lane(lane_of(stream))
            self._notices.tell(Promoted(kind, lane, count))

    async def sweep(self) -> float:
        """Jobs of workers whose lease ran out are decided again; lanes recover."""
        self._notices.tell(SweepBegan(self.worker))
        began, before = self._monotonic(), self.swept
        await self._sweep()
        took = self._monotonic() - began
        self._notices.tell(Swept(self.worker, self.swept - before, took))
        seconds: float = self._control.settings["sweep.interval"]
        return seconds if self._interval is None else self._interval

    async def _sweep(self) -> None:
        await self._clock.sync()
        now = self._clock.now()
        for worker in await self._store.run(upkeep.dead_workers(now)):
            await self._take_back(worker.id)
            await self._store.run(slots.bury([worker.id], now))
            await self._store.run(upkeep.bury(worker.id, now))
        strays = await self._store.run(slots.strays())
        if strays:
            await self._store.run(slots.bury(strays, now))
        await self._decide(await self._store.run(upkeep.unowned(_SWEEP_GROUP)))
        default = self._control.settings["lane.failures_max_default"]
        await self._store.run(lanes.recover_due(now, default_failures_max=default))

    async def _take_back(self, worker: int) -> None:
        while True:
            found = await self._store.run(upkeep.orphans(worker, _SWEEP_GROUP))
            await self._decide(found)
            if len(found) < _SWEEP_GROUP:
                return

    async def _decide(self, found: Sequence[Orphan]) -> None:
        """A lost lease has spent its attempt: a job that kills its workers ends FAILED."""
        if not found:
            return
        now = self._clock.now()
        changes: list[Change] = []
        for orphan in found:
            terms = self._terms_of(kind_of(orphan.stream))
            policy = terms.retry if terms is not None else RetryPolicy()
            cause = Cause(Event.LEASE_LOST, error=LEASE_LOST)
            move = decide(orphan, cause, policy, now, self._dice.draw())
            if isinstance(move, Refusal):
                continue
            stream = orphan.stream
            if move.to is State.RETRY_WAIT and terms is not None:
                stream = with_priority(stream, terms.retry_priority or stream & 3)
            changes.append(Change(move, stream, batch=orphan.batch, key=orphan.key))
        applied = await self._store.apply(changes)
        self.swept += len(changes) - len(applied.refused)
        tell("lease.expired", logging.WARNING, jobs=len(changes), worker=found[0].worker)
        if Moved in self._notices.heard:
            await self._names.recall(change.stream for change in changes)
            for move, stream, *_ in changes:
                if move.id not in applied.refused:
                    kind, lane = kind_of(stream), lane_of(stream)
                    self._notices.tell(moved(move, self._names.kind(kind), self._names.lane(lane)))

    async def prune(self) -> float:
        """Finished work older than the retention goes; partitions for the days ahead come."""
        now = self._clock.now()
        before = now - self._control.settings["history.keep"]
        count = await self._store.run(upkeep.prune(before, _PRUNE_GROUP, now=now))
        self.pruned += count
        await asyncio.sleep(0)
        return _BUSY_SECONDS if count >= _PRUNE_GROUP else _PRUNE_SECONDS
