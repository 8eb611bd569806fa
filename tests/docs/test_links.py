"""Every link between the pages leads somewhere."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"```.*?```", re.DOTALL)


def pages() -> list[Path]:
    """Every page of the repository."""
    folders = [path for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")]
    nested = (page for folder in folders for page in folder.rglob("*.md"))
    return sorted([*ROOT.glob("*.md"), *nested])


def anchors(page: Path) -> set[str]:
    """What a link can point to inside of a page."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_relative_link_resolves() -> None:
    broken = []
    for page in pages():
        for link in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
            place, _, anchor = link.partition("#")
            if "://" in place or place.startswith("mailto:"):
                continue
            target = page.parent / place if place else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{page.relative_to(ROOT)}: {link}")

    assert broken == []
