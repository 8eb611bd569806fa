"""A node: one worker process. It registers, claims, runs, beats, and leaves tidily.

Everything a node promises survives its death, because nothing it holds is more than a loan:
jobs under fences, permits and slots that are taken back when its lease runs out.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dure.core.errors import StoreError
from dure.core.notice import Enqueued, LeaseLost, Refused
from dure.engine.attempts.children import Children
from dure.engine.attempts.finisher import Ended
from dure.engine.attempts.slots import Slots
from dure.engine.attempts.threads import Threads
from dure.engine.attention import Attention
from dure.engine.battery import Battery, Presence
from dure.engine.claiming.claimer import Claimer
from dure.engine.duties.adapt import Adaptation
from dure.engine.duties.heartbeat import Heartbeat
from dure.engine.duties.service import Service, Tick
from dure.engine.gates import Gate
from dure.engine.intake.enqueue import Enqueuer
from dure.engine.journal import tell
from dure.engine.kind import AnyKind
from dure.engine.leaving import call_off, hand_over
from dure.engine.names import Names
from dure.engine.notices import Notices, moved, tell_enqueued
from dure.engine.options import VERSION, Departure, NodeOptions
from dure.engine.parts import Parts
from dure.engine.work import Stop
from dure.ports.clock import Clock, Dice, SystemClock, SystemDice
from dure.ports.rows import Change
from dure.ports.store import Store
from dure.scripts import queues, workers


class Node:
    """One worker: create it, `start`, and `stop` when done."""

    def __init__(
        self,
        store: Store,
        kinds: Mapping[str, AnyKind],
        names: Names,
        enqueuer: Enqueuer,
        *,
        options: NodeOptions,
        clock: Clock | None = None,
        dice: Dice | None = None,
        duties: Mapping[str, Tick] | None = None,
        notices: Notices | None = None,
        batteries: Sequence[Battery] = (),
    ) -> None:
        self._store = store
        self._names = names
        self._enqueuer = enqueuer
        self._options = options
        self._duties = dict(duties or {})
        self._clock = clock or SystemClock()
        self._dice = dice or SystemDice()
        self.notices = notices or Notices()
        self.presences: list[Presence] = []
        parts = self._parts = Parts(
            store,
            kinds,
            names,
            enqueuer,
            self,
            options=options,
            clock=self._clock,
            dice=self._dice,
            notices=self.notices,
        )
        self.kinds, self.tally, self.rotation = parts.kinds, parts.tally, parts.rotation
        self.control, self.pacer, self.upkeep = parts.control, parts.pacer, parts.upkeep
        self.finisher, self.aftermath = parts.finisher, parts.aftermath
        self.worker = 0
        self.services: dict[str, Service] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots: Slots | None = None
        self._claimer: Claimer | None = None
        self._heartbeat: Heartbeat | None = None
        self._registering: asyncio.Task[None] | None = None
        self._claiming: asyncio.Task[None] | None = None
        self._pacing: asyncio.Task[None] | None = None
        self.broken: dict[str, BaseException] = {}
        """Duties that ended with an error nobody foresaw: the node must be restarted."""
        self.is_stopping = False
        self._batteries = batteries
        self.hurry = asyncio.Event()
        """Set to end the grace of a shutdown early."""

    @property
    def clock(self) -> Clock:
        """The clock this node lives by."""
        return self._clock

    @property
    def slots(self) -> Slots:
        assert self._slots is not None, "the node has been started"
        return self._slots

    @property
    def claimer(self) -> Claimer:
        assert self._claimer is not None, "the node has been started"
        return self._claimer

    @property
    def heartbeat(self) -> Heartbeat:
        assert self._heartbeat is not None, "the node has been started"
        return self._heartbeat

    async def start(self) -> None:
        """Register and begin to work."""
        parts = self._parts
        await parts.store_clock.sync()
        await self._names.learn(self.kinds, ())
        parts.kinds_by_id.update(
            (self._names.kinds[name], kind) for name, kind in self.kinds.items()
        )
        await self.control.refresh()
        attention = self._build()
        attention.resize()
        await self._register()
        self.presences += [battery.serve(self) for battery in self._batteries]
        self._claiming = self._spawn(self.claimer.run(), "claimer")
        self._pacing = self._spawn(self.pacer.run(), "pacer")
        self._spawn(attention.listen(), "ear")
        for name, tick in {
            "scan": attention.scan,
            "control": attention.watch_operators,
            "owned": attention.check_owned,
            "promote": self.upkeep.promote,
            "sweep": self.upkeep.sweep,
            "prune": self.upkeep.prune,
            "aftermath": self.aftermath.tell,
            "adapt": self._adaptation.tick,
            **self._duties,
            **{name: duty for each in self.presences for name, duty in each.duties.items()},
        }.items():
            service = self.services[name] = Service(name, tick, self._dice)
            self._spawn(service.run(), name)

    def _build(self) -> Attention:
        """The parts that need a running loop and the settings."""
        parts = self._parts
        size = int(parts.setting("worker.slots", self._options.slots))
        slots = self._slots = Slots(
            size,
            clock=self._clock,
            finish=self.finisher.add,
            threads=Threads(size),
            children=Children(min(size, 4 * (os.cpu_count() or 1))),
            notices=self.notices,
            worker=lambda: self.worker,
        )
        claimer = self._claimer = Claimer(
            self._store,
            slots,
            self.rotation,
            self.pacer,
            clock=self._clock,
            tally=self.tally,
            kind_by_id=parts.kinds_by_id.__getitem__,
            lane_name=self._names.lane,
            holds=self.finisher.holds,
            is_held=lambda session: ("session", session) in self.control.pauses,
            notices=self.notices,
        )
        self._adaptation = Adaptation(
            slots,
            self.tally,
            self._clock,
            kinds=parts.kinds,
            shares=self.pacer.shares,
            freed=self._freed,
        )
        return Attention(parts, slots, claimer, adaptation=self._adaptation, nudge=self._nudge)

    def _spawn(self, work: Any, name: str) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work, name=f"dure-{name}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """A duty that breaks is a bug; it must not be silent."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.broken[task.get_name()] = error
            tell("duty.broke", logging.ERROR, duty=task.get_name(), error=error)
            loop = task.get_loop()
            loop.call_exception_handler(
                {"message": f"{task.get_name()} broke", "exception": error, "task": task}
            )

    async def _register(self) -> None:
        """Enter the worker table and start to beat."""
        lease = self._parts.setting("worker.lease", self._options.lease)
        beat = min(self._parts.setting("worker.beat", self._options.beat), lease / 3)
        self.worker = await self._store.run(
            workers.register(
                self._options.name or f"{socket.gethostname()}-{os.getpid()}",
                socket.gethostname(),
                pid=os.getpid(),
                version=VERSION,
                kinds=self.kinds,
                slots=self.slots.size,
                lease=lease,
                now=self._parts.store_clock.now(),
            )
        )
        self.claimer.worker = self._parts.supply.worker = self.upkeep.worker = self.worker
        self._heartbeat = Heartbeat(
            self._store,
            self.worker,
            clock=self._clock,
            beat=beat,
            lease=lease,
            on_lost=self._lost,
            threaded=self._options.threaded,
        )
        self.finisher.is_lost = lambda: self.heartbeat.is_lost
        self._heartbeat.start()
        tell("node.registered", worker=self.worker, slots=self.slots.size, lease=lease)

    def _lost(self) -> None:
        """The store declared us dead: drop everything, and come back as a new worker."""
        tell("lease.lost", logging.WARNING, worker=self.worker)
        self.notices.tell(LeaseLost(self.worker))
        self._store.stand(None)
        for work in [*self.slots.take_back(), *self.slots.running]:
            work.interrupt(Stop.TAKEN)
            if not work.started:
                self.finisher.add(work, Stop.TAKEN)
        self.claimer.worker = self._parts.supply.worker = 0
        for cap in self.pacer.caps.values():
            cap.held = cap.lent = 0
        if self._registering is None or self._registering.done():
            self._registering = asyncio.get_running_loop().create_task(self._reregister())

    async def _reregister(self) -> None:
        await self.heartbeat.stop()
        while not self.is_stopping:
            try:
                await self._parts.store_clock.sync()
                await self._register()
            except StoreError:
                await asyncio.sleep(1.0)
            else:
                self.wake()
                return

    def _freed(self) -> None:
        self.pacer.is_freed = True
        self.wake()

    def wake(self) -> None:
        """Look for work at once."""
        if self._claimer is not None:
            self._claimer.wake()

    def note(self, streams: Iterable[int]) -> None:
        """Work has arrived in these streams."""
        for stream in streams:
            self.rotation.note(stream)
        self.wake()

    def settled(self, group: Sequence[tuple[Ended, Change | None]]) -> None:
        """A group of attempts is over: room comes back, and others learn from how it went."""
        events, settle, note = self.tally.events, self.pacer.settle, self.aftermath.note
        for ended, change in group:
            settle(ended.work.gates)
            if change is not None:
                events[ended.work.kind.name, change.transition.event] += 1
                note(ended, change)
        if self.notices.heard:
            self._tell(group)
        self.wake()

    def _tell(self, group: Sequence[tuple[Ended, Change | None]]) -> None:
        tell, heard, names = self.notices.tell, self.notices.heard, self._names
        for ended, change in group:
            work, claim = ended.work, ended.claim
            kind = work.kind.name
            if change is None:
                tell(Refused(claim.id, kind, work.lane, claim.attempt, self.worker))
                continue
            seconds = work.ended - work.started if work.started else None
            tell(moved(change.transition, kind, work.lane, seconds, change.result))
            if change.effects is not None and change.effects.then and Enqueued in heard:
                jobs = change.effects.then
                tell_enqueued(self.notices, names, jobs, [True] * len(jobs), is_follow_up=True)

    def operators_spoke(self) -> None:
        """Read at once what operators, or this node itself, have just changed."""
        self._nudge("control")

    def lane_gate(self, kind: str, lane: str, release: Callable[[], None]) -> Gate | None:
        """The gate that a battery puts before a lane of its kinds on this node."""
        for presence in self.presences:
            if (gate := presence.gate(kind, lane, release)) is not None:
                return gate
        return None

    def nudge(self, duty: str) -> None:
        """Do a duty's next round at once."""
        self._nudge(duty)

    def _nudge(self, duty: str) -> None:
        if duty in self.services:
            self.services[duty].nudge()

    def bounded_queues(self) -> list[tuple[str, int, int]]:
        """Queues with a bound that this process has put work into: name, depth, bound."""
        pressure = self._enqueuer.pressure
        return [
            (f"{self._names.lane(lane)}/{self._names.kind(kind)}", known.depth, bound)
            for (lane, kind), known in pressure.queues.items()
            if (bound := pressure.bound_of(kind)) is not None
        ]

    @property
    def is_idle(self) -> bool:
        """Whether nothing is running, waiting for a slot or being committed here."""
        return not (self.slots.running or self.slots.waiting or self.finisher.pending)

    async def is_out_of_work(self) -> bool:
        """Whether nothing is left in the store that could run now."""
        if await self._store.read(queues.is_anything_running()) or await self._store.heads(0):
            return False
        return self.is_idle

    async def stop(self, grace: float | None = None) -> Departure:
        """Take nothing new; let running attempts end within `grace`; give the rest back."""
        self.is_stopping = True
        self.claimer.is_stopping = True
        self._store.stand(None)
        self.wake()
        if grace is None:
            grace = self._parts.setting("worker.grace", self._options.grace)
        assert self._claiming is not None, "the node has been started"
        departure = await hand_over(
            self.slots,
            self.finisher,
            self._clock,
            grace=grace,
            hurry=self.hurry,
            claiming=self._claiming,
        )
        return replace(departure, is_clean=await self._leave())

    async def _leave(self) -> bool:
        """Commit what ended, return what is lent, and end the lease."""
        is_clean = False
        await call_off(self._registering, self._pacing)  # they would borrow again
        try:
            async with asyncio.timeout(self.heartbeat.lease):
                await self.finisher.drained()
                await self.aftermath.tell()
                for presence in self.presences:
                    await presence.leave()
                await self._parts.supply.give_all_back(
                    self.pacer.caps.values(), self.pacer.permits.values()
                )
                is_trusted = self.heartbeat.is_trusted  # a beat after the end says "lost"
                await self._store.run(workers.retire(self.worker))
                is_clean = is_trusted
        except (StoreError, TimeoutError):
            pass
        await self._end()
        return is_clean

    async def _end(self) -> None:
        await self.finisher.close()
        await self.heartbeat.stop()
        await call_off(*self._tasks)
        await self.slots.close()

    async def vanish(self) -> None:
        """Be gone without a word to the store, as a killed process is: for tests."""
        self.is_stopping = self.claimer.is_stopping = True
        self._store.stand(None)
        await self._end()
