"""Every setting is documented, by the page the code itself would write."""

from pathlib import Path

from dure.core.settings import SETTINGS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"

HEAD = """# Settings

Changed while everything runs with `dure settings set KEY VALUE`; every node follows
within a second.
Each change is checked, audited, and can be undone with `dure settings unset KEY`.

| setting | default | bounds | why one would change it |
|---|---|---|---|
"""


def rendered() -> str:
    """The page as the settings describe themselves."""
    rows = [
        f"| `{each.key}` | {each.show(each.default)} | {each.bounds} | {each.why} |"
        for each in SETTINGS.values()
    ]
    return HEAD + "\n".join(rows) + "\n"


def test_the_settings_page_is_what_the_settings_say() -> None:
    """X17: write rendered() into docs/reference/settings.md when this fails."""
    assert PAGE.read_text(encoding="utf-8") == rendered()
