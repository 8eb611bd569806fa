"""Those who put work in, and the operators: on hosts of their own, in the same weather."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import Final

from dure.core.backoff import NEVER
from dure.core.batch import Overlap
from dure.core.decide import Cause, Transition, decide
from dure.core.errors import DureError, NotFound
from dure.core.job import Unique
from dure.core.state import FINAL, Event, Priority, State
from dure.engine.intake.batching import BatchRun
from dure.ports.rows import Change
from dure.ports.store import Hint
from dure.scripts import breakers, epochs, jobs, lanes, pauses, settings
from dure.scripts.jobs import Record
from dure.simulate.faults.fleet import Fleet, Member
from dure.simulate.faults.workload import BREAKER, FACTS, World

SESSION: Final = "tour"
SUBJECT: Final = "shop-1"
FAILURES_MAX: Final = "lane.failures_max_default"
_KEYS: Final = 3
_BURST_MAX: Final = 6
_PAUSE_SECONDS: Final = 0.6
_PATIENCE_SECONDS: Final = 5.0
"""How long a producer waits for a host that may be dead."""


class Producer:
    """Enqueues work of all kinds, and remembers what was acknowledged."""

    def __init__(self, fleet: Fleet, world: World, dice: random.Random) -> None:
        self._fleet = fleet
        self._member = fleet.join("client")
        self._world = world
        self._dice = dice

    async def work(self, until: float) -> None:
        """Put work in until then, in bursts: from outside, or from the process of a node."""
        loop = asyncio.get_running_loop()
        ways = (self._one, self._many, self._many, self._unique, self._batch)
        client = self._member
        while loop.time() < until:
            nodes = self._fleet.nodes
            self._member = (
                self._dice.choice(nodes) if nodes and self._dice.random() < 0.4 else client
            )
            way = self._fleet.spawn(self._member, self._try(self._dice.choice(ways)), "produce")
            await asyncio.wait({way}, timeout=_PATIENCE_SECONDS)
            await asyncio.sleep(_PAUSE_SECONDS * self._dice.random())

    async def _try(self, way: Callable[[], Awaitable[None]]) -> None:
        with contextlib.suppress(DureError):
            await way()

    async def _one(self) -> None:
        member = self._member
        token = self._world.token()
        kind = self._dice.choice(list(self._world.kinds))
        job = self._world.job(kind, token)
        draw = self._dice.random()
        if draw < 0.2:
            job = job.options(delay=2.0 * self._dice.random())
        elif draw < 0.4:
            job = job.options(priority=self._dice.choice(list(Priority)))
        elif draw < 0.6:
            job = job.options(session=SESSION)
        elif draw < 0.7:
            job = job.options(subject=SUBJECT, epoch=1)
        receipt = await member.enqueuer.one(job)
        self._world.acknowledged[token] = receipt.id

    async def _many(self) -> None:
        kind = self._dice.choice(list(self._world.kinds))
        tokens = [self._world.token() for _ in range(self._dice.randint(2, _BURST_MAX))]
        receipts = await self._member.enqueuer.many([self._world.job(kind, t) for t in tokens])
        for token, receipt in zip(tokens, receipts, strict=True):
            self._world.acknowledged[token] = receipt.id

    async def _unique(self) -> None:
        """As long as it is unfinished nobody else gets in under its key."""
        key = Unique(key=f"key-{self._dice.randrange(_KEYS)}", scope="global")
        token = self._world.token()
        receipt = await self._member.enqueuer.one(
            self._world.job("plain", token).options(unique=key)
        )
        if receipt.is_new:
            self._world.acknowledged[token] = receipt.id

    async def _batch(self) -> None:
        batch = BatchRun(
            self._member.store,
            self._member.enqueuer,
            self._member.store_clock,
            f"nightly-{self._dice.randrange(2)}",
            overlap=Overlap.ALLOW,
        )
        async with batch:
            for _ in range(2):
                tokens = [self._world.token() for _ in range(self._dice.randint(1, 4))]
                receipts = await batch.add([self._world.job("effect", t) for t in tokens])
                for token, receipt in zip(tokens, receipts, strict=True):
                    self._world.acknowledged[token] = receipt.id


class Operator:
    """Cancels, suspends, pauses, resumes and replays."""

    def __init__(self, member: Member, world: World, dice: random.Random) -> None:
        self._member = member
        self._store = member.store
        self._world = world
        self._dice = dice

    async def work(self, until: float) -> None:
        """Do something now and then."""
        loop = asyncio.get_running_loop()
        ways: tuple[Callable[[], Awaitable[None]], ...] = (
            *(self._cancel, self._suspend, self._resume, self._replay),
            *(self._pause, self.resume_all, self._change_fact, self._raise_epoch),
        )
        while loop.time() < until:
            try:
                await self._member.store_clock.sync()
                await self._dice.choice(ways)()
            except DureError:
                await asyncio.sleep(0.2)
            await asyncio.sleep(1.5 * self._dice.random())

    async def calm_down(self) -> None:
        """Undo every pause and suspension; no lane is disabled any more."""
        await self._member.store_clock.sync()
        await self.resume_all()
        await self._resume()
        await self._store.run(
            breakers.force(BREAKER, "closed", by="operator", reason="calm", now=self._now())
        )
        await self._store.run(
            settings.set_(FAILURES_MAX, "0", by="operator", reason="calm", now=self._now())
        )

    async def enable_all(self) -> None:
        """Enable every lane."""
        for lane in self._world.lanes:
            await self._store.run(lanes.reset(lane, by="operator", reason="calm", now=self._now()))
        await self._store.hint(Hint("control"))

    def _now(self) -> float:
        return self._member.store_clock.now()

    async def _pick(self, *states: State) -> Record | None:
        known = [job for job, seen in self._world.auditor.jobs.items() if seen.state in states]
        if not known:
            return None
        return await self._store.read(jobs.get(self._dice.choice(known)))

    async def _order(self, records: list[Record], event: Event, reason: str) -> None:
        changes: list[Change] = []
        for record in records:
            move = decide(record, Cause(event, reason=reason), NEVER, self._now(), 0.0)
            if isinstance(move, Transition):
                changes.append(Change(move, record.stream, batch=record.batch, key=record.key))
        if changes:
            await self._store.apply(changes)
            await self._store.hint(Hint("jobs"))

    async def _cancel(self) -> None:
        record = await self._pick(State.PENDING, State.RUNNING, State.RETRY_WAIT, State.SUSPENDED)
        if record is not None:
            await self._order([record], Event.CANCEL, "not wanted")

    async def _suspend(self) -> None:
        record = await self._pick(State.PENDING, State.RUNNING, State.RETRY_WAIT)
        if record is not None:
            await self._order([record], Event.SUSPEND, "quota")

    async def _resume(self) -> None:
        for job, seen in list(self._world.auditor.jobs.items()):
            if seen.state is State.SUSPENDED:
                record = await self._store.read(jobs.get(job))
                if record is not None and record.reason == "quota":
                    await self._order([record], Event.RESUME, "")

    async def _replay(self) -> None:
        record = await self._pick(*(FINAL - {State.SUCCESS}))
        if record is None:
            return
        move = decide(record, Cause(Event.REPLAY), NEVER, self._now(), 0.0)
        if isinstance(move, Transition):
            await self._store.run(jobs.revive(record, move, record.stream, now=self._now()))

    async def _pause(self) -> None:
        scope, name = self._dice.choice(
            [
                ("lane", self._dice.choice(self._world.lanes)),
                ("kind", "plain"),
                ("session", SESSION),
            ]
        )
        drain = self._dice.random() < 0.5
        await self._store.run(
            pauses.pause(scope, name, by="operator", reason="", drain=drain, now=self._now())
        )
        if scope == "session":
            states = (State.PENDING, State.RETRY_WAIT)
            rows = await self._store.read(pauses.session_jobs(SESSION, states, limit=100))
            for row in rows:
                record = await self._store.read(jobs.get(row["id"]))
                if record is not None:
                    await self._order([record], Event.SUSPEND, pauses.REASON)
        await self._store.hint(Hint("control"))

    async def resume_all(self) -> None:
        """End every pause, and give the jobs of paused sessions back."""
        for pause in await self._store.read(pauses.active()):
            try:
                await self._store.run(
                    pauses.resume(
                        pause.scope, pause.name, by="operator", reason="", now=self._now()
                    )
                )
            except NotFound:
                continue
        held = [State.SUSPENDED]
        for row in await self._store.read(pauses.session_jobs(SESSION, held, limit=100)):
            record = await self._store.read(jobs.get(row["id"]))
            if record is not None and record.reason == pauses.REASON:
                await self._order([record], Event.RESUME, "")
        await self._store.hint(Hint("control"))

    async def _change_fact(self) -> None:
        """The application changes what guards look at."""
        self._world.ledger.ask(
            "update trial_fact set version = version + 1 where id = ?", self._dice.randrange(FACTS)
        )

    async def _raise_epoch(self) -> None:
        await self._store.run(epochs.raise_to(SUBJECT, None))
