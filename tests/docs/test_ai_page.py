"""The page on AI shows the error table as it is."""

from pathlib import Path

from dure.ai.table.rule import Rule
from dure.ai.table.rules import RULES

PAGE = Path(__file__).parents[2] / "docs/reference/ai.md"
MARK = "<!-- rules -->"


def rendered() -> str:
    rows = ["| of | HTTP | says | then | because |", "|---|---|---|---|---|", *map(_row, RULES)]
    return "\n".join(rows)


def _row(rule: Rule) -> str:
    said = [
        *(f"`{text}`" for text in (rule.code, rule.type, rule.detail, rule.finish) if text),
        *([f"about `{rule.param}`"] if rule.param else []),
        *([f"x-should-retry: {rule.retry}"] if rule.retry else []),
        *([f"words `{rule.words}`"] if rule.words else []),
        *([f"{'with' if rule.hint else 'without'} a reset hint"] if rule.hint is not None else []),
    ]
    then = rule.do.upper() + (f"({rule.reason}, {rule.scope})" if rule.reason else "")
    cells = (
        ", ".join(rule.of) or "any",
        ", ".join(map(str, rule.status)),
        ", ".join(said).replace("|", "\\|"),
        then,
        rule.means,
    )
    return f"| {' | '.join(cells)} |"


def test_the_page_shows_every_row_of_the_error_table() -> None:
    assert rendered() == PAGE.read_text("utf-8").split(MARK)[1].strip()
