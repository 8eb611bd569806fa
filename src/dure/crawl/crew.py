"""The workers of a stage: how many there are, how they fare, and which of them rest.

A worker is a place to run one page. Their number follows use between two bounds, and one
that failed five times in a row rests, so that a stage in trouble slows down by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dure.core.adaptive import Bounds, Observation, worker_count
from dure.crawl.flow import Flow
from dure.crawl.spider import Crew as Size

FAILURES_MAX: Final = 5
REST_SECONDS: Final = 30.0
COOLDOWN_SECONDS: Final = 2.0
_SMOOTHING: Final = 0.2


@dataclass(slots=True)
class Worker:
    """One place to run a page."""

    failures: int = 0
    """In a row."""
    rests_until: float = 0.0


@dataclass(frozen=True, slots=True)
class CrewFigures:
    """A crew as people see it."""

    active: int
    count: int
    resting: int
    low: int
    high: int
    processed: int
    failed: int
    mean_seconds: float
    error_share: float
    last_activity: float | None
    """Monotonic moment."""


class Crew:
    """The workers of one stage on this node. Times are monotonic seconds, passed in."""

    def __init__(self, size: Size) -> None:
        self.low, self.high = size.low, size.high
        self.count = min(max(size.low, size.high // 2), size.high)
        self._free: list[Worker] = []
        self._resting: list[Worker] = []
        self.busy = 0
        self.processed = 0
        self.failed = 0
        self.mean = 0.0
        self.last_activity: float | None = None
        self._changed_at: float | None = None
        self._baseline = 0.0
        self._peak = 0
        self._seen = (0, 0)
        self.flow = Flow()
        self._refused: dict[Callable[[], None], None] = {}
        """Lanes that found no worker free, the longest waiting first."""

    def room(self) -> int:
        """How many workers are free."""
        return max(self.count - self.busy - self.flow.ahead - len(self._resting), 0)

    def refused(self, release: Callable[[], None]) -> None:
        """A lane found none: it is to be asked again when one is free."""
        self._refused[release] = None

    def begin(self) -> Worker:
        """A worker starts on a page."""
        self.busy += 1
        self._peak = max(self._peak, self.busy)
        return self._free.pop() if self._free else Worker()

    def end(self, worker: Worker, *, is_good: bool, took: float, now: float) -> None:
        """It is through with it."""
        self.busy -= 1
        self.processed += 1
        self.last_activity = now
        if is_good:
            # How long a failure took tells nothing of those that go well.
            self.mean += _SMOOTHING * (took - self.mean) if self.mean else took
            worker.failures = 0
        else:
            self.failed += 1
            worker.failures += 1
        if worker.failures >= FAILURES_MAX:
            worker.rests_until = now + REST_SECONDS
            worker.failures = 0
            self._resting.append(worker)
            return
        self._free.append(worker)
        self.release(1)

    def release(self, count: int) -> None:
        """Let as many lanes ask again as there are workers for."""
        while count > 0 and self._refused:
            release = next(iter(self._refused))
            del self._refused[release]
            release()
            count -= 1

    def tick(self, now: float) -> None:
        """Wake those that have rested, and let the number follow use."""
        rested = [worker for worker in self._resting if worker.rests_until <= now]
        if rested:
            self._resting = [worker for worker in self._resting if worker.rests_until > now]
            self._free.extend(rested)
        before = self.count
        self.count = worker_count(
            Bounds(self.low, self.high),
            self.count,
            observation=self._observe(),
            now=now,
            last_change=self._changed_at,
            cooldown=COOLDOWN_SECONDS,
        )
        if self.count != before:
            self._changed_at = now
        del self._free[max(self.count - self.busy, 0) :]
        self.release(self.room())

    def resize(self, low: int, high: int) -> None:
        """New bounds."""
        self.low, self.high = low, high
        self.count = min(max(self.count, low), high)
        self.release(self.room())

    @property
    def figures(self) -> CrewFigures:
        return CrewFigures(
            self.busy,
            self.count,
            len(self._resting),
            self.low,
            self.high,
            self.processed,
            self.failed,
            self.mean,
            self.failed / self.processed if self.processed else 0.0,
            self.last_activity,
        )

    def _observe(self) -> Observation:
        before, self._seen = self._seen, (self.processed, self.failed)
        ended = self.processed - before[0]
        if ended and self.mean:
            self._baseline = min(self._baseline * 1.01 or self.mean, self.mean)
        use = self._peak / self.count
        self._peak = self.busy
        return Observation(
            utilisation=min(use, 1.0),
            latency=self.mean,
            baseline_latency=self._baseline,
            error_share=(self.failed - before[1]) / ended if ended else 0.0,
        )
