"""Naive Bayes over the letters of a text: small, fast, and trained in seconds.

Weights are log odds of a label against the rest, in hundredths, for the character n-grams
that say most. What comes with Dure knows whether a Korean review is kind; for labels of
your own use `train`.
"""

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from math import exp, log
from typing import Final

import msgspec

GRAMS_MAX: Final = 3
FEATURES_MAX: Final = 60_000
TEXT_MAX: Final = 5_000
_SCALE: Final = 100.0
_SMOOTHING: Final = 0.5
_COUNT_MIN: Final = 3


@dataclass(frozen=True, slots=True)
class Judgement:
    """A label, and how sure the classifier is of it."""

    label: str
    probability: float
    by_label: Mapping[str, float] = field(default_factory=dict)


class Classifier(msgspec.Struct, frozen=True):
    """Weights by n-gram, one for each label."""

    version: str
    labels: tuple[str, ...]
    prior: tuple[int, ...]
    weights: dict[str, tuple[int, ...]]

    def __call__(self, text: str) -> Judgement:
        """What a text is most likely about."""
        sums = [value / _SCALE for value in self.prior]
        seen = set(grams(text))
        for gram in seen:
            for place, weight in enumerate(self.weights.get(gram, ())):
                sums[place] += weight / _SCALE
        # n-grams overlap and so repeat what they say: a long text is no surer for that.
        damped = [value / (1.0 + len(seen) ** 0.5 / 8.0) for value in sums]
        top = max(damped)
        odds = [exp(value - top) for value in damped]
        shares = {n: o / sum(odds) for n, o in zip(self.labels, odds, strict=True)}
        label = max(self.labels, key=lambda name: shares[name])
        return Judgement(label, shares[label], shares)

    def dump(self) -> bytes:
        """For a file."""
        return gzip.compress(msgspec.json.encode(self), 9, mtime=0)

    @classmethod
    def load(cls, data: bytes) -> "Classifier":
        """From a file."""
        return msgspec.json.decode(gzip.decompress(data), type=cls)


def grams(text: str) -> Iterator[str]:
    """Character n-grams of every word, with its borders."""
    for word in text[:TEXT_MAX].lower().split():
        bound = f" {word} "
        for size in range(1, GRAMS_MAX + 1):
            for start in range(len(bound) - size + 1):
                gram = bound[start : start + size]
                if gram != " ":
                    yield gram


def train(
    examples: Iterable[tuple[str, str]], *, version: str, features: int = FEATURES_MAX
) -> Classifier:
    """A classifier from pairs of text and label. Raises ValueError for fewer than two labels."""
    counts: dict[str, Counter[str]] = {}
    texts: Counter[str] = Counter()
    for text, label in examples:
        counts.setdefault(label, Counter()).update(set(grams(text)))
        texts[label] += 1
    labels = tuple(sorted(counts))
    if len(labels) < 2:
        raise ValueError(f"a classifier needs examples of two labels or more, not of {labels}")
    total: Counter[str] = Counter()
    for each in counts.values():
        total.update(each)
    number = sum(texts.values())
    scored: list[tuple[float, str, tuple[int, ...]]] = []
    for gram, count in total.items():
        if count < _COUNT_MIN and number > 1000:
            continue
        row = [
            log((counts[n][gram] + _SMOOTHING) / (texts[n] + 1.0))
            - log((count - counts[n][gram] + _SMOOTHING) / (number - texts[n] + 1.0))
            for n in labels
        ]
        says = max(map(abs, row)) * count**0.5
        scored.append((-says, gram, tuple(round(weight * _SCALE / 2) for weight in row)))
    kept = {gram: row for _, gram, row in sorted(scored)[:features] if any(row)}
    prior = tuple(round(log(texts[n] / number) * _SCALE) for n in labels)
    return Classifier(version, labels, prior, dict(sorted(kept.items())))


@cache
def sentiment() -> Classifier:
    """The classifier that comes with Dure: `negative` or `positive`, of Korean text."""
    return Classifier.load((files("dure.ai.local") / "sentiment-ko.json.gz").read_bytes())
