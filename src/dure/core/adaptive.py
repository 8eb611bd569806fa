"""How much to take at once and how many to work with, adjusted step by step from what was seen.

Both controllers are pure: what they saw goes in, the next size comes out. Between what makes
them grow and what makes them shrink lies a range in which they rest, so that they settle when
nothing around them changes.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

_CHEAP_SECONDS: Final = 0.05
"""A claim up to this long may grow to the double and still not be slow."""

_SLOW_SECONDS: Final = 0.2
"""A claim longer than this holds up the jobs that are ready behind it."""

_BUSY: Final = 0.8
_IDLE: Final = 0.3
_ERROR_SHARE_MAX: Final = 0.2
_LATENCY_NEAR: Final = 1.25
_LATENCY_MAX: Final = 2.0
_STEPS_TO_MAX: Final = 8
"""Growing from the smallest to the largest number of workers takes about this many changes."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The smallest and the largest size allowed."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high:
            raise ValueError(f"bounds must satisfy 1 <= low <= high, not {self.low}..{self.high}")

    def clamp(self, size: int) -> int:
        """The size nearest to `size` that is allowed."""
        return min(max(size, self.low), self.high)


class Observation(NamedTuple):
    """What the workers did since the last look."""

    utilisation: float
    """Share of their time spent in jobs, 0..1."""
    latency: float
    """Seconds a job takes now."""
    baseline_latency: float
    """Seconds a job takes under light load; 0 while that is not known."""
    error_share: float
    """Share of attempts that failed, 0..1."""


def claim_size(
    bounds: Bounds, previous: int, *, took: float, got: int, asked: int, waiting: bool
) -> int:
    """How many jobs to claim in the next round trip.

    The last one asked for `asked`, got `got` and took `took` seconds; `waiting` says whether
    more jobs are ready behind them. Full and cheap claims with more behind them double the
    size, for each round trip has a fixed price. A short claim with nothing behind it means
    light load: the size halves towards what there was, so that jobs do not sit in one node
    while others are idle. A slow claim loses a quarter.
    """
    size = bounds.clamp(previous)
    if took > _SLOW_SECONDS:
        return bounds.clamp(size - max(size // 4, 1))
    if got < asked and not waiting:
        return bounds.clamp(min(size, (size + got) // 2))
    if got >= asked >= size and waiting and took <= _CHEAP_SECONDS:
        return bounds.clamp(size * 2)
    return size


def worker_count(
    bounds: Bounds,
    current: int,
    *,
    observation: Observation,
    now: float,
    last_change: float | None,
    cooldown: float,
) -> int:
    """How many workers there should be: up by a step, down by a quarter in trouble, else slowly.

    Trouble is more than one failure in five attempts, or jobs taking twice as long as under
    light load: then more workers make it worse. Nothing changes within `cooldown` seconds of
    the last change, whose effect is not yet visible, unless new bounds demand it.
    """
    count = bounds.clamp(current)
    resting = last_change is not None and now - last_change < cooldown
    if resting or count != current:
        return count
    if _is_in_trouble(observation):
        return bounds.clamp(count - max(count // 4, 1))
    if observation.utilisation > _BUSY and _is_near_baseline(observation):
        return bounds.clamp(count + max((bounds.high - bounds.low) // _STEPS_TO_MAX, 1))
    if observation.utilisation < _IDLE:
        return bounds.clamp(count - 1)
    return count


def _is_in_trouble(seen: Observation) -> bool:
    return seen.error_share > _ERROR_SHARE_MAX or _slowdown(seen) > _LATENCY_MAX


def _is_near_baseline(seen: Observation) -> bool:
    return _slowdown(seen) <= _LATENCY_NEAR


def _slowdown(seen: Observation) -> float:
    return seen.latency / seen.baseline_latency if seen.baseline_latency > 0 else 1.0
