"""The five questions that are asked about an article, and what an answer must look like."""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from dure.ai import Prompt

CHOICES: Final = 4
_BODY_CHARACTERS_MAX: Final = 8000

Line = Annotated[str, Meta(min_length=1, max_length=300)]
Passage = Annotated[str, Meta(min_length=1, max_length=1200)]


class Summary(Struct, frozen=True):
    """What the article says, in a few sentences."""

    headline: Line
    summary: Passage


class Card(Struct, frozen=True):
    """A term that a reader may not know."""

    term: Annotated[str, Meta(min_length=1, max_length=60)]
    meaning: Line


class TermCards(Struct, frozen=True):
    """The terms of an article."""

    terms: Annotated[list[Card], Meta(min_length=1, max_length=8)]

    @property
    def cards(self) -> list[Card]:
        """Each term once, however often a model has explained it."""
        return list({card.term: card for card in self.terms}.values())


class Insight(Struct, frozen=True):
    """What follows from it for a reader."""

    insight: Passage
    outlook: Literal["positive", "neutral", "negative"]
    reason: Passage


class Quiz(Struct, frozen=True):
    """A question with four choices, one of which is right."""

    question: Passage
    choices: Annotated[list[Line], Meta(min_length=4, max_length=4)]
    answer: Line
    explanation: Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One kind of job of the analysis."""

    kind: str
    prompt: Prompt[Any]

    def encode(self, value: object) -> str:
        """An answer as it is stored."""
        return msgspec.json.encode(value).decode()

    def decode(self, text: str) -> Any:
        """A stored answer."""
        return msgspec.json.decode(text, type=self.prompt.answer)


def _article(body: str) -> str:
    return body[:_BODY_CHARACTERS_MAX]


def _quiz_is_fair(quiz: Quiz) -> str | None:
    if len(set(quiz.choices)) != CHOICES:
        return "the choices are not all different"
    if quiz.answer not in quiz.choices:
        return "the answer is none of the choices"
    return None


_EDITOR: Final = (
    "당신은 경제 뉴스를 처음 접하는 독자를 위한 편집자입니다. 기사에 있는 사실만 사용하고, "
    "한국어로, 요청한 JSON 형식으로만 답하세요. "
)

STEPS: Final = (
    Step(
        kind="SUMMARY",
        prompt=Prompt(
            "SUMMARY",
            version=1,
            answer=Summary,
            system=_EDITOR + "기사를 한 줄 제목과 세 문장 이내의 요약으로 정리하세요.",
            render=_article,
            task="summary",
            output_max=600,
        ),
    ),
    Step(
        kind="TERM_CARDS",
        prompt=Prompt(
            "TERM_CARDS",
            version=1,
            answer=TermCards,
            system=_EDITOR + "독자가 모를 수 있는 경제 용어를 골라 뜻을 한 문장으로 설명하세요.",
            render=_article,
            task="terms",
            output_max=900,
        ),
    ),
    Step(
        kind="INSIGHT",
        prompt=Prompt(
            "INSIGHT",
            version=1,
            answer=Insight,
            system=_EDITOR + "이 소식이 독자에게 뜻하는 바와 전망, 그 근거를 쓰세요.",
            render=_article,
            task="insight",
            output_max=900,
        ),
    ),
    Step(
        kind="QUIZ_CONTENT",
        prompt=Prompt(
            "QUIZ_CONTENT",
            version=1,
            answer=Quiz,
            system=_EDITOR + "기사 내용을 묻는 사지선다 문제를 하나 만드세요.",
            render=_article,
            check=_quiz_is_fair,
            task="quiz",
            output_max=900,
        ),
    ),
    Step(
        kind="QUIZ_TERM",
        prompt=Prompt(
            "QUIZ_TERM",
            version=1,
            answer=Quiz,
            system=_EDITOR + "기사에 나온 경제 용어의 뜻을 묻는 사지선다 문제를 하나 만드세요.",
            render=_article,
            check=_quiz_is_fair,
            task="term quiz",
            output_max=900,
        ),
    ),
)
"""In the order in which they are worked on; the later ones follow when the first succeeds."""

KINDS: Final = tuple(step.kind for step in STEPS)
