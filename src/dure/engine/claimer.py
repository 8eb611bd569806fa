"""Choosing and claiming: whose turn, may it run, how many; then one round trip.

The next batch is fetched while this one runs, up to what the slots will get through in a
few dozen milliseconds: a loan from the queue that is kept small, so that other nodes find
work too and a crash leaves little behind.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from dure.core.adaptive import Bounds
from dure.core.errors import StoreError
from dure.core.fairness import Rotation, Turn
from dure.core.stream import kind_of, lane_of
from dure.engine.kind import ChunkKind, Kind
from dure.engine.pacer import Pacer
from dure.engine.slots import Slots
from dure.engine.tally import Spread, Tally
from dure.engine.work import Work
from dure.ports.clock import Clock
from dure.ports.rows import Ask, Claim
from dure.ports.store import Store

PREFETCH_SECONDS: Final = 0.05
"""How much work, by the present rate, may wait in this node for a slot."""
_RETRY_SECONDS: Final = (0.05, 0.2, 0.5, 1.0, 2.0)
_TURNS_MAX: Final = 500
"""Index probes in one claim."""


class Claimer:
    """Keeps the slots supplied."""

    def __init__(
        self,
        store: Store,
        slots: Slots,
        rotation: Rotation,
        pacer: Pacer,
        *,
        clock: Clock,
        tally: Tally,
        kind_by_id: Callable[[int], Kind[Any, Any] | ChunkKind[Any]],
        lane_name: Callable[[int], str],
    ) -> None:
        self._store = store
        self._slots = slots
        self._rotation = rotation
        self._pacer = pacer
        self._clock = clock
        self._tally = tally
        self._kind_by_id = kind_by_id
        self._lane_name = lane_name
        self._wake = asyncio.Event()
        self.bounds = Bounds(50, 500)
        self.worker = 0
        self.is_stopping = False
        self.trouble: StoreError | None = None

    def wake(self) -> None:
        """Something changed: work arrived, a slot came free, a gate opened."""
        self._wake.set()

    async def run(self) -> None:
        """Claim until told to stop."""
        tries = 0
        while not self.is_stopping:
            self._wake.clear()
            turns = self._turns()
            if not turns:
                await self._wake.wait()
                continue
            try:
                await self._claim(turns)
            except StoreError as error:
                self.trouble = error
                self._untake(turns)
                await asyncio.sleep(_RETRY_SECONDS[min(tries, len(_RETRY_SECONDS) - 1)])
                tries += 1
            else:
                self.trouble = None
                tries = 0

    def _turns(self) -> list[Turn]:
        """The next claim, when there is enough room to make one worth while."""
        slots = self._slots
        free = slots.size - len(slots.running)
        ahead = min(int(self._tally.rate * PREFETCH_SECONDS), 2 * self.bounds.high)
        target = max(free, 0) + ahead
        room = target - slots.waiting
        if room <= 0 or (slots.waiting and room < min(self.bounds.low, target)):
            return []
        if self._pacer.is_freed:
            self._pacer.is_freed = False
            self._rotation.release()
        return self._rotation.turns(min(room, self.bounds.high), self._may)

    def _may(self, stream: int, wanted: int) -> int:
        return self._pacer.admit(stream, wanted)

    def _untake(self, turns: list[Turn]) -> None:
        for turn in turns:
            self._pacer.untake(turn.stream.number, turn.quota)

    async def _claim(self, turns: list[Turn]) -> None:
        asks = [Ask(turn.stream.number, turn.quota, turn.stream.mark) for turn in turns]
        claims = await self._store.claim(self.worker, asks)
        self._tally.claims += 1
        self._tally.claimed += len(claims)
        found: dict[int, list[Claim]] = {}
        for claim in claims:
            stream = found.get(claim.stream)
            if stream is None:
                found[claim.stream] = [claim]
            else:
                stream.append(claim)
        for turn in turns:
            mine = found.get(turn.stream.number, ())
            self._rotation.served(turn, len(mine), mine[-1].pos if mine else 0)
            if len(mine) < turn.quota:
                self._pacer.untake(turn.stream.number, turn.quota - len(mine))
        if claims:
            self._dispatch(found)

    def _dispatch(self, found: dict[int, list[Claim]]) -> None:
        now = self._pacer.store_now()
        works: list[Work] = []
        for stream, claims in found.items():
            kind = self._kind_by_id(kind_of(stream))
            lane = self._lane_name(lane_of(stream))
            if kind.terms.chunk == 1:
                fresh = [Work(kind, [claim], lane) for claim in claims]
            else:
                fresh = self._chunks(kind, claims, lane)
            if kind.terms.tokens:
                lease = self._pacer.lease_of(stream)
                for work in fresh:
                    work.lease = lease
            works.extend(fresh)
            self._note_waits(kind.name, claims, now)
        self._slots.put(works)

    @staticmethod
    def _chunks(
        kind: Kind[Any, Any] | ChunkKind[Any], claims: list[Claim], lane: str
    ) -> list[Work]:
        size = kind.terms.chunk
        return [Work(kind, claims[i : i + size], lane) for i in range(0, len(claims), size)]

    def _note_waits(self, kind: str, claims: list[Claim], now: float) -> None:
        waits = self._tally.waits.get(kind)
        if waits is None:
            waits = self._tally.waits[kind] = Spread()
        waits.add(max(now - claims[0].enqueued_at, 0.0), len(claims))
