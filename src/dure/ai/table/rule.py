"""A row of the error table, and how rows are ordered.

Rows are tried by what they look at, in this order: code, type, details, headers, words of
the message, status. Among rows that look at the same, the first in this list wins, so the
particular ones stand before the general ones.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from dure.ai.verdict import Disposition, Reason, Scope

OPENAI: Final = "openai"
"""OpenAI's own endpoint."""
COMPATIBLE: Final = "compatible"
"""Another host that speaks its protocol: the same words, which may mean less."""
ANTHROPIC: Final = "anthropic"
GEMINI: Final = "gemini"
PROVIDERS: Final = (OPENAI, COMPATIBLE, ANTHROPIC, GEMINI)


class Level(IntEnum):
    """How decisive a sign is; the lowest counts first."""

    CODE = 0
    TYPE = 1
    DETAIL = 2
    HEADER = 3
    MESSAGE = 4
    STATUS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One row. Empty columns match everything."""

    of: tuple[str, ...] = ()
    """Providers; none for all."""
    status: tuple[int, ...] = ()
    code: str = ""
    """A regular expression for the whole code; so for type and details."""
    type: str = ""
    detail: str = ""
    finish: str = ""
    retry: str = ""
    """Of the header x-should-retry."""
    words: str = ""
    """A regular expression for a part of the message."""
    param: str = ""
    hint: bool | None = None
    """Whether a reset hint must be there, or must not."""
    do: Disposition
    reason: Reason | None = None
    scope: Scope | None = None
    after: float | None = None
    breaker: bool = False
    slower: bool = False
    billed: bool = False
    until: str = ""
    part: str = ""
    """What to make smaller: input unless it says output."""
    means: str

    @property
    def level(self) -> Level:
        """The most decisive sign it looks at."""
        if self.code or self.finish:
            return Level.CODE
        if self.type:
            return Level.TYPE
        if self.detail:
            return Level.DETAIL
        if self.retry:
            return Level.HEADER
        return Level.MESSAGE if self.words else Level.STATUS


LONG: Final = r"context (length|window)|prompt is too long|too many (input )?tokens|token count"
"""How providers say that an input is too long."""
SAFETY: Final = r"safety|content policy|content management policy|usage polic"
"""How they say that they will not answer it."""
