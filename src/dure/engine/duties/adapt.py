"""Slots that follow load: more while handlers keep up, fewer when they slow down or fail.

Only for nodes that are given a range (`slots_min`). What "slow" means is learned: the
shortest mean run time seen lately, which is let go of little by little so that a lasting
change is accepted in the end.
"""

from typing import Final

from dure.core.adaptive import Bounds, Observation, worker_count
from dure.core.state import Event
from dure.engine.attempts.slots import Slots
from dure.engine.tally import Tally
from dure.ports.clock import Clock

_SECONDS: Final = 1.0
_COOLDOWN_SECONDS: Final = 5.0
_FORGETTING: Final = 1.01
_FAILURES: Final = frozenset({Event.RETRY, Event.TIMEOUT, Event.FAIL})


class Adaptation:
    """Moves the number of slots within bounds."""

    def __init__(self, slots: Slots, tally: Tally, clock: Clock) -> None:
        self._slots = slots
        self._tally = tally
        self._monotonic = clock.monotonic
        self.bounds: Bounds | None = None
        self._changed_at: float | None = None
        self._baseline = 0.0
        self._seen = (0, 0.0, 0, 0)

    async def tick(self) -> float:
        """Look at the last second and decide."""
        if self.bounds is None:
            return _SECONDS
        slots = self._slots
        observation = self._observe(slots)
        now = self._monotonic()
        size = worker_count(
            self.bounds,
            slots.size,
            observation=observation,
            now=now,
            last_change=self._changed_at,
            cooldown=_COOLDOWN_SECONDS,
        )
        if size != slots.size:
            slots.resize(size)
            self._changed_at = now
        return _SECONDS

    def _observe(self, slots: Slots) -> Observation:
        runs = self._tally.runs.values()
        count = sum(sum(spread.counts) for spread in runs)
        seconds = sum(spread.total for spread in runs)
        events = self._tally.events.items()
        ended = sum(number for _, number in events)
        failed = sum(number for (_, event), number in events if event in _FAILURES)
        before, self._seen = self._seen, (count, seconds, ended, failed)
        fresh = count - before[0]
        latency = (seconds - before[1]) / fresh if fresh else 0.0
        if fresh:
            floor = self._baseline * _FORGETTING if self._baseline else latency
            self._baseline = min(floor, latency) or latency
        busy = len(slots.running) / slots.size if slots.size else 0.0
        if slots.waiting:
            busy = 1.0
        ended_now = ended - before[2]
        return Observation(
            utilisation=busy,
            latency=latency or self._baseline,
            baseline_latency=self._baseline,
            error_share=(failed - before[3]) / ended_now if ended_now else 0.0,
        )
