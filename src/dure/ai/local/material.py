"""What the local model has made of a text: everything its answers are written from."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from zlib import crc32

from dure.ai.local import sentences as splitting, terms as finding
from dure.ai.local.bayes import Classifier, Judgement
from dure.ai.local.terms import Nouns

_DEFINES: Final = re.compile(
    r"(?:이란|란|은|는|이라는 것은)\s.*"
    r"(?:말한다|뜻한다|의미한다|가리킨다|일컫는다|것이다|이다)\.?$"
)
_DEFINES_ENGLISH: Final = re.compile(
    r"\b(?:is|are|means|refers to|is defined as)\b\s+\w+", re.IGNORECASE
)
_CUES: Final = re.compile(
    r"전망|영향|우려|때문|따라서|예상|관측|분석|가능성|필요|부담|효과|계기|결국|위험|기대|추세|"
    r"because|therefore|expect|risk|impact|likely|could|forecast|concern|suggest|result",
    re.IGNORECASE,
)
_BLANK: Final = "____"
_SPARE_KO: Final = ("기준금리", "환율", "물가", "수출", "고용", "재정", "주가", "채권")
_SPARE_EN: Final = ("interest rate", "exchange rate", "inflation", "exports", "employment", "bonds")
_KINDS: Final = ((re.compile(r"^[\d.,%]+$"), 0), (re.compile(r"^[ -~]+$"), 1))


@dataclass(frozen=True, slots=True)
class Card:
    """A term, the sentence that explains it, and another that uses it."""

    term: str
    definition: str
    example: str


@dataclass(frozen=True, slots=True)
class Quiz:
    """A sentence with a gap, choices, and which of them is right."""

    question: str
    choices: tuple[str, ...]
    place: int
    explanation: str

    @property
    def answer(self) -> str:
        return self.choices[self.place]


class Material:
    """One text, looked at as far as somebody asks."""

    def __init__(self, text: str, nouns: Nouns, classifier: Classifier) -> None:
        self.text = text
        self._nouns = nouns
        self._classifier = classifier

    @cached_property
    def sentences(self) -> list[str]:
        return splitting.split(self.text)

    @cached_property
    def scores(self) -> list[float]:
        return splitting.rank(self.sentences)

    @cached_property
    def terms(self) -> list[str]:
        return finding.terms(self.sentences, self.scores, self._nouns)

    @cached_property
    def judgement(self) -> Judgement:
        return self._classifier(self.text)

    @property
    def is_korean(self) -> bool:
        korean = sum("가" <= letter <= "힣" for letter in self.text)
        return korean * 2 >= sum(map(str.isalpha, self.text))

    def best(self, count: int) -> list[str]:
        """The sentences that matter most, in the order of the text."""
        return splitting.best(self.sentences, self.scores, count)

    def insights(self, count: int) -> list[str]:
        """Sentences that speak of causes, effects and what is expected, the weightiest first."""
        weights = [
            score * (1.0 + len(set(_CUES.findall(sentence))))
            for sentence, score in zip(self.sentences, self.scores, strict=True)
        ]
        return splitting.best(self.sentences, weights, count)

    def cards(self, count: int) -> list[Card]:
        """Cards of the weightiest terms; those that the text defines come first."""
        made = [self._card(term) for term in self.terms]
        made.sort(key=lambda card: not _defines(card.term, card.definition))
        return made[:count]

    def _card(self, term: str) -> Card:
        inside = [
            (sentence, score)
            for sentence, score in zip(self.sentences, self.scores, strict=True)
            if finding.holds(sentence, term)
        ] or [(self.sentences[0] if self.sentences else term, 0.0)]
        inside.sort(key=lambda pair: (not _defines(term, pair[0]), -pair[1]))
        definition = inside[0][0]
        return Card(term, definition, inside[1][0] if len(inside) > 1 else definition)

    def quizzes(self, count: int, size: int = 4) -> list[Quiz]:
        """Gaps where terms stood; wrong choices are other terms of the same kind and length."""
        made: list[Quiz] = []
        used: set[str] = set()
        for term in self.terms:
            if len(made) == count:
                break
            inside = [
                (score, -i, sentence)
                for i, (sentence, score) in enumerate(zip(self.sentences, self.scores, strict=True))
                if finding.holds(sentence, term) and sentence not in used
            ]
            if inside:
                sentence = max(inside)[2]
                used.add(sentence)
                made.append(self._quiz(term, sentence, size))
        if not made:
            term = self.terms[0] if self.terms else (self.text.split() or ["?"])[0]
            made.append(self._quiz(term, self.sentences[0] if self.sentences else term, size))
        return made

    def _quiz(self, term: str, sentence: str, size: int) -> Quiz:
        spare = _SPARE_KO if self.is_korean else _SPARE_EN
        others = [each for each in self.terms if each not in sentence and each not in term]
        others.sort(key=lambda each: (_kind(each) != _kind(term), abs(len(each) - len(term))))
        numbers = (f"({n})" for n in range(1, size + 1))
        wrong: list[str] = []
        for each in (*others, *spare, *numbers):
            if len(wrong) < size - 1 and each != term and each not in (*wrong, sentence):
                wrong.append(each)
        place = crc32(sentence.encode()) % size
        choices = (*wrong[:place], term, *wrong[place:])
        start = max(finding.place_of(sentence, term), 0)
        gap = f"{sentence[:start]}{_BLANK}{sentence[start + len(term) :]}"
        return Quiz(gap, choices[:size], min(place, size - 1), sentence)


def _defines(term: str, sentence: str) -> bool:
    start = finding.place_of(sentence, term)
    if not 0 <= start <= 30:
        return False
    after = sentence[start + len(term) :]
    english = term.isascii() and _DEFINES_ENGLISH.match(after.strip()) is not None
    return english or (after[:1] in "이란은는(" and _DEFINES.match(after) is not None)


def _kind(term: str) -> int:
    return next((kind for pattern, kind in _KINDS if pattern.match(term)), 2)
