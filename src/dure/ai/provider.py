"""The port to a model: one question out, one raw answer back, nothing retried in between."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from dure.ai.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is sent."""

    name: str
    """Of the prompt; also names the schema."""
    system: str
    text: str
    schema: Mapping[str, Any]
    output_max: int
    temperature: float | None = 0.0
    task: str = ""
    key: str = ""
    """The same for every attempt of a job, for providers that refuse doubles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an answer took."""

    input: int = 0
    output: int = 0
    cached: int = 0
    """Of the input, what the provider still knew."""

    @property
    def total(self) -> int:
        return self.input + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back: a text, or a verdict on why there is none."""

    text: str = ""
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    """Who really answered: models are renamed and replaced behind their names."""
    request: str = ""
    """The provider's own id of the call, for its support."""
    verdict: Verdict | None = None


class Provider(Protocol):
    """A model behind an account."""

    @property
    def account(self) -> str:
        """Whose limits and money it uses: the same for all models of one key. No secret."""
        ...

    @property
    def model(self) -> str: ...

    async def ask(self, question: Question) -> Answer:
        """Ask once. Everything a provider can answer is an Answer; nothing is raised."""
        ...

    def tokens(self, usage: Usage) -> int:
        """What of a usage its token limit counts."""
        ...

    async def close(self) -> None:
        """Let go of connections; it may be asked again."""
        ...
