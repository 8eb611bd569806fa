"""A store in memory that fails on demand: before it does what it is asked, or after."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from dure.core.errors import ConfigError, StoreUnavailable
from dure.ports.clock import Clock
from dure.ports.rows import Applied, Ask, Change, Claim, Head, NewJob, Receipt
from dure.ports.store import Script
from dure.stores.sqlite import SqliteStore

T = TypeVar("T")

HOT: Final = ("enqueue", "claim", "apply")
"""The verbs that jobs go through; the others serve duties in the background."""
VERBS: Final = (*HOT, "heads", "beat", "run", "read")


class FaultyStore(SqliteStore):
    """SQLite in memory, without threads. `fail` and `lose` say which calls go wrong."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(":memory:", clock=clock, inline=True)
        self._failing: dict[str, int] = {}
        self._losing: dict[str, int] = {}
        self.is_away = False
        """Refuse everything, as a store does that cannot be reached."""
        self.calls: dict[str, int] = dict.fromkeys(VERBS, 0)

    def fail(self, *verbs: str, times: int = 1) -> None:
        """Let the next calls of each of these verbs fail without doing anything."""
        _add(self._failing, verbs, times)

    def lose(self, *verbs: str, times: int = 1) -> None:
        """Let the next calls of each of these verbs succeed, and lose their answers."""
        _add(self._losing, verbs, times)

    async def query(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]:
        """Run a statement of the test's own, for tables that `writes` and guards speak of."""
        return await self._submit(lambda c: c.execute(sql, params).fetchall())

    async def enqueue(self, jobs: Sequence[NewJob]) -> Sequence[Receipt]:
        return await self._through("enqueue", lambda: super(FaultyStore, self).enqueue(jobs))

    async def claim(self, worker: int, asks: Sequence[Ask]) -> Sequence[Claim]:
        return await self._through("claim", lambda: super(FaultyStore, self).claim(worker, asks))

    async def apply(self, changes: Sequence[Change]) -> Applied:
        return await self._through("apply", lambda: super(FaultyStore, self).apply(changes))

    async def heads(self, floor: int) -> Sequence[Head]:
        return await self._through("heads", lambda: super(FaultyStore, self).heads(floor))

    async def beat(self, worker: int, lease: float) -> bool:
        return await self._through("beat", lambda: super(FaultyStore, self).beat(worker, lease))

    async def run(self, script: Script[T]) -> T:
        return await self._through("run", lambda: super(FaultyStore, self).run(script))

    async def read(self, script: Script[T]) -> T:
        return await self._through("read", lambda: super(FaultyStore, self).run(script))

    async def _through(self, verb: str, call: Callable[[], Awaitable[T]]) -> T:
        self.calls[verb] += 1
        if self.is_away or _use_up(self._failing, verb):
            raise StoreUnavailable(f"The test lets `{verb}` fail.")
        answer = await call()
        if _use_up(self._losing, verb):
            raise StoreUnavailable(f"The test loses the answer of `{verb}`.")
        return answer


def _add(faults: dict[str, int], verbs: Sequence[str], times: int) -> None:
    for verb in verbs:
        if verb not in VERBS:
            raise ConfigError(f"A store has no verb {verb!r}.", f"It has {', '.join(VERBS)}.")
        faults[verb] = faults.get(verb, 0) + times


def _use_up(faults: dict[str, int], verb: str) -> bool:
    left = faults.get(verb, 0)
    if left:
        faults[verb] = left - 1
    return left > 0
