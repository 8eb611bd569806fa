"""A prompt: what is asked, in which version, and what an answer must look like."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Generic, TypeVar

import msgspec

from dure.ai import schema
from dure.core.errors import ConfigError

T = TypeVar("T")

VERSION_MAX = 1_000_000
OUTPUT_MAX = 200_000


def half(text: str) -> str:
    """The first half of a text: what is left of one that was too long."""
    return text[: max(len(text) // 2, 1)]


@dataclass(frozen=True)
class Prompt(Generic[T]):
    """One question that is asked of many inputs; its answer is of type `answer`.

    Raise the version whenever the wording changes: it is recorded with every answer, and an
    answer made by another version is never taken from the cache.
    """

    name: str
    _: KW_ONLY
    version: int
    answer: type[T]
    """A msgspec Struct or a dataclass; its JSON schema is sent along."""
    system: str = ""
    render: Callable[..., str] = str
    """From what is given to `ask` to the text of the question."""
    check: Callable[[T], str | None] | None = None
    """What the schema cannot say: returns what is wrong, or None."""
    shrink: Callable[[str], str] = half
    """A shorter text for an input that is too long."""
    task: str = ""
    """What the local provider does: `summary`, `terms`, `insight`, `classify`, `quiz`.

    Empty: it finds out from the schema.
    """
    output_max: int = 1000
    """Tokens an answer may have."""
    temperature: float | None = 0.0
    """None: leave it to the model; some refuse any."""
    is_cached: bool = True

    def __post_init__(self) -> None:
        if not self.name or len(self.name) > 100 or not self.name.isprintable():
            raise ConfigError(f"{self.name!r} cannot name a prompt.", "Use 1 to 100 characters.")
        if not 0 <= self.version <= VERSION_MAX:
            raise ConfigError(
                f"The version of prompt {self.name!r} must be 0 to {VERSION_MAX}, "
                f"not {self.version}."
            )
        if not 1 <= self.output_max <= OUTPUT_MAX:
            raise ConfigError(
                f"output_max of prompt {self.name!r} must be 1 to {OUTPUT_MAX} tokens, "
                f"not {self.output_max}."
            )
        problems = schema.problems(self.schema)
        if problems:
            raise ConfigError(
                f"The answer of prompt {self.name!r} does not fit strict JSON mode: "
                f"{'; '.join(problems[:5])}.",
                "Keep to objects, lists, texts, numbers, booleans and enumerations.",
            )

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of an answer, with references written out."""
        return schema.derive(self.answer, self.name)

    @cached_property
    def schema_hash(self) -> str:
        """Names the schema in records and in the cache."""
        return sha256(msgspec.json.encode(self.schema, order="sorted")).hexdigest()[:16]

    @property
    def label(self) -> str:
        """`SUMMARY@3`."""
        return f"{self.name}@{self.version}"
