"""The composition root: a URL becomes a store, and an `App` ties everything to it."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from dure.core.batch import Overlap
from dure.core.errors import ConfigError, UrlInvalid
from dure.core.job import Job
from dure.engine.declare import Declarations
from dure.engine.desk.commands import Commands
from dure.engine.desk.insights import Insights
from dure.engine.duties.closing import Closing
from dure.engine.duties.firing import Firing
from dure.engine.intake.batching import BatchRun
from dure.engine.intake.bridge import Bridge
from dure.engine.intake.enqueue import Enqueuer
from dure.engine.intake.pressure import Pressure
from dure.engine.intake.within import enqueue_within
from dure.engine.names import Names
from dure.engine.node import Node
from dure.engine.options import Departure, NodeOptions
from dure.engine.signals import depart_on_signal
from dure.engine.store_clock import StoreClock
from dure.ports.clock import Clock, SystemClock
from dure.ports.rows import NewJob, Query, Receipt, Row
from dure.ports.store import Script, Store
from dure.scripts import epochs, limits
from dure.stores.statement import steps_of


def open_store(url: str | Path, *, clock: Clock | None = None) -> Store:
    """The store a URL names: a path or `sqlite:path` for SQLite, `postgresql://` for PostgreSQL."""
    text = str(url)
    if text.startswith(("postgresql:", "postgres:")):
        try:
            from dure.stores.postgres import PostgresStore  # noqa: PLC0415  # an extra
        except ModuleNotFoundError as error:
            raise ConfigError(
                "PostgreSQL needs the asyncpg driver.",
                "Install it with `pip install dure[postgres]`.",
            ) from error
        return PostgresStore(text, clock=clock)
    from dure.stores.sqlite import SqliteStore  # noqa: PLC0415  # only the chosen store is loaded

    path, _, query = text.removeprefix("sqlite:").partition("?")
    if "://" in path or not path:
        raise UrlInvalid(
            f"{text!r} names no store.",
            "Use a file path, ':memory:', or postgresql://user@host/database.",
        )
    durability = "FULL"
    for pair in filter(None, query.split("&")):
        key, _, value = pair.partition("=")
        if key != "durability":
            raise UrlInvalid(f"Unknown option {key!r} in {text!r}.", "SQLite knows `durability`.")
        durability = value.upper()
    return SqliteStore(path, clock=clock, durability=durability)


class App(Declarations):
    """Declare kinds on it, enqueue jobs with it, run nodes of it."""

    def __init__(self, url: str | Path | Store, *, clock: Clock | None = None) -> None:
        super().__init__()
        self._url = url
        self._clock = clock or SystemClock()
        self.store: Store = open_store(url, clock=clock) if isinstance(url, str | Path) else url
        self.names = Names(self.store)
        self.pressure = Pressure(self.store, self._clock)
        self.store_clock = StoreClock(self.store, self._clock)
        self._enqueuer = Enqueuer(self.store, self.names, self._clock, self.pressure)
        self._firing = Firing(self.store, self._enqueuer, self.store_clock, self.entries)
        self._opened = 0
        self.sync = Bridge(self._again)
        """The same for callers without an event loop: `app.sync.enqueue(job)`."""

    def _again(self) -> "App":
        """This app on a store of its own, for another event loop."""
        if not isinstance(self._url, str | Path) or str(self._url) == ":memory:":
            raise ConfigError(
                "An app on a store in memory has no synchronous side.",
                "Use a file or PostgreSQL, or enqueue with `await`.",
            )
        twin = App(self._url)
        twin.kinds, twin.reports = self.kinds, self.reports
        return twin

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Connect, and bring the schema up to date."""
        self._opened += 1
        if self._opened > 1:
            return
        try:
            await self.store.open()
            await self._declare()
            for battery in self.batteries:
                await battery.open()
        except BaseException:
            self._opened -= 1
            raise

    async def _declare(self) -> None:
        for owner, folder in self.schemas.items():
            await self.store.migrate(owner, steps_of(folder, self.store.dialect))
        await self.store_clock.sync()
        self._enqueuer.allow(self.kinds)
        await self.names.learn(self.kinds, (kind.terms.lane for kind in self.kinds.values()))
        for name, kind in self.kinds.items():
            self.pressure.bound(self.names.kinds[name], kind.terms.queue_max)
        known = await self.store.read(limits.defined(sorted(self.limits)))
        for name, limit in self.limits.items():
            if name not in known:
                now = self.store_clock.now()
                await self.store.run(limits.define(limit, by="program", reason="declared", now=now))
        await self._firing.declare()

    async def close(self) -> None:
        """Let go of the store."""
        self._opened -= 1
        if self._opened == 0:
            for battery in self.batteries:
                await battery.close()
            for close in self.closers.values():
                await close()
            await self.store.close()

    async def enqueue(self, job: Job, **options: Any) -> Receipt:
        """Put one job in; returns when it is durable. Options as in `Job.options`."""
        return await self._enqueuer.one(job.options(**options) if options else job)

    async def enqueue_many(self, jobs: Sequence[Job], **options: Any) -> list[Receipt]:
        """Put many jobs in, in groups; each group is all or nothing."""
        if options:
            jobs = [job.options(**options) for job in jobs]
        return await self._enqueuer.many(jobs)

    async def enqueue_within(
        self, connection: object, jobs: Job | Sequence[Job], **options: Any
    ) -> list[Receipt]:
        """Put jobs in as part of the transaction the caller's `connection` is in.

        They exist when the caller commits. On SQLite a sqlite3 connection to the same file,
        on PostgreSQL an asyncpg or psycopg connection to the same database.
        """
        return await enqueue_within(self.store, connection, await self.rows_of(jobs, **options))

    async def rows_of(self, jobs: Job | Sequence[Job], **options: Any) -> list[NewJob]:
        """Jobs as rows, with their names resolved: what `enqueue_within` inserts."""
        wanted = [jobs] if isinstance(jobs, Job) else list(jobs)
        if options:
            wanted = [job.options(**options) for job in wanted]
        return await self._enqueuer.rows(wanted)

    def batch(self, name: str, *, overlap: Overlap | str = Overlap.WAIT) -> BatchRun:
        """A batch to open with `async with`; one at a time of each name unless allowed."""
        return BatchRun(
            self.store, self._enqueuer, self.store_clock, name, overlap=Overlap(overlap)
        )

    async def fire(self, schedule: str, *, message: str | None = None) -> Receipt:
        """Fire a schedule now; with a message id, once however often it is delivered."""
        return await self._firing.fire(schedule, message)

    async def raise_epoch(self, subject: str, to: int | None = None) -> int:
        """The subject has changed: results of jobs made for an older epoch become STALE."""
        return await self.store.run(epochs.raise_to(subject, to))

    async def rows(self, sql: str, params: Mapping[str, object] | None = None) -> list[Row]:
        """Read tables of your own migrations: one statement with named parameters (`:name`).

        Handlers write with `Done(writes=...)`, together with the job's outcome.
        """

        def script() -> Script[list[Row]]:
            return (yield Query("rows", params or {}, text=sql))

        return await self.store.read(script())

    @property
    def insights(self) -> Insights:
        """What an operator may ask: jobs, lanes, limits, batches, and why a job waits."""
        return Insights(self.store, self.kinds)

    @property
    def commands(self) -> Commands:
        """What an operator may do: retry, cancel, suspend, resume, pause, configure; audited."""
        return Commands(self.store, self.kinds)

    def node(self, options: NodeOptions | None = None, **given: Any) -> Node:
        """A worker of this app; start it, and stop it when done."""
        chosen = replace(options or NodeOptions(), **given)
        return Node(
            self.store,
            self.kinds,
            self.names,
            self._enqueuer,
            options=chosen,
            clock=self._clock,
            batteries=self.batteries,
            duties={
                **{f"duty {name}": tick for name, tick in self.duties.items()},
                "firing": self._firing.tick,
                "closing": Closing(self.store, self._enqueuer, self.store_clock, self.reports).fold,
            },
        )

    @asynccontextmanager
    async def working(self, **options: Any) -> AsyncIterator[Node]:
        """A node that works as long as the block runs."""
        async with self:
            node = self.node(**options)
            await node.start()
            try:
                yield node
            finally:
                await node.stop()

    async def drain(self, **options: Any) -> Departure:
        """Work until nothing is left that could run now."""
        async with self:
            node = self.node(**options)
            await node.start()
            try:
                while not await node.is_out_of_work():
                    await asyncio.sleep(0.01)
            finally:
                departure = await node.stop()
            return departure

    def run(self, *, until_idle: bool = False, **options: Any) -> Departure:
        """Run a node until SIGINT or SIGTERM (or until nothing is left to do); blocks.

        The first signal lets running work end within its grace, the second gives it back.
        """
        if until_idle:
            return asyncio.run(self.drain(**options))
        return asyncio.run(self._serve(options))

    async def _serve(self, options: dict[str, Any]) -> Departure:
        async with self:
            node = self.node(**options)
            await node.start()
            return await depart_on_signal(node)
