"""How long an attempt takes: always the same, or drawn from a spread that people can name.

| text                  | meaning                                                        |
|-----------------------|----------------------------------------------------------------|
| `2s`                  | always 2 seconds                                               |
| `1s..3s`              | anything between, all equally likely                           |
| `mean 2s`             | exponential: mostly short, sometimes several times as long     |
| `p50 2s p99 10s`      | lognormal: half take 2 s or less, one in a hundred over 10 s   |
"""

import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

from dure.core.duration import seconds_of

Draw = Callable[[], float]
"""The next length, in seconds."""

_P99: Final = 2.3263478740408408
"""Standard deviations of a normal distribution that one value in a hundred exceeds."""

_WAYS: Final = "write '2s', '1s..3s', 'mean 2s' or 'p50 2s p99 10s'"
_QUANTILES: Final = re.compile(r"p50\s+(\S+),?\s+p99\s+(\S+)")


@dataclass(frozen=True, slots=True)
class Spread:
    """Lengths of time: `low` to `high` evenly, or by the median and the tail."""

    shape: str
    low: float
    high: float
    """The highest; for an exponential the same as `low`, its mean; for a lognormal its p99."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what people write. Raises ValueError with the ways there are."""
        text = text.strip()
        quantiles = _QUANTILES.fullmatch(text)
        try:
            if quantiles is not None:
                return cls._checked("lognormal", *map(seconds_of, quantiles.groups()))
            if text.startswith("mean "):
                mean = seconds_of(text.removeprefix("mean "))
                return cls._checked("exponential", mean, mean)
            low, dots, high = text.partition("..")
            shape = "even" if dots else "fixed"
            return cls._checked(shape, seconds_of(low), seconds_of(high if dots else low))
        except ValueError as error:
            raise ValueError(f"cannot read {text!r} as a length: {error}; {_WAYS}") from None

    @classmethod
    def _checked(cls, shape: str, low: float, high: float) -> Self:
        if high < low:
            raise ValueError(f"{high:g}s is less than {low:g}s")
        if shape in {"lognormal", "exponential"} and low <= 0:
            raise ValueError("the middle of a spread must be longer than nothing")
        return cls(shape, low, high)

    def draws(self, dice: random.Random) -> Draw:
        """An endless row of lengths."""
        low, high = self.low, self.high
        match self.shape:
            case "lognormal":
                mu, sigma = math.log(low), self._sigma
                return lambda: dice.lognormvariate(mu, sigma)
            case "exponential":
                return lambda: dice.expovariate(1.0 / low)
            case "even":
                return lambda: dice.uniform(low, high)
            case _:
                return lambda: low

    @property
    def _sigma(self) -> float:
        return math.log(self.high / self.low) / _P99
