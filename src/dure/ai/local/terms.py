"""Terms of a text: its nouns by rule, or by Kiwi where the `[ko]` extra is installed."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from math import log2
from typing import Any, Final, Protocol

from dure.core.errors import ConfigError

TERMS_MAX: Final = 60
_WORD: Final = re.compile(r"(?<![\d가-힣])[가-힣]+|[A-Za-z][A-Za-z0-9&.-]*[A-Za-z0-9]")


def _words(name: str) -> list[str]:
    return (files("dure.ai.local") / f"{name}.txt").read_text("utf-8").split()


_PARTICLES: Final = tuple(_words("particles"))
_VERBS: Final = re.compile(
    r"(?:하|되|있|없|받|보이|나타나|이어지|밝히|전하|말하|따르|위하|대하|통하|관하|의하|늘어나|"
    r"줄어들|오르|내리|커지|높아지|낮아지|알려지)(?:다|고|며|는|은|을|던|기|게|지|면|자|어|여|아|자고|"
    r"지만|도록|려고)?$|(?:했|됐|였|았|었|겠|있|없|렸|졌|났|갔|왔|췄|켰|혔|겼|쳤|뤘|꼈|섰|뒀|줬)"
    r"(?:다|고|며|는|던|지만|으며|으나|습니다)?$|[가-힣](?:하는|되는|하며|되며|하고|되고|하기|되기|"
    r"하면|하지|되지|해야|해서|하게|되어|하여|지난|리고|리기|키고|키기|이고|려는|려고|다고|라고|다며|"
    r"라며|다는|라는|아야|어야|여야|아도|어도|으니|면서|려면|으면|는데|도록|지만|으며|아서|어서|니까|"
    r"이는|리는|치는|지는|나는|르는|우는|추는|어난|타난|러난|어진|아진|어질|아질)$"
    r"|(?:하|되|리|키|이|추|우|내|지)기(?:로|에|를|도|는|가|만)?$"
    r"|[가-힣]{2}(?:다|한|된|할|될|던|져|해|지고)$|^(?:한다|된다|같다|본다|온다|간다)$"
)
_NOUNS: Final = re.compile(
    r"(?:캐나다|르완다|우간다|피해|손해|이해|동해|서해|남해|재해|침해|오해|공해|제한|기한|권한|북한|상한|하한|시한|무한|역할|분할|고양이|어린이|젊은이|"
    r"호랑이|원숭이|경기도|강원도|제주도|만족도|인지도|신용도|선호도|중요도|난이도|학과|주의|도로|경로|"
    r"회로|통로|진로|항로|선로|활로|판로|대로|미로|가을|마을|투자가|기업가|정치가|예술가|사업가|평론가|활동가|최고가|최저가|분양가|매매가|목표가|공시가|"
    r"생산자물가|소비자물가|달리기|줄다리기|상반기|하반기)$"
)
"""Endings of nouns that look like a verb, or like a word with its particle."""
_AFTER_CONSONANT: Final = frozenset(_words("after-consonant"))
_AFTER_VOWEL: Final = frozenset(_words("after-vowel"))
"""Particles that follow only a syllable that ends so."""
_L: Final = 8
"""The place of ㄹ among the sounds a syllable may end with."""
_VAGUE: Final = frozenset({"도", "만"})
"""Particles of one syllable that many nouns end with as well."""
_DEFINES: Final = re.compile(
    r"(?:\([^)]*\))?(?:이?란\s.*(?:다|것)\.?$|(?:은|는|이라는 것은)\s.*"
    r"(?:[을를] (?:말한다|뜻한다|의미한다|가리킨다|일컫는다|이른다)|"
    r"이?라고 (?:할 수 있다|한다|부른다)|"
    r"(?:제도|비율|지표|방식|행위|거래|금리|현상|상품|비용|자산|증권|어음)(?:이다|다))\.?$)"
)
_DEFINES_ENGLISH: Final = re.compile(
    r"(?:is an?|is the|are the|means|refers to|is defined as)\b\s+\w+", re.IGNORECASE
)
_DEFINED: Final = 6.0
"""How much more a term counts that the text itself explains."""
_EMPTY: Final = frozenset(_words("empty-words"))
"""Words that say nothing about a text."""


class Nouns(Protocol):
    """Finds the nouns of a text, in order, with repetitions."""

    version: str

    def __call__(self, text: str) -> list[str]: ...


class RuleNouns:
    """Words without their particles; verbs and empty words left out."""

    version = "rules-2"

    def __call__(self, text: str) -> list[str]:
        words = _WORD.findall(text)
        known = frozenset(words)
        nouns = (_noun(word, known) for word in words)
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


@cache
def kiwi_nouns() -> Nouns:
    """Kiwi, loaded once: seconds, and half a gigabyte of memory."""
    try:
        import kiwipiepy  # noqa: PLC0415  # an extra, and slow to load
    except ImportError as error:
        raise ConfigError(
            "Kiwi is not installed.", "Install dure[ko], or leave kiwi=True away."
        ) from error

    kiwi = kiwipiepy.Kiwi(num_workers=1)
    kiwi.tokenize("준비")  # what it puts off until it is asked for
    return KiwiNouns(kiwi, kiwipiepy.__version__)


def _noun(word: str, words: frozenset[str]) -> str:
    if word.lower() in _EMPTY or (word.isascii() and len(word) < 3 and not word.isupper()):
        return ""
    if word.isascii():
        return word.strip(".-")
    if _is_verb(word):
        return ""
    stem = _stem(word, words)
    if stem == word and _NOUNS.search(word) is None and _is_inflected(word):
        return ""
    return "" if len(stem) < 2 or stem in _EMPTY or _is_verb(stem) else stem


def _is_inflected(word: str) -> bool:
    """Whether it is one syllable with a particle: "폭이", "삼는", "달까지"."""
    if len(word) != 2:
        return word[1:] in _PARTICLES
    return word[1] in "은는을를에" or (word[1] == "이" and closes(word[0]))


def _is_verb(word: str) -> bool:
    return _NOUNS.search(word) is None and _VERBS.search(word) is not None


def _stem(word: str, words: frozenset[str]) -> str:
    """A word without its particle, as far as one can be told from the end of a noun."""
    if _NOUNS.search(word):
        return word
    for particle in _PARTICLES:
        stem = word.removesuffix(particle)
        if stem == word or len(stem) < 2 or not _may_follow(stem, particle):
            continue
        is_seen = any(each != word and each.startswith(stem) for each in words)
        if particle not in _VAGUE or len(stem) > 3 or is_seen:
            return stem
    return word


def _may_follow(stem: str, particle: str) -> bool:
    """Whether a stem's last sound goes with a particle."""
    if particle in _AFTER_CONSONANT:
        return closes(stem)
    if particle == "로":
        return not closes(stem) or (ord(stem[-1]) - ord("가")) % 28 == _L
    return not (particle in _AFTER_VOWEL and closes(stem))


def closes(word: str) -> bool:
    """Whether a Korean word ends in a consonant, by which its particles are chosen."""
    return "가" <= word[-1:] <= "힣" and (ord(word[-1]) - ord("가")) % 28 > 0


def terms(
    sentences: Sequence[str], scores: Sequence[float], nouns: Nouns, most: int = TERMS_MAX
) -> list[str]:
    """The terms of a text, the weightiest first: frequent, long, and in sentences that matter."""
    counts: Counter[str] = Counter()
    weights: defaultdict[str, float] = defaultdict(float)
    pairs: Counter[tuple[str, str]] = Counter()
    order: dict[str, int] = {}
    defined: set[str] = set()
    for sentence, score in zip(sentences, scores, strict=True):
        found = nouns(sentence)
        for noun in found:
            order.setdefault(noun, len(order))
            counts[noun] += 1
            weights[noun] += score
            if noun not in defined and defines(noun, sentence):
                defined.add(noun)
        for one, two in pairwise(found):
            if f"{one} {two}" in sentence:
                pairs[one, two] += 1
    for (one, two), count in pairs.items():
        if count > 1 and one != two:
            both = f"{one} {two}"
            counts[both] = count
            weights[both] = min(weights[one], weights[two]) * 1.2
            order[both] = order[one]
    defined.update(both for both in weights if " " in both and _is_defined(both, sentences))

    def place(term: str) -> tuple[float, int]:
        weight = weights[term] * (1 + log2(counts[term])) * (1 + 0.15 * min(len(term), 8))
        return -weight * (_DEFINED if term in defined else 1.0), order[term]

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
    return other.startswith(one) or not set(one.split()).isdisjoint(other.split())


def _is_defined(term: str, sentences: Sequence[str]) -> bool:
    return any(defines(term, sentence) for sentence in sentences)


def defines(term: str, sentence: str) -> bool:
    """Whether a sentence says what a term means."""
    start = place_of(sentence, term)
    if not 0 <= start <= 30:
        return False
    after = sentence[start + len(term) :]
    if term.isascii():
        return _DEFINES_ENGLISH.match(after.strip()) is not None
    return _DEFINES.match(after) is not None


def holds(sentence: str, term: str) -> bool:
    """Whether a sentence speaks of a term: as a word, not as the end of a longer one."""
    return place_of(sentence, term) >= 0


def place_of(sentence: str, term: str) -> int:
    """Where a term begins a word of a sentence; -1 where it does not."""
    start = sentence.find(term)
    while start > 0 and sentence[start - 1].isalnum():
        start = sentence.find(term, start + 1)
    return start
