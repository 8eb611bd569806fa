"""An article's page: title, body, when it was published and edited. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import StrEnum
from hashlib import sha256
from typing import Final

from selectolax.lexbor import LexborHTMLParser

BODY_CHARACTERS_MAX: Final = 200_000
TITLE_CHARACTERS_MAX: Final = 500
KOREA: Final = timezone(timedelta(hours=9))
_NOT_TEXT: Final = "script, style, .end_photo_org, .nbd_table, strong.media_end_summary, .vod_area"
_BREAKS: Final = re.compile(r"\s*\n\s*")
_SPACES: Final = re.compile(r"[^\S\n]+")


class Kept(StrEnum):
    """What has become of an article that was listed."""

    OK = "ok"
    DELETED = "deleted"
    """Its publisher has taken it back."""
    FOREIGN = "foreign"
    """It stands in another part of the site, which is built differently; that is normal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """An article as its page shows it."""

    kept: Kept
    title: str = ""
    body: str = ""
    press: str = ""
    reporter: str = ""
    published_at: float | None = None
    edited_at: float | None = None

    @property
    def fingerprint(self) -> str:
        """The same as long as nobody edits title or body."""
        return sha256(f"{self.title}\n{self.body}".encode()).hexdigest()[:32]


def read_article(html: str) -> Article:
    """What the page says. A notice instead of an article is an answer too."""
    tree = LexborHTMLParser(html)
    body = tree.css_first("article#dic_area") or tree.css_first("#dic_area")
    if body is None:
        is_foreign = tree.css_first("._article_content") is not None
        return Article(kept=Kept.FOREIGN if is_foreign else Kept.DELETED)
    for node in body.css(_NOT_TEXT):
        node.decompose()
    for line in body.css("br, p"):
        line.insert_before("\n")
    return Article(
        kept=Kept.OK,
        title=_line(tree, "#title_area")[:TITLE_CHARACTERS_MAX],
        body=_paragraphs(body.text(deep=True))[:BODY_CHARACTERS_MAX],
        press=_attribute(tree, "img.media_end_head_top_logo_img", "title"),
        reporter=_line(tree, "em.media_end_head_journalist_name") or _line(tree, "span.byline_s"),
        published_at=_moment(_attribute(tree, "._ARTICLE_DATE_TIME", "data-date-time")),
        edited_at=_moment(_attribute(tree, "._ARTICLE_MODIFY_DATE_TIME", "data-modify-date-time")),
    )


def _line(tree: LexborHTMLParser, selector: str) -> str:
    node = tree.css_first(selector)
    return "" if node is None else " ".join(node.text(deep=True).split())


def _attribute(tree: LexborHTMLParser, selector: str, name: str) -> str:
    node = tree.css_first(selector)
    return "" if node is None else (node.attributes.get(name) or "").strip()


def _paragraphs(text: str) -> str:
    return _BREAKS.sub("\n", _SPACES.sub(" ", text)).strip()


def _moment(text: str) -> float | None:
    """Pages show Korean time without saying so."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=KOREA).timestamp()
    except ValueError:
        return None
