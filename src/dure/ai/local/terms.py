"""Terms of a text: its nouns by rule, or by Kiwi where the `[ko]` extra is installed."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from itertools import pairwise
from math import log2
from typing import Any, Final, Protocol

TERMS_MAX: Final = 60
_WORD: Final = re.compile(r"[가-힣]+|[A-Za-z][A-Za-z0-9&.-]*[A-Za-z0-9]")


def _words(name: str) -> list[str]:
    return (files("dure.ai.local") / f"{name}.txt").read_text("utf-8").split()


_PARTICLES: Final = tuple(_words("particles"))
_VERBS: Final = re.compile(
    r"(?:하|되|있|없|받|보이|나타나|이어지|밝히|전하|말하|따르|위하|대하|통하|관하|의하|늘어나|"
    r"줄어들|오르|내리|커지|높아지|낮아지|알려지)(?:다|고|며|는|은|을|던|기|게|지|면|자|어|여|아|자고|"
    r"지만|도록|려고)?$|(?:했|됐|였|았|었|겠|있|없|렸|졌|났|갔|왔|췄|켰|혔|겼|쳤|뤘|꼈|섰|뒀|줬)"
    r"(?:다|고|며|는|던|지만|으며|으나|습니다)?$|[가-힣](?:한다|된다|이다|하다|되다|하는|되는|하며|"
    r"되며|하고|되고|하기|되기|하면|하지|되지|해야|해서|하게|되어|하여|지난|습니다|입니다|합니다|됩니다)$"
)
_CLAUSES: Final = ("면서", "려면", "으면", "는데", "도록", "지만", "으며", "아서", "어서", "니까")
_CLEAR: Final = "은는을를의에"
"""Particles of one syllable that hardly any noun ends with."""
_EMPTY: Final = frozenset(_words("empty-words"))
"""Words that say nothing about a text."""


class Nouns(Protocol):
    """Finds the nouns of a text, in order, with repetitions."""

    version: str

    def __call__(self, text: str) -> list[str]: ...


class RuleNouns:
    """Words without their particles; verbs and empty words left out."""

    version = "rules-1"

    def __call__(self, text: str) -> list[str]:
        words = _WORD.findall(text)
        stems = {word for word in words if len(word) > 1}
        nouns = (_noun(word, stems) for word in words)
        return [noun for noun in nouns if noun]


class KiwiNouns:
    """Nouns by morphological analysis; neighbours without a space between them are one."""

    def __init__(self, kiwi: Any, version: str) -> None:
        self._kiwi = kiwi
        self.version = f"kiwi-{version}"

    def __call__(self, text: str) -> list[str]:
        found: list[str] = []
        end = -1
        for token in self._kiwi.tokenize(text):
            if token.tag in {"NNG", "NNP", "SL"}:
                if token.start == end and found:
                    found[-1] += token.form
                else:
                    found.append(token.form)
                end = token.start + token.len
            elif token.tag == "XSN" and token.start == end and found:
                found[-1] += token.form
                end = token.start + token.len
        return [noun for noun in found if 1 < len(noun) <= 20 and noun.lower() not in _EMPTY]


def has_kiwi() -> bool:
    """Whether the `[ko]` extra is installed."""
    return find_spec("kiwipiepy") is not None


@cache
def kiwi_nouns() -> Nouns:
    """Kiwi, loaded once: seconds, and half a gigabyte of memory."""
    import kiwipiepy  # noqa: PLC0415  # an extra, and slow to load

    kiwi = kiwipiepy.Kiwi(num_workers=1)
    kiwi.tokenize("준비")  # what it puts off until it is asked for
    return KiwiNouns(kiwi, kiwipiepy.__version__)


def _noun(word: str, stems: set[str]) -> str:
    if word.lower() in _EMPTY or (word.isascii() and len(word) < 3 and not word.isupper()):
        return ""
    if word.isascii():
        return word.strip(".-")
    if _VERBS.search(word) or word.endswith(_CLAUSES):
        return ""
    for particle in _PARTICLES:
        stem = word.removesuffix(particle)
        # "고양이" ends like a particle too: then others must carry one of their own.
        is_sure = len(particle) > 1 or len(stem) > 2 or stem in stems or particle in _CLEAR
        if stem != word and len(stem) >= 2 and is_sure:
            word = stem
            break
    if len(word) < 2 or word in _EMPTY or _VERBS.search(word) or word[1:] in _CLEAR:
        return ""
    return word


def terms(
    sentences: Sequence[str], scores: Sequence[float], nouns: Nouns, most: int = TERMS_MAX
) -> list[str]:
    """The terms of a text, the weightiest first: frequent, long, and in sentences that matter."""
    counts: Counter[str] = Counter()
    weights: defaultdict[str, float] = defaultdict(float)
    pairs: Counter[tuple[str, str]] = Counter()
    order: dict[str, int] = {}
    for sentence, score in zip(sentences, scores, strict=True):
        found = nouns(sentence)
        for noun in found:
            order.setdefault(noun, len(order))
            counts[noun] += 1
            weights[noun] += score
        for one, two in pairwise(found):
            if f"{one} {two}" in sentence:
                pairs[one, two] += 1
    for (one, two), count in pairs.items():
        if count > 1 and one != two:
            both = f"{one} {two}"
            counts[both] = count
            weights[both] = min(weights[one], weights[two]) * 1.2
            order[both] = order[one]

    def place(term: str) -> tuple[float, int]:
        weight = weights[term] * (1 + log2(counts[term])) * (1 + 0.15 * min(len(term), 8))
        return -weight, order[term]

    ranked = sorted(counts, key=place)
    return list(_distinct(ranked))[:most]


def _distinct(ranked: Iterable[str]) -> Iterable[str]:
    """Without those that are only a part of a weightier one."""
    kept: list[str] = []
    for term in ranked:
        if not any(_is_part(term, other) or _is_part(other, term) for other in kept):
            kept.append(term)
            yield term


def _is_part(one: str, other: str) -> bool:
    return other.startswith(one) or one in other.split()


def holds(sentence: str, term: str) -> bool:
    """Whether a sentence speaks of a term: as a word, not as the end of a longer one."""
    return place_of(sentence, term) >= 0


def place_of(sentence: str, term: str) -> int:
    """Where a term begins a word of a sentence; -1 where it does not."""
    start = sentence.find(term)
    while start > 0 and sentence[start - 1].isalnum():
        start = sentence.find(term, start + 1)
    return start
