"""Time and chance enter here and nowhere else."""

import random
import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks: `now` names moments, `monotonic` measures how long something took."""

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed point of this process."""
        ...


class Dice(Protocol):
    def draw(self) -> float:
        """A number in [0, 1)."""
        ...


class SystemClock:
    """The machine's clocks."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)


class SystemDice:
    """The machine's randomness; spreading load needs no secrecy."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)  # noqa: S311
        self.draw = self._random.random
