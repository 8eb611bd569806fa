"""How long to wait before trying again: a curve, a cap, and some noise.

All arithmetic, no clock and no dice: the caller passes `draw` in [0, 1).
"""

from dataclasses import dataclass
from typing import Final, Self

from dure.core.duration import Span, seconds_of


@dataclass(frozen=True, slots=True)
class Backoff:
    """One phase of waiting: `base * factor ** n`, at most `cap`, shortened by up to `jitter`.

    With jitter 0.5 a delay lies between half of the curve and the curve itself, so that a
    thousand jobs which failed together do not come back together.
    """

    base: float = 30.0
    factor: float = 2.0
    cap: float = 3600.0
    jitter: float = 0.0
    attempts: int | None = None
    """How many attempts this phase covers; the last phase covers all that are left."""

    def __post_init__(self) -> None:
        for name, value, low in (("base", self.base, 0.0), ("cap", self.cap, 0.0)):
            if not low <= value < float("inf"):
                raise ValueError(f"backoff {name} must be a finite number >= {low}, not {value}")
        if not 1.0 <= self.factor < float("inf"):
            raise ValueError(f"backoff factor must be a finite number >= 1, not {self.factor}")
        if not 0.0 <= self.jitter <= 1.0:
            raise ValueError(f"backoff jitter must lie in 0..1, not {self.jitter}")
        if self.attempts is not None and self.attempts < 1:
            raise ValueError(f"a backoff phase covers at least one attempt, not {self.attempts}")

    def delay(self, step: int, draw: float) -> float:
        """Seconds to wait after failure number `step` (from 0) of this phase."""
        try:
            curve = min(self.base * self.factor**step, self.cap)
        except OverflowError:  # the power has left the range of floats
            curve = self.cap if self.base else 0.0
        return curve * (1.0 - self.jitter * draw)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Which attempts a job gets and how far they lie apart.

    `phases` follow one another: a quick phase for hiccups, a slow one for outages.
    """

    max_attempts: int = 5
    phases: tuple[Backoff, ...] = (Backoff(),)
    lost: float | None = None
    """Seconds to wait after the worker died; None: as after any other failure."""

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts must be at least 1, not {self.max_attempts}")
        if not self.phases:
            raise ValueError("a retry policy needs at least one phase")
        if self.lost is not None and not 0.0 <= self.lost < float("inf"):
            raise ValueError(f"the delay after a lost lease must be finite, not {self.lost}")
        if any(phase.attempts is None for phase in self.phases[:-1]):
            raise ValueError("only the last phase may be open-ended; give the others `attempts`")

    @classmethod
    def of(
        cls,
        max_attempts: int = 5,
        *,
        base: Span = 30.0,
        factor: float = 2.0,
        cap: Span = 3600.0,
        jitter: float = 0.0,
        lost: Span | None = None,
    ) -> Self:
        """One phase, with durations as people write them."""
        phase = Backoff(seconds_of(base), factor, seconds_of(cap), jitter)
        return cls(max_attempts, (phase,), None if lost is None else seconds_of(lost))

    def is_spent(self, attempt: int) -> bool:
        """Whether a job that has used `attempt` attempts gets no more."""
        return attempt >= self.max_attempts

    def delay(self, attempt: int, draw: float, floor: float | None = None) -> float:
        """Seconds to wait after attempt number `attempt` (from 1) failed.

        `floor` is what the other side asked for (Retry-After); the policy never goes below it.
        """
        step = max(attempt - 1, 0)
        phase, *rest = self.phases
        for following in rest:
            if phase.attempts is None or step < phase.attempts:
                break
            step -= phase.attempts
            phase = following
        own = phase.delay(step, draw)
        return own if floor is None else max(own, floor)


NEVER: Final = RetryPolicy(max_attempts=1)
"""One attempt only."""
