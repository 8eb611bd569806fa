"""Feeds and sitemaps: lists of addresses that a site offers to machines."""

import zlib
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urljoin

from lxml import etree

SITEMAP_BYTES_MAX: Final = 50_000_000
"""What the protocol allows a sitemap to unpack to."""
ENTRIES_MAX: Final = 50_000
"""Addresses in one sitemap or feed, as the protocol allows; the rest is not read."""
_GZIP: Final = b"\x1f\x8b"


class Unreadable(ValueError):
    """Not a feed or sitemap at all, or one that is built to harm."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a feed; texts are as the feed says them."""

    url: str
    title: str = ""
    published: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What a sitemap lists: pages, or further sitemaps."""

    pages: list[str] = field(default_factory=list)
    sitemaps: list[str] = field(default_factory=list)


def read_sitemap(body: bytes, url: str) -> Sitemap:
    """Read a sitemap, packed or not. Raises Unreadable."""
    root = _root(_unpacked(body), url)
    found = Sitemap()
    name = _name(root)
    if name not in {"urlset", "sitemapindex"}:
        raise Unreadable(f"{url} is <{name}>, not a sitemap")
    target = found.pages if name == "urlset" else found.sitemaps
    for child in root:
        location = _child(child, "loc")
        if location and len(target) < ENTRIES_MAX:
            target.append(urljoin(url, location))
    return found


def read_feed(body: bytes, url: str) -> list[Entry]:
    """Read RSS 0.9 to 2.0, RDF or Atom. Raises Unreadable."""
    root = _root(_unpacked(body), url)
    if _name(root) not in {"rss", "RDF", "feed"}:
        raise Unreadable(f"{url} is <{_name(root)}>, not a feed")
    entries = [node for node in root.iter() if _name(node) in {"item", "entry"}]
    return [
        Entry(
            urljoin(url, link),
            _child(node, "title"),
            _child(node, "pubDate", "published", "updated", "date"),
            _child(node, "description", "summary"),
        )
        for node in entries[:ENTRIES_MAX]
        if (link := _link(node))
    ]


def _link(node: "etree._Element") -> str:
    for child in node:
        if _name(child) != "link":
            continue
        if child.get("href"):
            if child.get("rel", "alternate") == "alternate":
                return str(child.get("href"))
        elif child.text:
            return str(child.text).strip()
    guid = next((child for child in node if _name(child) == "guid"), None)
    is_link = guid is not None and guid.get("isPermaLink", "true") == "true"
    return (guid.text or "").strip() if guid is not None and is_link else ""


def _child(node: "etree._Element", *names: str) -> str:
    for name in names:
        for child in node:
            if _name(child) == name and child.text:
                return str(child.text).strip()
    return ""


def _name(node: "etree._Element") -> str:
    """The name without its namespace; comments and the like have none."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def _root(body: bytes, url: str) -> "etree._Element":
    # No entity is replaced and nothing is loaded: a billion laughs stay untold.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, recover=True)
    try:
        root = etree.fromstring(body.strip(), parser)
    except etree.XMLSyntaxError as error:
        raise Unreadable(f"{url} is not XML: {error}") from error
    if root is None:
        raise Unreadable(f"{url} is not XML")
    return root


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(_GZIP):
        return body
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        text = reader.decompress(body, SITEMAP_BYTES_MAX)
    except zlib.error as error:
        raise Unreadable(f"it is packed, but not well: {error}") from error
    if reader.unconsumed_tail:
        raise Unreadable(f"it unpacks to more than {SITEMAP_BYTES_MAX:,} bytes")
    return text
