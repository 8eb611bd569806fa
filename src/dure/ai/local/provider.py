"""The local provider: answers by rules and small weights, through the same validator."""

from typing import Final

import msgspec

from dure.ai.estimate import raw
from dure.ai.local import bayes, terms
from dure.ai.local.bayes import Classifier
from dure.ai.local.embedding import DIMENSIONS, embed
from dure.ai.local.material import Material
from dure.ai.local.terms import Nouns, RuleNouns
from dure.ai.local.writing import write
from dure.ai.provider import Answer, Question, Usage

VERSION: Final = 1
"""Raised whenever answers change: cached ones of another version are not used."""


class Local:
    """A model without a key. `kiwi` None: use Kiwi for nouns where `[ko]` is installed."""

    def __init__(self, *, kiwi: bool | None = None, classifier: Classifier | None = None) -> None:
        is_wanted = terms.has_kiwi() if kiwi is None else kiwi
        self._nouns: Nouns = terms.kiwi_nouns() if is_wanted else RuleNouns()
        self._classifier = classifier or bayes.sentiment()

    @property
    def account(self) -> str:
        return "local"

    @property
    def model(self) -> str:
        """Names everything that has a say in an answer."""
        return f"local-{VERSION}+{self._nouns.version}+{self._classifier.version}"

    def tokens(self, usage: Usage) -> int:
        return usage.total

    async def ask(self, question: Question) -> Answer:
        material = Material(question.text, self._nouns, self._classifier)
        value = write(question.schema, material, question.task)
        text = msgspec.json.encode(value).decode()
        usage = Usage(input=round(raw(question.text)), output=round(raw(text)))
        return Answer(text=text, usage=usage, model=self.model)

    def embed(self, text: str, dimensions: int = DIMENSIONS) -> list[float]:
        """A text as a vector."""
        return embed(text, dimensions)

    async def close(self) -> None:
        """Nothing is open."""
