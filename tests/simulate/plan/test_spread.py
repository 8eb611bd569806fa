"""Lengths as people name them, and what is drawn from them. X22"""

import random
from statistics import mean, quantiles

import pytest

from dure.simulate.plan.spread import Spread


@pytest.mark.parametrize(
    ("text", "lowest", "average", "p50", "p99"),
    [
        ("2s", 2.0, 2.0, 2.0, 2.0),
        ("1s..3s", 1.0, 2.0, 2.0, 2.98),
        ("mean 2s", 0.0, 2.0, 1.386, 9.21),
        ("p50 200ms p99 2s", 0.0, 0.3264, 0.2, 2.0),
    ],
)
def test_what_is_drawn_is_what_was_said(
    text: str, lowest: float, average: float, p50: float, p99: float
) -> None:
    spread = Spread.parse(text)
    draw = spread.draws(random.Random(5))

    drawn = [draw() for _ in range(50_000)]

    cuts = quantiles(drawn, n=100)
    assert min(drawn) >= lowest
    assert (average, p50, p99) == pytest.approx((mean(drawn), cuts[49], cuts[98]), rel=0.04)


@pytest.mark.parametrize("text", ["", "fast", "2s..1s", "mean 0s", "p50 2s p99 1s", "-1s", "..2s"])
def test_what_is_no_length_names_the_ways_there_are(text: str) -> None:
    with pytest.raises(ValueError, match="write '2s', '1s"):
        Spread.parse(text)
