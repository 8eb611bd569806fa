"""A section's list: which articles stand in it and where its next page begins. Pure."""

import json
import re
from dataclasses import dataclass
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from dure.fetch.failure import ContractChanged

AREA: Final = ".section_latest"
FRAGMENT: Final = "SECTION_ARTICLE_LIST_FOR_LATEST"
_ARTICLE: Final = re.compile(r"/(?:mnews/)?article/(\d{3,10})/(\d{10})(?:[/?#]|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An article as its list shows it."""

    oid: str
    aid: str
    url: str
    title: str

    @property
    def id(self) -> str:
        """What an article is known by: publisher and number."""
        return f"{self.oid}-{self.aid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One page of a list."""

    items: tuple[Item, ...]
    cursor: str | None
    """Where the next page begins; None on the last one. Page numbers alone repeat the first."""


def list_url(site: str, sid2: str) -> str:
    """The first page of a section."""
    return f"{site}/breakingnews/section/101/{sid2}"


def next_url(site: str, sid2: str, *, page: int, cursor: str) -> str:
    """A later page; what answers is a fragment inside of JSON."""
    query = f"sid=101&sid2={sid2}&cluid=&pageNo={page}&date=&next={cursor}"
    return f"{site}/section/template/{FRAGMENT}?{query}"


def read_page(html: str, url: str) -> Listing:
    """The first page. Raises ContractChanged when the list area is not there."""
    tree = LexborHTMLParser(html)
    area = tree.css_first(AREA)
    if area is None:
        raise ContractChanged(f"The list has no {AREA} any more", url=url)
    return _read(area, url)


def read_fragment(text: str, url: str) -> Listing:
    """A later page. Raises ContractChanged when it is not what it used to be."""
    try:
        html = json.loads(text)["renderedComponent"][FRAGMENT]
    except (ValueError, KeyError, TypeError) as error:
        raise ContractChanged(f"A later page of the list is no {FRAGMENT}", url=url) from error
    root = LexborHTMLParser(html).body
    if root is None:
        raise ContractChanged("A later page of the list is empty", url=url)
    return _read(root, url)


def _read(area: LexborNode, url: str) -> Listing:
    found: dict[str, Item] = {}
    for node in area.css("li.sa_item a.sa_text_title"):
        link = node.attributes.get("href") or ""
        match = _ARTICLE.search(link)
        if match is None:
            continue  # links to other parts of the site stand between the articles
        item = Item(
            oid=match[1],
            aid=match[2],
            url=link.partition("?")[0].partition("#")[0],
            title=" ".join(node.text().split()),
        )
        found.setdefault(item.id, item)
    if not found and area.css_first("li.sa_item") is not None:
        raise ContractChanged("No item of the list links to an article any more", url=url)
    meta = area.css_first("._PERSIST_META")
    attributes = {} if meta is None else meta.attributes
    has_next = attributes.get("data-has-next") == "true"
    return Listing(
        items=tuple(found.values()),
        cursor=(attributes.get("data-cursor") or None) if has_next else None,
    )
