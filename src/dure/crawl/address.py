"""Links of a page as canonical addresses, in batches.

Most links of a site are paths on the same host, and most of them were met before: those are
looked up as they stand in the page.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from dure.crawl.seen import digest_of
from dure.fetch.failure import UrlRefused
from dure.fetch.url import canonical, join, split

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
        self._known: dict[tuple[str, str, str], Address | None] = {}
        self.refused = 0

    def resolve(
        self, page_url: str, origin: str, links: Sequence[str], stage: str
    ) -> list[Address]:
        """The addresses of links on a page, without those that may not be fetched."""
        known = self._known
        found: list[Address] = []
        for link in links:
            is_path = link.startswith("/") and not link.startswith("//")
            key = (origin, stage, link)
            if is_path and key in known:
                address = known[key]
            else:
                address = address_of(page_url, link, stage)
                if is_path:
                    if len(known) >= MEMORY_MAX:
                        known.clear()
                    known[key] = address
            if address is None:
                self.refused += 1
            else:
                found.append(address)
        return found


def address_of(page_url: str, link: str, stage: str) -> Address | None:
    """One link's address; None for what may not be fetched."""
    try:
        url = canonical(join(page_url, link))
    except UrlRefused:
        return None
    return Address(url, split(url).host, digest_of(stage, url))


def origin_of(url: str) -> str:
    """Scheme and host of an address."""
    end = url.find("/", url.find("://") + 3)
    return url if end < 0 else url[:end]
