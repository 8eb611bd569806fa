"""How many tokens a text will take, before anybody has counted them.

Characters by class with a coefficient each, corrected by what calls of the same model and
kind really took. What is set aside is the mean with a margin for its scatter, so that about
one call in twenty takes more; the settlement puts that right.
"""

import re
from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import Final

_CLASSES: Final = (
    (re.compile(r"[가-힣ᄀ-ᇿ㄰-㆏]"), 0.75),
    (re.compile(r"[一-鿿぀-ヿ]"), 1.0),
    (re.compile(r"[A-Za-z]"), 0.23),
    (re.compile(r"[0-9]"), 0.45),
    (re.compile(r"\s"), 0.08),
)
_OTHER: Final = 0.6
FRAME_TOKENS: Final = 12
"""What the shape of a conversation costs by itself."""
_WEIGHT: Final = 0.1
"""Of the latest call in the running ratio."""
_MARGIN: Final = 1.645
"""Standard deviations that 95 % of calls stay below."""
_RATIO_MIN: Final = 0.2
_RATIO_MAX: Final = 5.0
_PAIRS_MAX: Final = 1000


def raw(text: str) -> float:
    """Tokens by characters alone."""
    rest, total = len(text), 0.0
    for pattern, each in _CLASSES:
        count = len(text) - len(pattern.sub("", text))
        total += count * each
        rest -= count
    return total + rest * _OTHER


@dataclass(frozen=True, slots=True)
class Ratio:
    """Real tokens for each estimated one: the running mean and its variance. A value."""

    mean: float = 1.0
    variance: float = 0.01
    calls: int = 0

    def learn(self, estimated: float, actual: int) -> "Ratio":
        """The ratio after one more call."""
        if estimated <= 0 or actual <= 0:
            return self
        seen = min(max(actual / estimated, _RATIO_MIN), _RATIO_MAX)
        weight = max(_WEIGHT, 1.0 / (self.calls + 1))
        off = seen - self.mean
        mean = self.mean + weight * off
        variance = (1.0 - weight) * (self.variance + weight * off * off)
        return Ratio(mean, variance, min(self.calls + 1, 1_000_000))

    def reserve(self, estimated: float) -> int:
        """What to set aside for so many estimated tokens."""
        return ceil(estimated * min(self.mean + _MARGIN * sqrt(self.variance), _RATIO_MAX))


@dataclass(slots=True)
class Estimator:
    """Ratios by model and kind, as this process has seen them."""

    ratios: dict[tuple[str, str], Ratio] = field(default_factory=dict)

    def ratio(self, model: str, kind: str) -> Ratio:
        return self.ratios.get((model, kind), Ratio())

    def learn(self, model: str, kind: str, estimated: float, actual: int) -> None:
        if (model, kind) not in self.ratios and len(self.ratios) >= _PAIRS_MAX:
            return
        self.ratios[model, kind] = self.ratio(model, kind).learn(estimated, actual)
