"""What the newsroom says on a terminal: lines that stay, one that lives, an article to read."""

import textwrap
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import Final, TextIO

from newsroom.article import KOREA
from newsroom.prompts import KINDS, Insight, Quiz, Summary, TermCards
from newsroom.reading import Shown
from newsroom.report import Account
from newsroom.words import word

_WIDTH: Final = 76
_QUIET_SECONDS: Final = 5.0


class Screen:
    """Draws progress in place on a terminal; elsewhere a line now and then."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._is_drawn = False
        self._last = float("-inf")

    def say(self, text: str = "") -> None:
        """A line that stays."""
        self._erase()
        print(text, file=self._out, flush=True)

    def draw(self, text: str, passed: float) -> None:
        """The line that lives."""
        if self._is_terminal:
            self._erase()
            print(text[:120], end="", file=self._out, flush=True)
            self._is_drawn = True
        elif passed - self._last >= _QUIET_SECONDS:
            self._last = passed
            print(text, file=self._out, flush=True)

    def _erase(self) -> None:
        if self._is_drawn:
            print("\r\x1b[K", end="", file=self._out)
            self._is_drawn = False


def article_lines(shown: Shown, language: str) -> Sequence[str]:
    """One article with all that was made of it, for a terminal."""
    at = f"{datetime.fromtimestamp(shown.at, KOREA):%Y-%m-%d %H:%M}"
    lines = [shown.title, f"{shown.press} · {at} · {shown.id}", ""]

    def part(title: str, *texts: str) -> None:
        lines.append(f"[{title}]")
        for text in texts:
            lines.extend(_wrapped(text))
        lines.append("")

    for kind in KINDS:
        match shown.answers.get(kind):
            case Summary() as made:
                part(word("summary", language), made.headline, made.summary)
            case TermCards() as made:
                part(word("terms", language), *(f"{c.term}: {c.meaning}" for c in made.cards))
            case Insight() as made:
                outlook = f"{word('outlook', language)}: {word(made.outlook, language)}"
                part(word("insight", language), made.insight, outlook)
            case Quiz() as made:
                choices = [f"{n}. {choice}" for n, choice in enumerate(made.choices, 1)]
                answer = f"→ {made.answer}"
                part(f"{word('quiz', language)} {kind}", made.question, *choices, answer)
            case _:
                pass
    return lines


def account_lines(account: Account) -> Sequence[str]:
    """The account as a table."""
    total = sum(account.articles.values())
    kept = ", ".join(f"{number} {what}" for what, number in account.articles.items())
    lines = [
        f"{total:>7}  articles: {kept}",
        f"{account.edited:>7}  later versions of edited articles",
        f"{account.long_versions:>7}  versions long enough for a model",
        f"{account.complete:>7}  articles with summary, terms, insight and both quizzes",
        "",
    ]
    for kind, by_state in account.jobs.items():
        states = ", ".join(f"{n} {state.name}" for state, n in by_state.items()) or "none"
        more = ""
        if kind in account.results:
            more = f" → {account.results[kind]} results"
            if account.skipped[kind]:
                more += f", {account.skipped[kind]} refused by the model"
        lines.append(f"{sum(by_state.values()):>7}  {kind}: {states}{more}")
    return lines


def _wrapped(text: str) -> Sequence[str]:
    """Korean letters take two columns."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    width = _WIDTH // 2 if wide > len(text) // 3 else _WIDTH
    return textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ")
