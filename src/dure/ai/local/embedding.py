"""Texts as vectors: character n-grams hashed into a fixed number of places."""

from collections import Counter
from math import log, sqrt
from typing import Final
from zlib import crc32

DIMENSIONS: Final = 1024
FINGERPRINT: Final = "local-grams-1"
"""Vectors of another fingerprint or dimension are not comparable."""
_TEXT_MAX: Final = 20_000


def embed(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A vector of length 1 (of zeros for a text without letters); 16 to 65536 dimensions."""
    if not 16 <= dimensions <= 65536:
        raise ValueError(f"dimensions must be 16 to 65536, not {dimensions}")
    counts: Counter[str] = Counter()
    for word in text[:_TEXT_MAX].lower().split():
        bound = f" {word} "
        for size in (2, 3):
            counts.update(bound[i : i + size] for i in range(len(bound) - size + 1))
    vector = [0.0] * dimensions
    for gram, count in counts.items():
        place = crc32(gram.encode())
        sign = 1.0 if place & 0x80000000 else -1.0
        vector[place % dimensions] += sign * (1.0 + log(count))
    norm = sqrt(sum(value * value for value in vector))
    return [value / norm for value in vector] if norm else vector


def similarity(one: list[float], other: list[float]) -> float:
    """How alike two texts are, -1 to 1."""
    return sum(a * b for a, b in zip(one, other, strict=True))
