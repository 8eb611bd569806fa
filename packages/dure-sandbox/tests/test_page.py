"""The reference page lists what there is."""

from pathlib import Path

from dure_sandbox.ai.refusals import DIALECTS, TABLES
from dure_sandbox.faults.fault import KINDS, Fault

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "sandbox.md"


def table() -> str:
    """Every kind of fault, as the page shows them."""
    lines = ["| kind | what happens |", "|---|---|"]
    lines += [f"| `{kind}` | {meaning} |" for kind, meaning in KINDS.items()]
    for dialect in DIALECTS:
        names = ", ".join(f"`{name}`" for name in TABLES[dialect])
        lines.append(f"| {names} | errors of the AI site as `{dialect}` writes them |")
    return "\n".join(lines)


def test_the_page_lists_every_kind_of_fault() -> None:
    text = PAGE.read_text(encoding="utf-8")
    listed = text.partition("<!-- kinds -->\n")[2].partition("\n<!-- /kinds -->")[0]

    assert listed == table()


def test_the_page_explains_every_field_of_a_fault() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert [name for name in Fault.__struct_fields__ if f"`{name}`" not in text] == []
