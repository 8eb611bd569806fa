"""Recording what became of attempts: decide, gather, commit in groups.

Everything that finished while the last group was being committed makes the next group;
there is no timer. An answer that is lost on the way is asked for again: the store knows
what it has applied, so nothing is applied twice.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from dure.core.bounds import check_result
from dure.core.decide import SUCCEEDED, Cause, Transition, decide
from dure.core.errors import StoreError
from dure.core.outcome import DONE, Done, Fail, Outcome, Retry, Skip, Stale
from dure.core.state import Event, State
from dure.core.stream import with_priority
from dure.engine.attempts.disposition import cause_of, describe
from dure.engine.intake.enqueue import Enqueuer
from dure.engine.store_clock import StoreClock
from dure.engine.tally import Tally
from dure.engine.work import Stop, Work
from dure.ports.clock import Clock, Dice
from dure.ports.rows import Applied, Change, Claim, Effects
from dure.ports.store import Store

GROUP_MAX: Final = 1000
_RETRY_SECONDS: Final = (0.05, 0.2, 0.5, 1.0, 2.0)
_SPENDING: Final = frozenset({Event.RETRY, Event.TIMEOUT, Event.LEASE_LOST})
_TIMED_OUT: Final = "TimeoutError: the attempt ran longer than its timeout"


class Ended(NamedTuple):
    """One attempt that ended, and how."""

    claim: Claim
    work: Work
    outcome: Outcome | None
    """None when it was stopped."""
    cause: Cause


Settled = Callable[[Sequence[tuple[Ended, Change | None]]], None]
"""Called with attempts after their group was committed; None for those that wrote nothing."""


class Finisher:
    """Turns ended attempts into committed changes."""

    def __init__(
        self,
        store: Store,
        enqueuer: Enqueuer,
        *,
        clock: Clock,
        store_clock: StoreClock,
        dice: Dice,
        tally: Tally,
        on_settled: Settled,
    ) -> None:
        self._store = store
        self._enqueuer = enqueuer
        self._clock = clock
        self._store_clock = store_clock
        self._draw = dice.draw
        self._tally = tally
        self._on_settled = on_settled
        self._pending: list[Ended] = []
        self._committing: list[Ended] = []
        self._flusher: asyncio.Task[None] | None = None
        self._encode = msgspec.json.Encoder().encode
        self.is_lost: Callable[[], bool] = lambda: False
        """Whether the store said that our lease is over; only then is it no use to go on.

        A lease we merely cannot be sure of may hold, and then nobody else will ever end these
        attempts. If it does not, the fence refuses them.
        """
        self.trouble: StoreError | None = None
        """What the store last answered, while it refuses our groups."""

    @property
    def pending(self) -> int:
        """Attempts that ended but are not committed yet."""
        return len(self._pending) + (self._flusher is not None)

    def add(self, work: Work, answer: list[Outcome] | Stop) -> None:
        """Take what a slot has to say about a work."""
        now = self._clock.monotonic()
        if answer is Stop.TAKEN:
            self._on_settled(
                [(Ended(claim, work, None, _GIVEN_BACK), None) for claim in work.claims]
            )
            return
        if isinstance(answer, Stop):
            outcome, cause = None, _STOPS[answer]
            self._pending.extend(Ended(claim, work, outcome, cause) for claim in work.claims)
        else:
            for claim, outcome in zip(work.claims, answer, strict=True):
                cause = SUCCEEDED if outcome is DONE else cause_of(outcome)
                self._pending.append(Ended(claim, work, outcome, cause))
        work.ended = now
        if work.started:
            self._tally.ran(work.kind.name, now - work.started, len(work.claims))
        self._tally.finished(len(work.claims), now)
        if self._flusher is None:
            self._flusher = asyncio.get_running_loop().create_task(self._flush())

    def holds(self) -> set[tuple[int, int]]:
        """Jobs, with their fences, whose end is known here but not committed yet."""
        ended = (each.claim for each in (*self._pending, *self._committing))
        return {(claim.id, claim.fence) for claim in ended}

    async def drained(self) -> None:
        """Return when everything that ended has been committed or given up."""
        while self._flusher is not None:
            await asyncio.wait({self._flusher})

    async def close(self) -> None:
        """Give up what could not be committed."""
        if self._flusher is not None:
            self._flusher.cancel()
            await asyncio.wait({self._flusher})

    async def _flush(self) -> None:
        try:
            while self._pending:
                group, self._pending = self._pending[:GROUP_MAX], self._pending[GROUP_MAX:]
                self._committing = group
                await self._commit(group)
                self._committing = []
        finally:
            self._committing = []
            self._flusher = None

    async def _commit(self, group: list[Ended]) -> None:
        """Commit one group; jobs that turn out stale or broken are decided again."""
        while group:
            done = await self._apply(group)
            if done is None:
                self._on_settled([(ended, None) for ended in group])
                return
            pairs, applied = done
            self._tally.flushes += 1
            if not (applied.refused or applied.stale or applied.broken):
                self._on_settled(pairs)
                return
            group = []
            settled: list[tuple[Ended, Change | None]] = []
            for ended, change in pairs:
                job = ended.claim.id
                if job in applied.stale:
                    group.append(ended._replace(outcome=Stale(), cause=cause_of(Stale())))
                elif job in applied.broken:
                    broken = Retry(applied.broken[job])
                    group.append(ended._replace(outcome=broken, cause=cause_of(broken)))
                elif job in applied.refused:
                    self._tally.refused += 1
                    settled.append((ended, None))
                else:
                    settled.append((ended, change))
            self._on_settled(settled)

    async def _apply(self, group: list[Ended]) -> tuple[list[tuple[Ended, Change]], Applied] | None:
        """Decide once and apply, and keep trying while the store is away and our lease holds."""
        tries = 0
        pairs: list[tuple[Ended, Change]] | None = None
        while True:
            try:
                if pairs is None:
                    pairs = await self._changes(group)
                applied = await self._store.apply([change for _, change in pairs])
            except StoreError as error:
                self.trouble = error
                if not error.retryable or self.is_lost():
                    return None
                await asyncio.sleep(_RETRY_SECONDS[min(tries, len(_RETRY_SECONDS) - 1)])
                tries += 1
            else:
                self.trouble = None
                return pairs, applied

    async def _changes(self, group: list[Ended]) -> list[tuple[Ended, Change]]:
        pairs: list[tuple[Ended, Change]] = []
        now = self._store_clock.now()
        for ended in group:
            try:
                effects = None if ended.outcome is DONE else await self._effects(ended)
                pairs.append((ended, self._change(ended, now, effects)))
            except StoreError:
                raise
            except Exception as error:  # a handler may put anything into its answer
                again = _unstorable(ended, error)
                pairs.append((again, self._change(again, now, None)))
        return pairs

    def _change(self, ended: Ended, now: float, effects: Effects | None) -> Change:
        claim, terms = ended.claim, ended.work.kind.terms
        move = decide(claim, ended.cause, terms.retry, now, self._draw())
        assert isinstance(move, Transition), "every outcome of a running job is in the table"
        outcome = ended.outcome
        if move.to is not State.SUCCESS:
            stream = claim.stream
            if move.event in _SPENDING and terms.retry_priority is not None:
                stream = with_priority(stream, terms.retry_priority)
            return Change(move, stream, None, None, claim.batch, claim.key)
        result = None
        if isinstance(outcome, Done) and outcome.result is not None:
            encoded = self._encode(outcome.result)
            check_result(ended.work.kind.name, encoded)
            result = encoded.decode()
        return Change(
            move,
            claim.stream,
            result,
            effects,
            claim.batch,
            claim.key,
            claim.subject,
            claim.epoch,
            isinstance(outcome, Skip),
        )

    async def _effects(self, ended: Ended) -> Effects | None:
        """Writes and follow-ups; a follow-up knows its parent and stays in its session."""
        claim, done = ended.claim, ended.outcome
        if not isinstance(done, Done) or not (done.writes or done.then or done.guard is not None):
            return None
        jobs = [
            job.options(parent=job.how.parent or claim.id, session=job.how.session or claim.session)
            for job in done.then
        ]
        return Effects(done.writes, await self._enqueuer.rows(jobs) if jobs else (), done.guard)


def _unstorable(ended: Ended, error: Exception) -> Ended:
    """What ends an attempt whose answer cannot be carried out: another one would not help."""
    failed = Fail(f"the outcome cannot be stored: {describe(error)}")
    return ended._replace(outcome=failed, cause=cause_of(failed))


_GIVEN_BACK: Final = Cause(Event.GIVE_BACK)
_STOPS: Final = {
    Stop.TIMEOUT: Cause(Event.TIMEOUT, error=_TIMED_OUT),
    Stop.PAUSED: _GIVEN_BACK,
    # Due at once: whether its session is paused still, the store says. This node may not have
    # heard of the resume yet, and what it suspended now nobody would ever resume.
    Stop.HELD: Cause(Event.WAIT, reason="paused"),
    Stop.SHUTDOWN: _GIVEN_BACK,
}
