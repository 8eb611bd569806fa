"""What happened on this node, counted as it happens: the source of metrics and adaptation."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from dure.core.state import Event

RATE_WINDOW_SECONDS: Final = 0.1
_WEIGHT: Final = 0.3
_RUN_WEIGHT: Final = 0.02

WAIT_BUCKETS: Final = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0, 600.0, float("inf"))


@dataclass(slots=True)
class Spread:
    """A histogram with fixed buckets."""

    counts: list[int] = field(default_factory=lambda: [0] * len(WAIT_BUCKETS))
    total: float = 0.0

    def add(self, seconds: float, count: int = 1) -> None:
        place = 0
        while seconds > WAIT_BUCKETS[place]:
            place += 1
        self.counts[place] += count
        self.total += seconds * count


class Tally:
    """Counters of one node since it started."""

    def __init__(self) -> None:
        self.events: Counter[tuple[str, Event]] = Counter()
        """(kind, event) → how often."""
        self.waits: dict[str, Spread] = {}
        """From enqueue to first start, by kind."""
        self.runs: dict[str, Spread] = {}
        """From start to answer, by kind."""
        self.refused = 0
        """Finishes that came too late: another worker holds the job."""
        self.claims = 0
        self.claimed = 0
        self.flushes = 0
        self.rate = 0.0
        """Jobs per second this node finishes, smoothed."""
        self.run_mean: float | None = None
        """Seconds an attempt takes, smoothed; None before the first."""
        self._since = 0.0
        self._recent = 0

    def ran(self, kind: str, seconds: float, count: int) -> None:
        """An attempt has ended after running for so long."""
        spread = self.runs.get(kind)
        if spread is None:
            spread = self.runs[kind] = Spread()
        spread.add(seconds, count)
        mean = self.run_mean
        self.run_mean = seconds if mean is None else mean + (seconds - mean) * _RUN_WEIGHT

    def finished(self, count: int, now: float) -> None:
        """Keep the rate up to date."""
        self._recent += count
        passed = now - self._since
        if passed >= RATE_WINDOW_SECONDS:
            measured = self._recent / passed if passed < 10 * RATE_WINDOW_SECONDS else 0.0
            self.rate += (measured - self.rate) * _WEIGHT
            self._since, self._recent = now, 0
