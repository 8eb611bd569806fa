"""What an answer can be made of: the sentences and the words of a prompt."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

SENTENCES_MAX: Final = 400
_END: Final = re.compile(r"(?<=[.!?。])\s+|\n+")
_WORD: Final = re.compile(r"[가-힣]{2,12}|[A-Za-z][A-Za-z&-]{2,30}")
_PARTICLES: Final = (
    *(
        "으로는",
        "에서는",
        "이라고",
        "에서",
        "으로",
        "까지",
        "부터",
        "이라",
        "은",
        "는",
        "이",
        "가",
        "을",
    ),
    *("를", "에", "의", "도", "와", "과", "로"),
)
_AFTER_NOUNS: Final = ("은 ", "는 ", "이 ", "가 ", "을 ", "를 ", "의 ")
"""What tells a Korean noun from a verb; words without one of them come later."""
_EMPTY_WORDS: Final = frozenset(
    [
        "있다",
        "했다",
        "것이다",
        "이번",
        "지난",
        "지난달",
        "다음",
        "오는",
        "관련",
        "대한",
        "위해",
        "통해",
        "따르면",
        "말했다",
        "밝혔다",
        "the",
        "and",
        "for",
        "with",
        "that",
        "from",
        "this",
        "was",
        "are",
        "has",
        "have",
        "will",
        "said",
        "its",
    ]
)


@dataclass(frozen=True, slots=True)
class Source:
    sentences: tuple[str, ...]
    terms: tuple[str, ...]
    """The words that matter most, the most frequent first."""


def source_of(text: str) -> Source:
    """The longest block of a prompt is what it is about; the rest is instruction."""
    found = (each.strip() for each in _END.split(text))
    sentences = list(dict.fromkeys(each for each in found if each))[:SENTENCES_MAX]
    sentences = sentences or ["내용이 없습니다."]
    counts = Counter(
        stem for found in _WORD.findall(text) if (stem := _stem(found)) not in _EMPTY_WORDS
    )
    nouns = {word for word in counts if any(word + each in text for each in _AFTER_NOUNS)}
    ranked = sorted(
        counts.items(), key=lambda each: (each[0] not in nouns, -each[1] * len(each[0]), each[0])
    )
    terms = tuple(word for word, _ in ranked if len(word) > 1 and not word.endswith("다"))
    return Source(tuple(sentences), terms or ("내용",))


def _stem(word: str) -> str:
    """The word without a particle at its end, as far as that can be told by its form."""
    for each in _PARTICLES:
        if len(word) - len(each) >= 2 and word.endswith(each):
            return word.removesuffix(each)
    return word


def summary(source: Source, sentences: int) -> str:
    """The sentences with the most important words, in their order."""
    weights = {term: len(source.terms) - place for place, term in enumerate(source.terms[:40])}
    scored = sorted(
        range(len(source.sentences)),
        key=lambda place: (
            -sum(w for term, w in weights.items() if term in source.sentences[place])
            / (10 + len(source.sentences[place])),
            place,
        ),
    )
    return " ".join(source.sentences[place] for place in sorted(scored[:sentences]))


def about(source: Source, term: str) -> str:
    """A sentence that says something about a term."""
    return next((each for each in source.sentences if term in each), source.sentences[0])
