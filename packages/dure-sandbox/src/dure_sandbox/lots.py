"""Lots drawn by number: the same numbers give the same draw, in any order, on any machine.

Every site is a function of its seed and the time, so nothing is stored: what belongs to article
17 is drawn from (seed, 17, purpose) whenever somebody asks for it.
"""

import random
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, TypeVar

T = TypeVar("T")

_MASK: Final = (1 << 64) - 1


def mixed(seed: int, *numbers: int) -> int:
    """64 bits that depend on every number and look like chance."""
    state = seed & _MASK
    for number in numbers:
        state = (state ^ (number & _MASK)) + 0x9E3779B97F4A7C15 & _MASK
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        state = (state ^ state >> 27) * 0x94D049BB133111EB & _MASK
        state ^= state >> 31
    return state


def drawn(seed: int, *numbers: int) -> float:
    """A number in [0, 1)."""
    return (mixed(seed, *numbers) >> 11) / (1 << 53)


def chosen(options: Sequence[T], seed: int, *numbers: int) -> T:
    return options[mixed(seed, *numbers) % len(options)]


def dice(seed: int, *numbers: int) -> random.Random:
    """Dice for everything that belongs to one thing, such as the words of one article."""
    return random.Random(mixed(seed, *numbers))  # noqa: S311 - content, not secrets


def number_of(content: bytes) -> int:
    """A number that stands for the content, the same in every process."""
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big")
