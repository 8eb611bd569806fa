"""A node: one worker process. It registers, claims, runs, beats, and leaves tidily.

Everything a node promises survives its death, because nothing it holds is more than a loan:
jobs under fences, permits and slots that are taken back when its lease runs out.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dure.core.adaptive import Bounds
from dure.core.errors import KindUnknown, StoreError
from dure.core.fairness import Rotation
from dure.core.stream import lane_of
from dure.engine.adapt import Adaptation
from dure.engine.aftermath import Aftermath
from dure.engine.children import Children
from dure.engine.claimer import Claimer
from dure.engine.control import Control
from dure.engine.enqueue import Enqueuer
from dure.engine.finisher import Ended, Finisher
from dure.engine.heartbeat import Heartbeat
from dure.engine.kind import AnyKind, Terms
from dure.engine.leaving import hand_over
from dure.engine.names import Names
from dure.engine.options import RESOURCES, VERSION, Departure, NodeOptions
from dure.engine.pacer import Pacer
from dure.engine.scanner import Scanner
from dure.engine.service import Service, Tick
from dure.engine.slots import Slots
from dure.engine.store_clock import StoreClock
from dure.engine.supply import Supply
from dure.engine.tally import Tally
from dure.engine.threads import Threads
from dure.engine.upkeep import Upkeep
from dure.engine.work import Stop, Work
from dure.ports.clock import Clock, Dice, SystemClock, SystemDice
from dure.ports.rows import Change
from dure.ports.store import Hint, Store
from dure.scripts import jobs, queues, workers

_OWNED_SECONDS: Final = 1.0
_CONTROL_SECONDS: Final = 1.0


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
    ) -> None:
        self._store = store
        self._names = names
        self._enqueuer = enqueuer
        self._options = options
        self._duties = dict(duties or {})
        self._clock = clock or SystemClock()
        self._dice = dice or SystemDice()
        served = options.kinds or tuple(kinds)
        unknown = [name for name in served if name not in kinds]
        if unknown:
            raise KindUnknown(
                f"No kind {unknown[0]!r} is declared here.",
                f"Declared are: {', '.join(sorted(kinds)) or 'none'}.",
            )
        self.kinds = {name: kinds[name] for name in served}
        self._kinds_by_id: dict[int, AnyKind] = {}
        self.tally = Tally()
        self.control = Control(store)
        self.rotation = Rotation()
        self.store_clock = StoreClock(store, self._clock)
        self.supply = Supply(store, clock=self._clock, store_clock=self.store_clock)
        self.pacer = Pacer(
            self.supply,
            self.control,
            names,
            clock=self._clock,
            store_clock=self.store_clock,
            rotation=self.rotation,
            kinds=self._kinds_by_id,
            resources={**RESOURCES, **options.resources},
            wake=self.wake,
        )
        self.finisher = Finisher(
            store,
            enqueuer,
            clock=self._clock,
            store_clock=self.store_clock,
            dice=self._dice,
            tally=self.tally,
            on_settled=self._settled,
        )
        self.aftermath = Aftermath(
            store,
            self.control,
            self.pacer,
            store_clock=self.store_clock,
            recover_after=options.recover_after,
            on_disabled=self._nudge_control,
        )
        self.upkeep = Upkeep(
            store,
            self.control,
            store_clock=self.store_clock,
            dice=self._dice,
            terms_of=self._terms_of,
            note=self.note,
        )
        self.adaptation = Adaptation(lambda: self.slots, self.tally, self._clock)
        self.scanner = Scanner(store, self.rotation, self.control, self._clock)
        self.worker = 0
        self.services: dict[str, Service] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots: Slots | None = None
        self._claimer: Claimer | None = None
        self._heartbeat: Heartbeat | None = None
        self._registering: asyncio.Task[None] | None = None
        self._claiming: asyncio.Task[None] | None = None
        self.is_stopping = False
        self.hurry = asyncio.Event()
        """Set to end the grace of a shutdown early."""

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

    def setting(self, key: str, own: float | None) -> float:
        """This node's own value, or the run-time setting."""
        value: float = self.control.settings[key] if own is None else own
        return value

    async def start(self) -> None:
        """Register and begin to work."""
        await self.store_clock.sync()
        await self._names.learn(self.kinds, ())
        self._kinds_by_id.update(
            (self._names.kinds[name], kind) for name, kind in self.kinds.items()
        )
        await self.control.refresh()
        size = int(self.setting("worker.slots", self._options.slots))
        self._slots = Slots(
            size,
            clock=self._clock,
            finish=self.finisher.add,
            threads=Threads(size),
            children=Children(min(size, 4 * (os.cpu_count() or 1))),
        )
        self._claimer = Claimer(
            self._store,
            self._slots,
            self.rotation,
            self.pacer,
            clock=self._clock,
            tally=self.tally,
            kind_by_id=self._kinds_by_id.__getitem__,
            lane_name=self._names.lane,
            holds=self.finisher.holds,
        )
        self._resize()
        await self._register()
        self._claiming = self._spawn(self._claimer.run(), "claimer")
        self._spawn(self.pacer.run(), "pacer")
        self._spawn(self._listen(), "ear")
        self._serve("scan", self._scan)
        self._serve("control", self._watch_control)
        self._serve("owned", self._check_owned)
        self._serve("promote", self.upkeep.promote)
        self._serve("sweep", self.upkeep.sweep)
        self._serve("prune", self.upkeep.prune)
        self._serve("aftermath", self.aftermath.tell)
        self._serve("adapt", self.adaptation.tick)
        for name, tick in self._duties.items():
            self._serve(name, tick)

    def _spawn(self, work: Any, name: str) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work, name=f"dure-{name}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """A duty that breaks is a bug; it must not be silent."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            loop = task.get_loop()
            loop.call_exception_handler(
                {"message": f"{task.get_name()} broke", "exception": error, "task": task}
            )

    def _serve(self, name: str, tick: Any) -> None:
        service = self.services[name] = Service(name, tick, self._dice)
        self._spawn(service.run(), name)

    async def _register(self) -> None:
        """Enter the worker table and start to beat."""
        lease = self.setting("worker.lease", self._options.lease)
        beat = min(self.setting("worker.beat", self._options.beat), lease / 3)
        self.worker = await self._store.run(
            workers.register(
                self._options.name or f"{socket.gethostname()}-{os.getpid()}",
                socket.gethostname(),
                pid=os.getpid(),
                version=VERSION,
                kinds=self.kinds,
                slots=self.slots.size,
                lease=lease,
                now=self.store_clock.now(),
            )
        )
        self.claimer.worker = self.supply.worker = self.worker
        self._heartbeat = Heartbeat(
            self._store,
            self.worker,
            clock=self._clock,
            beat=beat,
            lease=lease,
            on_lost=self._lost,
            threaded=self._options.threaded,
        )
        self.finisher.is_trusted = lambda: self.heartbeat.is_trusted
        self._heartbeat.start()

    def _lost(self) -> None:
        """The store declared us dead: drop everything, and come back as a new worker."""
        self._store.stand(None)
        for work in [*self.slots.take_back(), *self.slots.running]:
            work.interrupt(Stop.TAKEN)
            if not work.started:
                self.finisher.add(work, Stop.TAKEN)
        for cap in self.pacer.caps.values():
            cap.held = 0
        if self._registering is None or self._registering.done():
            self._registering = asyncio.get_running_loop().create_task(self._reregister())

    async def _reregister(self) -> None:
        await self.heartbeat.stop()
        while not self.is_stopping:
            try:
                await self.store_clock.sync()
                await self._register()
            except StoreError:
                await asyncio.sleep(1.0)
            else:
                self.wake()
                return

    def _terms_of(self, kind: int) -> Terms | None:
        found = self._kinds_by_id.get(kind)
        return None if found is None else found.terms

    def wake(self) -> None:
        """Look for work at once."""
        if self._claimer is not None:
            self._claimer.wake()

    def note(self, streams: Iterable[int]) -> None:
        """Work has arrived in these streams."""
        for stream in streams:
            self.rotation.note(stream)
        self.wake()

    def _settled(self, group: Sequence[tuple[Ended, Change | None]]) -> None:
        """A group of attempts is over: room comes back, and others learn from how it went."""
        events, settle, note = self.tally.events, self.pacer.settle, self.aftermath.note
        for ended, change in group:
            settle(ended.work.gates)
            if change is not None:
                events[ended.work.kind.name, change.transition.event] += 1
                note(ended, change)
        self.wake()

    async def _listen(self) -> None:
        """React to hints; all of this would happen without them, only later."""
        async with contextlib.aclosing(self._store.hints()) as hints:
            async for hint in hints:
                match hint:
                    case Hint("streams", streams):
                        with contextlib.suppress(StoreError):  # the next scan names them
                            await self._names.recall(s for s in streams if not self._knows(s))
                        self.note(streams)
                    case Hint("control"):
                        self._nudge_control()
                    case Hint("jobs"):
                        self.services["owned"].nudge()
                    case _:
                        self.services["scan"].nudge()

    def _knows(self, stream: int) -> bool:
        return self._names.knows_lane(lane_of(stream))

    def _nudge_control(self) -> None:
        if "control" in self.services:
            self.services["control"].nudge()

    async def _scan(self) -> float:
        found, delay = await self.scanner.scan()
        unknown = [s for s in self.rotation.streams() if not self._knows(s)]
        if unknown:
            await self._names.recall(unknown)
            self.rotation.release()
        if found:
            self.wake()
        return delay

    async def _watch_control(self) -> float:
        if await self.control.refresh():
            await self.supply.look(self.pacer.switches.values())
            self._resize()
            self.pacer.rebuild()
            self._interrupt_paused()
        return _CONTROL_SECONDS

    def _resize(self) -> None:
        low, high = (
            self.control.settings["worker.claim_min"],
            self.control.settings["worker.claim_max"],
        )
        high = self._options.claim_max or high
        self.claimer.bounds = Bounds(min(low, high), high)
        size = int(self.setting("worker.slots", self._options.slots))
        if self._options.slots_min is not None:
            self.adaptation.bounds = Bounds(min(self._options.slots_min, size), size)
        elif size != self.slots.size:
            self.slots.resize(size)

    def _interrupt_paused(self) -> None:
        for work in [*self.slots.running, *self.slots.waiting_work()]:
            pause = self.control.pause_of(work.kind.name, work.lane)
            session = self.control.pauses.get(("session", work.claims[0].session or ""))
            if (pause is not None and not pause.drain) or (session and not session.drain):
                work.interrupt(Stop.PAUSED)

    async def _check_owned(self) -> float:
        """Stop attempts whose job was taken away: cancelled, suspended, or swept."""
        now = self._clock.monotonic()
        ours: dict[int, Work] = {}
        for work in [*self.slots.running, *self.slots.waiting_work()]:
            if not work.started or now - work.started > _OWNED_SECONDS / 2:
                ours.update((claim.id, work) for claim in work.claims)
        if ours:
            owned = await self._store.read(jobs.owned(self.worker, list(ours)))
            for job, work in ours.items():
                if job not in owned and len(work.claims) == 1 and not work.is_done:
                    work.interrupt(Stop.TAKEN)
        return _OWNED_SECONDS

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
            grace = self.setting("worker.grace", self._options.grace)
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
        try:
            async with asyncio.timeout(self.heartbeat.lease):
                await self.finisher.drained()
                await self.aftermath.tell()
                await self.supply.give_all_back(
                    self.pacer.caps.values(), self.pacer.permits.values()
                )
                is_trusted = self.heartbeat.is_trusted  # a beat after the end says "lost"
                await self._store.run(workers.retire(self.worker))
                is_clean = is_trusted
        except (StoreError, TimeoutError):
            pass
        await self.heartbeat.stop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.slots.close()
        return is_clean
