"""Slots that follow load: more while handlers keep up, fewer when they slow down or fail.

For nodes that are given a range (`slots_min`), and for kinds that are (`slots`). What "slow"
means is learned: the shortest mean run time seen lately, which is let go of little by little
so that a lasting change is accepted in the end.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from dure.core.adaptive import Bounds, Observation, worker_count
from dure.core.state import Event
from dure.engine.attempts.slots import Slots
from dure.engine.gates import Resource
from dure.engine.kind import AnyKind
from dure.engine.tally import Tally
from dure.ports.clock import Clock

_SECONDS: Final = 1.0
_COOLDOWN_SECONDS: Final = 5.0
_FORGETTING: Final = 1.01
_FAILURES: Final = frozenset({Event.RETRY, Event.TIMEOUT, Event.FAIL})


class Pace:
    """A number of slots, and what is remembered to decide on the next one."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._changed_at: float | None = None
        self._baseline = 0.0
        self._seen = (0, 0.0, 0, 0)

    def next(
        self, bounds: Bounds, size: int, *, busy: float, kinds: Iterable[str], now: float
    ) -> int:
        """The size from now on, by what became of attempts of these kinds since the last look."""
        observation = self._observe(busy, frozenset(kinds))
        chosen = worker_count(
            bounds,
            size,
            observation=observation,
            now=now,
            last_change=self._changed_at,
            cooldown=_COOLDOWN_SECONDS,
        )
        if chosen != size:
            self._changed_at = now
        return chosen

    def _observe(self, busy: float, kinds: frozenset[str]) -> Observation:
        runs = [spread for kind, spread in self._tally.runs.items() if kind in kinds]
        count = sum(sum(spread.counts) for spread in runs)
        seconds = sum(spread.total for spread in runs)
        events = [(e, n) for (kind, e), n in self._tally.events.items() if kind in kinds]
        ended = sum(number for _, number in events)
        failed = sum(number for event, number in events if event in _FAILURES)
        before, self._seen = self._seen, (count, seconds, ended, failed)
        fresh = count - before[0]
        latency = (seconds - before[1]) / fresh if fresh else 0.0
        if fresh:
            floor = self._baseline * _FORGETTING if self._baseline else latency
            self._baseline = min(floor, latency) or latency
        ended_now = ended - before[2]
        return Observation(
            utilisation=busy,
            latency=latency or self._baseline,
            baseline_latency=self._baseline,
            error_share=(failed - before[3]) / ended_now if ended_now else 0.0,
        )


class Adaptation:
    """Moves the number of slots, of the node and of single kinds, within bounds."""

    def __init__(
        self,
        slots: Slots,
        tally: Tally,
        clock: Clock,
        *,
        kinds: Mapping[str, AnyKind],
        shares: Mapping[str, Resource],
        freed: Callable[[], None],
    ) -> None:
        self._slots = slots
        self._tally = tally
        self._monotonic = clock.monotonic
        self._kinds = kinds
        self._shares = shares
        self._freed = freed
        self.bounds: Bounds | None = None
        self._pace = Pace(tally)
        self._paces: dict[str, Pace] = {}

    async def tick(self) -> float:
        """Look at the last second and decide."""
        now = self._monotonic()
        if self.bounds is not None:
            slots = self._slots
            busy = 1.0 if slots.waiting else _share(len(slots.running), slots.size)
            size = self._pace.next(self.bounds, slots.size, busy=busy, kinds=self._kinds, now=now)
            if size != slots.size:
                slots.resize(size)
        for name, share in self._shares.items():
            self._adapt(name, share, now)
        return _SECONDS

    def _adapt(self, name: str, share: Resource, now: float) -> None:
        bounds = self._kinds[name].terms.slots
        if bounds is None:
            return
        pace = self._paces.setdefault(name, Pace(self._tally))
        busy = _share(share.used, share.size)
        size = pace.next(Bounds(*bounds), share.size, busy=busy, kinds=[name], now=now)
        if size > share.size:
            self._freed()
        share.size = size


def _share(used: int, size: int) -> float:
    return used / size if size else 0.0
