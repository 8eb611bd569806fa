"""The architecture page shows what the code does."""

from pathlib import Path

from dure.core.table import diagram

ROOT = Path(__file__).parents[2]


def test_the_state_diagram_is_the_one_the_table_renders() -> None:
    """X1: paste the output of dure.core.table.diagram() when this fails."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

    shown = page.split("<!-- states -->")[1].split("<!-- /states -->")[0]

    assert shown.strip() == f"```mermaid\n{diagram()}\n```"
