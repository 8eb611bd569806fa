"""What the engine needs stored: three hot verbs, and scripts for everything else.

The hot verbs (`enqueue`, `claim`, `apply`) are written natively for each store. All colder
work is a *script*: a generator that yields named queries and receives rows. A store runs
a script in one transaction, so the logic exists once and behaves the same on both.
"""

from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from typing import NamedTuple, Protocol, TypeVar

from dure.ports.rows import (
    Applied,
    Ask,
    Change,
    Claim,
    Head,
    Migration,
    NewJob,
    Query,
    Receipt,
    Row,
)

T = TypeVar("T")

Script = Generator[Query, list[Row], T]
"""Yields queries, receives their rows, returns an answer; runs in one transaction."""


class Hint(NamedTuple):
    """Something may have changed. A hint can be lost, doubled or late; nothing rests on it."""

    topic: str
    """`streams`: work arrived; `control`: lanes, pauses or settings; `jobs`: jobs were taken
    away from their workers; `scan`: something happened elsewhere."""
    streams: Sequence[int] = ()


class Standing(NamedTuple):
    """What an idle node would claim at once, left with the store in advance.

    A store that can will insert and claim in one commit; the order is used up by that.
    """

    worker: int
    streams: frozenset[int]
    """Streams that nothing holds back."""
    room: int
    deliver: Callable[[Sequence[Claim]], None]
    """Called on the node's loop when the commit is durable."""


class Beater(Protocol):
    """Renews a lease from a thread that handlers cannot block."""

    def beat(self, worker: int, lease: float) -> bool:
        """Renew; False when the worker was declared dead. Raises StoreUnavailable."""
        ...

    def close(self) -> None: ...


class Store(Protocol):
    """A place where jobs live. SQLite and PostgreSQL implement it; one suite tests both."""

    @property
    def dialect(self) -> str:
        """`sqlite` or `postgres`."""
        ...

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        ...

    async def open(self, *, migrate: bool = True) -> None:
        """Connect and bring the schema up to date. Raises SchemaAhead, SchemaBehind."""
        ...

    async def migrate(self, owner: str, steps: Sequence[Migration]) -> None:
        """Bring the tables of a battery or an application up to date, with the engine's.

        Whether missing steps are run or refused was said when the store was opened.
        """
        ...

    async def close(self) -> None: ...

    async def now(self) -> float:
        """The store's clock, in epoch seconds; the only one leases and due times obey."""
        ...

    async def enqueue(self, jobs: Sequence[NewJob]) -> Sequence[Receipt]:
        """Insert jobs, all or none; they are durable on return. Order is kept."""
        ...

    async def claim(self, worker: int, asks: Sequence[Ask]) -> Sequence[Claim]:
        """Hand waiting jobs to a worker, each under a new fence."""
        ...

    def stand(self, order: Standing | None) -> None:
        """Leave or withdraw a standing order. A store may ignore it."""
        ...

    async def apply(self, changes: Sequence[Change]) -> Applied:
        """Carry out decided transitions with their effects, each once, under its fence."""
        ...

    async def heads(self, floor: int) -> Sequence[Head]:
        """Every stream with waiting jobs at position `floor` or later."""
        ...

    async def beat(self, worker: int, lease: float) -> bool:
        """Renew a worker's lease; False when it was declared dead."""
        ...

    def beater(self) -> Beater:
        """The same from another thread."""
        ...

    async def run(self, script: Script[T]) -> T:
        """Run a script in one transaction."""
        ...

    async def read(self, script: Script[T]) -> T:
        """Run a script that only reads, apart from the hot path."""
        ...

    async def hint(self, hint: Hint) -> None:
        """Tell all nodes that something changed; may be lost."""
        ...

    def hints(self) -> AsyncGenerator[Hint, None]:
        """Hints from this and other nodes."""
        ...
