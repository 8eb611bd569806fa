"""One host's way to the store: calls are late, refused, or done with the answer lost.

The store itself is real and never at fault. Every call that reached it is shown to the
auditor at once, before anything else can happen.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

from dure.core.errors import StoreUnavailable
from dure.ports.rows import Applied, Ask, Change, Claim, Head, Migration, NewJob, Receipt
from dure.ports.store import Beater, Hint, Script, Standing, Store
from dure.scripts import limits
from dure.simulate.faults.auditor import Auditor
from dure.simulate.faults.weather import Weather

T = TypeVar("T")

_HINTS_MAX: Final = 1000


class FaultyStore:
    """The store as one host sees it."""

    dialect = "sqlite"

    def __init__(self, store: Store, host: str, weather: Weather, auditor: Auditor) -> None:
        self._store = store
        self._host = host
        self._weather = weather
        self._auditor = auditor
        self._order: Standing | None = None
        self._hints: asyncio.Queue[Hint] = asyncio.Queue(_HINTS_MAX)

    @property
    def url(self) -> str:
        return self._store.url

    async def open(self, *, migrate: bool = True) -> None:
        """The fleet opens the store."""

    async def migrate(self, owner: str, steps: Sequence[Migration]) -> None:
        await self._store.migrate(owner, steps)

    async def close(self) -> None:
        """The fleet closes the store."""

    async def now(self) -> float:
        return await self._call(self._store.now)

    async def enqueue(self, jobs: Sequence[NewJob]) -> Sequence[Receipt]:
        return await self._call(lambda: self._enqueue(jobs), "enqueue")

    async def _enqueue(self, jobs: Sequence[NewJob]) -> Sequence[Receipt]:
        """With this host's own standing order; those of other hosts lie with their stores."""
        order, self._order = self._order, None
        self._store.stand(order)
        return await self._store.enqueue(jobs)

    def stand(self, order: Standing | None) -> None:
        self._order = order

    async def claim(self, worker: int, asks: Sequence[Ask]) -> Sequence[Claim]:
        return await self._call(lambda: self._store.claim(worker, asks), "claim")

    async def apply(self, changes: Sequence[Change]) -> Applied:
        return await self._call(lambda: self._store.apply(changes), "apply", changes)

    async def heads(self, floor: int) -> Sequence[Head]:
        return await self._call(lambda: self._store.heads(floor))

    async def beat(self, worker: int, lease: float) -> bool:
        return await self._call(lambda: self._store.beat(worker, lease))

    def beater(self) -> Beater:
        return self._store.beater()

    async def run(self, script: Script[T]) -> T:
        generator: Any = script
        unused: Sequence[limits.Unused] = ()
        if generator.gi_code is limits.release.__code__:
            unused = generator.gi_frame.f_locals["unused"]
        is_booking = generator.gi_code is limits.acquire.__code__

        async def run() -> T:
            answer = await self._store.run(script)
            if is_booking and isinstance(answer, dict):
                self._auditor.booked(answer)
            self._auditor.unbooked(unused)
            return answer

        try:
            return await self._call(run, generator.gi_code.co_qualname)
        finally:
            script.close()

    async def read(self, script: Script[T]) -> T:
        try:
            return await self._call(lambda: self._store.read(script))
        finally:
            script.close()

    async def hint(self, hint: Hint) -> None:
        await self._store.hint(hint)

    async def hints(self) -> AsyncGenerator[Hint, None]:
        while True:
            yield await self._hints.get()

    def hear(self, hint: Hint) -> None:
        """A hint is on its way to this host: it arrives once, twice or never."""
        for _ in range(self._weather.copies()):
            loop = asyncio.get_running_loop()
            loop.call_later(self._weather.delay(), self._arrive, hint)

    def _arrive(self, hint: Hint) -> None:
        if not self._hints.full():
            self._hints.put_nowait(hint)

    async def _call(
        self,
        operation: Callable[[], Coroutine[Any, Any, T]],
        verb: str = "",
        changes: Sequence[Change] = (),
    ) -> T:
        if self._weather.is_over:
            raise asyncio.CancelledError
        trip = self._weather.trip()
        await asyncio.sleep(trip.out)
        if trip.is_refused or self._is_cut_off():
            raise StoreUnavailable("The store was away before it heard of this.")
        try:
            answer = await operation()
        finally:
            if verb:
                self._auditor.observe(self._host, verb, changes)
        await asyncio.sleep(trip.back)
        if trip.is_lost or self._is_cut_off():
            raise StoreUnavailable("The store did this, and its answer was lost.")
        return answer

    def _is_cut_off(self) -> bool:
        return self._weather.is_cut_off(self._host, asyncio.get_running_loop().time())
