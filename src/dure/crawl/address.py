"""Links of a page as canonical addresses, in batches.

Most links of a site are paths on the same host, and most of them were met before: those are
looked up as they stand in the page.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from dure.crawl.seen import digest_of
from dure.fetch.failure import UrlRefused
from dure.fetch.url import canonical_links

MEMORY_MAX: Final = 20_000
"""Links whose canonical form is remembered, of about 400 bytes each."""


class Address(NamedTuple):
    """A canonical address."""

    url: str
    host: str
    """With the port, unless it is the scheme's own: the lane of its pages."""
    digest: bytes


class Addresses:
    """Resolves links; remembers those that are paths from the root of one host."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[str, Address | None]] = {}
        """By origin and stage."""
        self._size = 0
        self.refused = 0

    def resolve(
        self, page_url: str, origin: str, links: Sequence[str], stage: str
    ) -> list[Address]:
        """The addresses of links on a page, without those that may not be fetched."""
        known = self._known.setdefault((origin, stage), {})
        found = [known[link] for link in links if link in known]
        if len(found) < len(links):
            fresh = [link for link in links if link not in known]
            resolved = _addresses(page_url, fresh, stage)
            found += resolved
            if self._size >= MEMORY_MAX:
                self._known.clear()
                self._size, known = 0, self._known.setdefault((origin, stage), {})
            rooted = [
                (link, address)
                for link, address in zip(fresh, resolved, strict=True)
                if link[:1] == "/" and link[1:2] != "/"
            ]
            known.update(rooted)
            self._size += len(rooted) + 1
        whole = [address for address in found if address is not None]
        self.refused += len(found) - len(whole)
        return whole


def address_of(page_url: str, link: str, stage: str) -> Address | None:
    """One link's address; None for what may not be fetched."""
    return _addresses(page_url, [link], stage)[0]


def _addresses(page_url: str, links: Sequence[str], stage: str) -> list[Address | None]:
    try:
        resolved = canonical_links(page_url, links)
    except UrlRefused:
        return [None] * len(links)
    return [
        None if each is None else Address(each[0], each[1], digest_of(stage, each[0]))
        for each in resolved
    ]


def origin_of(url: str) -> str:
    """Scheme and host of an address."""
    end = url.find("/", url.find("://") + 3)
    return url if end < 0 else url[:end]
