"""Choosing and claiming: whose turn, may it run, how many; then one round trip.

The next batch is fetched while this one runs, up to what the slots will get through in a
few dozen milliseconds: a loan from the queue that is kept small, so that other nodes find
work too and a crash leaves little behind.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dure.core.adaptive import Bounds, claim_size
from dure.core.backoff import NEVER
from dure.core.decide import Cause, Transition, decide
from dure.core.errors import StoreError
from dure.core.fairness import Rotation, Turn
from dure.core.state import Event
from dure.core.stream import kind_of, lane_of
from dure.engine.attempts.slots import Slots
from dure.engine.claiming.pacer import Pacer
from dure.engine.gates import Gate
from dure.engine.kind import ChunkKind, Kind
from dure.engine.tally import Spread, Tally
from dure.engine.work import Stop, Work
from dure.ports.clock import Clock
from dure.ports.rows import Ask, Change, Claim
from dure.ports.store import Standing, Store
from dure.scripts import upkeep

PREFETCH_SECONDS: Final = 0.05
"""How much work may wait in this node for a slot, by how long attempts take. The rate that
is reached would be the wrong measure: it is low exactly when too little is fetched ahead."""
_RUN_SECONDS_MIN: Final = 1e-6
_RETRY_SECONDS: Final = (0.05, 0.2, 0.5, 1.0, 2.0)
_DOUBT_MAX: Final = 5000
_STANDING_MAX: Final = 10_000
"""Streams in one standing order."""
_GIVE_BACK: Final = Cause(Event.GIVE_BACK)


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
        holds: Callable[[], set[tuple[int, int]]],
        is_held: Callable[[str], bool],
    ) -> None:
        self._store = store
        self._slots = slots
        self._rotation = rotation
        self._pacer = pacer
        self._clock = clock
        self._tally = tally
        self._kind_by_id = kind_by_id
        self._lane_name = lane_name
        self._holds = holds
        self._is_held = is_held
        self._wake = asyncio.Event()
        self.bounds = Bounds(50, 500)
        self.size = 50
        """Jobs to ask for at most, following how full and how dear the last claims were."""
        self.worker = 0
        """0 while there is no lease to claim under."""
        self.is_in_doubt = False
        """A claim failed: it may have been carried out all the same."""
        self._doubted: list[tuple[Turn, tuple[Gate, ...]]] = []
        """What it was admitted with; it counts as taken until the doubt is settled."""
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
            try:
                if self.is_in_doubt:
                    await self._settle_doubt()
                turns = self._turns() if self.worker else []
                if not turns:
                    self._stand()
                    await self._wake.wait()
                    continue
                self._store.stand(None)
                await self._claim([(turn, self._gates(turn)) for turn in turns])
            except StoreError as error:
                self.is_in_doubt = True
                self.trouble = error
                await asyncio.sleep(_RETRY_SECONDS[min(tries, len(_RETRY_SECONDS) - 1)])
                tries += 1
            else:
                self.trouble = None
                tries = 0
        if self.is_in_doubt:
            with contextlib.suppress(StoreError):  # then the sweeper does it
                await self._settle_doubt()

    def _stand(self) -> None:
        """Leave an order with the store while there is nothing to do here."""
        slots = self._slots
        if slots.waiting or slots.running or not self.worker or len(self._rotation):
            return
        streams = self._pacer.ungated()
        if streams and len(streams) <= _STANDING_MAX:
            self._store.stand(Standing(self.worker, streams, slots.size, self._received))

    def _received(self, claims: Sequence[Claim]) -> None:
        """Claims that came of a standing order."""
        if claims:
            self._tally.claims += 1
            self._tally.claimed += len(claims)
            self._dispatch(self._by_stream(claims), {})
        self.wake()

    async def _settle_doubt(self) -> None:
        """Give back what a claim took whose answer was lost: running here, known to nobody.

        No other claim of this node is under way meanwhile, so what the store says is ours and
        no part of the node holds can only be that. A job is held under its fence: an older attempt
        of the same job may still be on its way out here.
        """
        found = await self._store.run(upkeep.orphans(self.worker, _DOUBT_MAX))
        works = [*self._slots.running, *self._slots.waiting_work()]
        held = {(c.id, c.fence) for work in works for c in work.claims} | self._holds()
        changes = [
            Change(move, orphan.stream, batch=orphan.batch, key=orphan.key)
            for orphan in found
            if (orphan.id, orphan.fence) not in held
            and isinstance(move := decide(orphan, _GIVE_BACK, NEVER, 0.0, 0.0), Transition)
        ]
        if changes:
            await self._store.apply(changes)
        self.is_in_doubt = len(found) >= _DOUBT_MAX
        if not self.is_in_doubt:
            doubted, self._doubted = self._doubted, []
            for turn, gates in doubted:
                self._pacer.untake(gates, turn.quota)

    def _turns(self) -> list[Turn]:
        """The next claim, when there is enough room to make one worth while."""
        slots = self._slots
        free = slots.size - len(slots.running)
        ahead = 0
        if (run := self._tally.run_mean) is not None:
            could = PREFETCH_SECONDS * slots.size / max(run, _RUN_SECONDS_MIN)
            ahead = min(int(could), 2 * self.bounds.high)
        target = max(free, 0) + ahead
        room = target - slots.waiting
        if room <= 0 or (slots.waiting and room < min(self.bounds.low, target)):
            return []
        if self._pacer.is_freed:
            self._pacer.forget_refusals()
            self._rotation.release()
        return self._rotation.turns(min(room, self.size), self._may)

    def _may(self, stream: int, wanted: int) -> int:
        return self._pacer.admit(stream, wanted)

    def _gates(self, turn: Turn) -> tuple[Gate, ...]:
        """What a turn has just been admitted through."""
        return self._pacer.gates_of(turn.stream.number)

    async def _claim(self, admitted: list[tuple[Turn, tuple[Gate, ...]]]) -> None:
        asks = [Ask(turn.stream.number, turn.quota, turn.stream.mark) for turn, _ in admitted]
        started = self._clock.monotonic()
        try:
            claims = await self._store.claim(self.worker, asks)
        except StoreError:
            self._doubted.extend(admitted)
            raise
        self.size = claim_size(
            self.bounds,
            self.size,
            took=self._clock.monotonic() - started,
            got=len(claims),
            asked=sum(ask.quota for ask in asks),
            waiting=len(self._rotation) > 0,
        )
        self._tally.claims += 1
        self._tally.claimed += len(claims)
        found = self._by_stream(claims)
        for turn, gates in admitted:
            mine = found.get(turn.stream.number, ())
            self._rotation.served(turn, len(mine), mine[-1].pos if mine else 0)
            self._pacer.untake(gates, turn.quota - len(mine))
        if claims:
            self._dispatch(found, {turn.stream.number: gates for turn, gates in admitted})

    @staticmethod
    def _by_stream(claims: Sequence[Claim]) -> dict[int, list[Claim]]:
        found: dict[int, list[Claim]] = {}
        for claim in claims:
            stream = found.get(claim.stream)
            if stream is None:
                found[claim.stream] = [claim]
            else:
                stream.append(claim)
        return found

    def _dispatch(
        self, found: dict[int, list[Claim]], gates: Mapping[int, tuple[Gate, ...]]
    ) -> None:
        now = self._pacer.store_now()
        works: list[Work] = []
        for stream, claims in found.items():
            kind = self._kind_by_id(kind_of(stream))
            lane = self._lane_name(lane_of(stream))
            if kind.terms.chunk == 1:
                fresh = [Work(kind, [claim], lane) for claim in claims]
            else:
                fresh = self._chunks(kind, claims, lane)
            passed = gates.get(stream, ())
            if passed:
                for work in fresh:
                    work.gates = passed
            if kind.terms.tokens:
                lease = self._pacer.lease_of(stream)
                for work in fresh:
                    work.lease = lease
            for work in fresh:
                session = work.claims[0].session
                if session is not None and self._is_held(session):
                    work.interrupt(Stop.HELD)  # it slipped in while its session was being paused
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
