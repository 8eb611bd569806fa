"""Sentences of a text, and which of them matter."""

import re
from collections.abc import Sequence
from math import log
from typing import Final

TEXT_MAX: Final = 40_000
SENTENCES_MAX: Final = 150
"""Ranking compares every pair."""
_LENGTH_MIN: Final = 8
_END: Final = re.compile(r"(?<=[.!?。])[\"'”’)]?\s+(?=\S)|\n+")
_ABBREVIATION: Final = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|vs|No|Inc|Ltd|Co|U\.S|e\.g|i\.e)\.$")
_WORD: Final = re.compile(r"[가-힣]+|[A-Za-z]+|\d[\d.,]*")
_DAMPING: Final = 0.85
_ROUNDS: Final = 25
_LEAD: Final = 0.6
"""How much more the first sentence counts than the last: news says it first."""


def split(text: str) -> list[str]:
    """The sentences of a text, trimmed; what is too short to say anything is left out."""
    found: list[str] = []
    held = ""
    for part in _END.split(text[:TEXT_MAX]):
        piece = f"{held} {part.strip()}".strip()
        if _ABBREVIATION.search(piece):
            held = piece
            continue
        held = ""
        if len(piece) >= _LENGTH_MIN and piece not in found:
            found.append(" ".join(piece.split()))
    if held and held not in found:
        found.append(held)
    if not found and text.strip():
        found.append(" ".join(text.split())[:TEXT_MAX])
    return found[:SENTENCES_MAX]


def features(sentence: str) -> frozenset[str]:
    """What two sentences may have in common: Korean by syllable pairs, the rest by words."""
    found: set[str] = set()
    for word in _WORD.findall(sentence.lower()):
        if "가" <= word[0] <= "힣":
            found.update(word[i : i + 2] for i in range(len(word) - 1))
        elif len(word) > 2:
            found.add(word)
    return frozenset(found)


def rank(sentences: Sequence[str]) -> list[float]:
    """The weight of each sentence: those that many others resemble, and early ones."""
    count = len(sentences)
    sets = [features(sentence) for sentence in sentences]
    links: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for i in range(count):
        for j in range(i):
            shared = len(sets[i] & sets[j])
            if shared:
                weight = shared / (log(len(sets[i]) + 1) + log(len(sets[j]) + 1))
                links[i].append((j, weight))
                links[j].append((i, weight))
    totals = [sum(weight for _, weight in each) or 1.0 for each in links]
    prior = [1.0 + _LEAD * (1.0 - i / max(count - 1, 1)) for i in range(count)]
    scale = count / sum(prior) if prior else 1.0
    prior = [each * scale for each in prior]
    scores = [1.0] * count
    for _ in range(_ROUNDS):
        scores = [
            (1 - _DAMPING) * prior[i]
            + _DAMPING * prior[i] * sum(scores[j] * weight / totals[j] for j, weight in links[i])
            for i in range(count)
        ]
    return scores


def best(sentences: Sequence[str], scores: Sequence[float], count: int) -> list[str]:
    """The weightiest sentences that do not repeat each other, in the order of the text."""
    chosen: list[int] = []
    sets = [features(sentence) for sentence in sentences]
    for i in sorted(range(len(sentences)), key=lambda i: (-scores[i], i)):
        if len(chosen) == count:
            break
        if all(_overlap(sets[i], sets[j]) < 0.6 for j in chosen):
            chosen.append(i)
    return [sentences[i] for i in sorted(chosen)]


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(min(len(one), len(other)), 1)
