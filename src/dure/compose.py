"""The composition root: a URL becomes a store, and an `App` ties everything to it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from dure.core.errors import ConfigError, UrlInvalid
from dure.core.job import Job
from dure.engine.declare import Declarations
from dure.engine.enqueue import Enqueuer
from dure.engine.names import Names
from dure.engine.node import Departure, Node, NodeOptions
from dure.engine.pressure import Pressure
from dure.ports.clock import Clock, SystemClock
from dure.ports.rows import Receipt
from dure.ports.store import Store


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
        self._clock = clock or SystemClock()
        self.store: Store = open_store(url, clock=clock) if isinstance(url, str | Path) else url
        self.names = Names(self.store)
        self.pressure = Pressure(self.store, self._clock)
        self._enqueuer = Enqueuer(self.store, self.names, self._clock, self.pressure)
        self._opened = 0

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
        except BaseException:
            self._opened -= 1
            raise

    async def _declare(self) -> None:
        self._enqueuer.allow(self.kinds)
        await self.names.learn(self.kinds, (kind.terms.lane for kind in self.kinds.values()))
        for name, kind in self.kinds.items():
            self.pressure.bound(self.names.kinds[name], kind.terms.queue_max)

    async def close(self) -> None:
        """Let go of the store."""
        self._opened -= 1
        if self._opened == 0:
            await self.store.close()

    async def enqueue(self, job: Job, **options: Any) -> Receipt:
        """Put one job in; returns when it is durable. Options as in `Job.options`."""
        return await self._enqueuer.one(job.options(**options) if options else job)

    async def enqueue_many(self, jobs: Sequence[Job], **options: Any) -> list[Receipt]:
        """Put many jobs in, in groups; each group is all or nothing."""
        if options:
            jobs = [job.options(**options) for job in jobs]
        return await self._enqueuer.many(jobs)

    def node(self, options: NodeOptions | None = None, **given: Any) -> Node:
        """A worker of this app; start it, and stop it when done."""
        chosen = replace(options or NodeOptions(), **given)
        return Node(
            self.store, self.kinds, self.names, self._enqueuer, options=chosen, clock=self._clock
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
                while not (node.is_idle and not await self.store.heads(0) and node.is_idle):
                    await asyncio.sleep(0.01)
            finally:
                departure = await node.stop()
            return departure
