"""One spelling for each address, so that two spellings of one page are one page.

Everything the WHATWG standard normalises (case, dots in paths, default ports, escapes,
international names) is done by the parser; on top of it the fragment and the login go and
the query is sorted. Parameters that only say where a visitor came from go when asked.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

import can_ada

from dure.fetch.failure import UrlRefused

URL_LENGTH_MAX: Final = 8192
"""Longer ones are traps or attacks; servers refuse them as well."""

TRACKING: Final = frozenset(
    {
        *("fbclid", "gclid", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "igshid"),
        *("mc_cid", "mc_eid", "_ga", "_gl", "n_media", "n_query", "n_rank", "n_ad_group"),
        *("n_ad", "n_keyword", "n_keyword_id", "n_campaign_type", "napm", "srsltid", "ttclid"),
    }
)
_TRACKING_PREFIX: Final = "utm_"
_FETCHED: Final = ("http://", "https://")
_PLAIN: Final = re.compile("[^?#@]*").fullmatch
"""An address without a query, a fragment and a login is spelled as the parser left it."""


class Parts(NamedTuple):
    """An address that may be asked for."""

    href: str
    scheme: str
    host: str
    """With the port, unless it is the scheme's own."""
    name: str
    """The host without its port, an IPv6 address without brackets."""
    path: str
    """Path and query."""
    origin: str
    """Scheme and host: what a robots.txt is valid for."""


def canonical(url: str, *, drop_tracking: bool = False) -> str:
    """The one spelling of an http or https address. Raises UrlRefused."""
    return _spelled(_parse(url), drop_tracking=drop_tracking)


def _spelled(parsed: can_ada.URL, *, drop_tracking: bool) -> str:
    parsed.hash = ""
    if parsed.has_credentials():
        parsed.username = parsed.password = ""
    search = parsed.search
    if search:
        parsed.search = _sorted(search, drop_tracking=drop_tracking)
        href: str = parsed.href
        return href
    href = parsed.href
    # A lone "?" says the same as none.
    return href.removesuffix("?")


def canonical_many(urls: Iterable[str], *, drop_tracking: bool = False) -> list[str | None]:
    """The one spelling of each address, in order; None for what may not be fetched."""
    found: list[str | None] = []
    for url in urls:
        try:
            found.append(canonical(url, drop_tracking=drop_tracking))
        except UrlRefused:
            found.append(None)
    return found


def canonical_links(base: str, links: Iterable[str]) -> list[tuple[str, str] | None]:
    """The one spelling and the host of each link on a page; None for what may not be fetched.

    Each link is parsed once, which is most of what following links costs.
    """
    root = _parse(base)
    found: list[tuple[str, str] | None] = []
    for link in links:
        try:
            parsed = root + link.strip()
        except ValueError:
            found.append(None)
            continue
        href = parsed.href
        if not href.startswith(_FETCHED):  # none of these schemes parses without a host
            found.append(None)
            continue
        if not _PLAIN(href):
            href = _spelled(parsed, drop_tracking=False)
        found.append((href, parsed.host) if len(href) <= URL_LENGTH_MAX else None)
    return found


def join(base: str, link: str) -> str:
    """The address a link on a page stands for. Raises UrlRefused."""
    try:
        return str(can_ada.parse(base) + link.strip())
    except ValueError as error:
        raise UrlRefused("Not a link that can be followed", url=link[:URL_LENGTH_MAX]) from error


def split(url: str) -> Parts:
    """The parts of an address that a fetch needs. Raises UrlRefused."""
    parsed = _parse(url)
    if parsed.has_hash():
        parsed.hash = ""
    name = parsed.hostname
    return Parts(
        parsed.href,
        parsed.protocol[:-1],
        parsed.host,
        name[1:-1] if name.startswith("[") else name,
        parsed.pathname + parsed.search,
        parsed.origin,
    )


def _parse(url: str) -> can_ada.URL:
    if len(url) > URL_LENGTH_MAX:
        raise UrlRefused(f"An address over {URL_LENGTH_MAX} characters", url=url[:200])
    try:
        parsed = can_ada.parse(url)
    except ValueError as error:
        raise UrlRefused("Not an address", url=url, hint="Give a full http(s) URL.") from error
    if parsed.protocol not in {"http:", "https:"}:
        raise UrlRefused("Only http and https are fetched", url=url)
    if not parsed.hostname:
        raise UrlRefused("An address without a host", url=url)
    return parsed


def _sorted(search: str, *, drop_tracking: bool) -> str:
    """The query with its pairs in order of their names; their spelling stays as it is."""
    pairs = [pair for pair in search[1:].split("&") if pair]
    if drop_tracking:
        pairs = [pair for pair in pairs if not _is_tracking(pair.partition("=")[0])]
    # Pairs of one name keep their order: it may have a meaning.
    pairs.sort(key=_name)
    return "&".join(pairs)


def _name(pair: str) -> str:
    return pair.partition("=")[0]


def _is_tracking(name: str) -> bool:
    name = name.lower()
    return name in TRACKING or name.startswith(_TRACKING_PREFIX)
