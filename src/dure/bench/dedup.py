"""How many links a second of the processor are made canonical and sorted into new and known ones.

No store takes part: this is what stands before it. New addresses go all the way from the link
as it stands in a page to the filter; known ones are links that this process has met before.
"""

import time
from collections.abc import Sequence

from dure.bench.figures import Reading
from dure.bench.ground import Ground
from dure.bench.options import Options
from dure.crawl.address import Addresses
from dure.crawl.seen import Seen

_HOST = "http://shop.example"
_PAGE = f"{_HOST}/list/1"
_STAGE = "shop.product"
_KNOWN_LINKS = 10_000
_FALSE_SIZE = 1000
"""Of a filter so small that it is wrong about some addresses."""


async def dedup(ground: Ground, given: Options) -> list[Reading]:
    """Links a second that were never met, and that were; and pages lost to the filter."""
    del ground
    fresh = [f"/item/{number}.html" for number in range(given.jobs)]
    few = fresh[:_KNOWN_LINKS]
    known = [few] * max(given.jobs // len(few), 1)
    seen, addresses = Seen(), Addresses()
    new = _rate(_parted(fresh, given.batch), addresses, seen)
    seen, addresses = Seen(), Addresses()
    _rate(_parted(few, given.batch), addresses, seen)
    for each in addresses.resolve(_PAGE, _HOST, few, _STAGE):
        seen.confirm(each.digest)
    parts = [part for links in known for part in _parted(links, given.batch)]
    return [
        Reading("dedup", new, "URLs/s", "addresses never met before"),
        Reading("dedup.known", _rate(parts, addresses, seen), "URLs/s", "addresses met before"),
        Reading("dedup.lost", _lost(fresh), "pages", "that a full filter hides from the store"),
    ]


def _parted(links: Sequence[str], batch: int) -> list[Sequence[str]]:
    return [links[at : at + batch] for at in range(0, len(links), batch)]


def _rate(parts: Sequence[Sequence[str]], addresses: Addresses, seen: Seen) -> float:
    began = time.process_time()
    for links in parts:
        seen.sort([each.digest for each in addresses.resolve(_PAGE, _HOST, links, _STAGE)])
    return sum(map(len, parts)) / (time.process_time() - began)


def _lost(links: Sequence[str]) -> float:
    """Addresses that were neither called new nor put to the store, of a filter that is full."""
    seen = Seen(filter_min=_FALSE_SIZE)
    digests = [each.digest for each in Addresses().resolve(_PAGE, _HOST, links, _STAGE)]
    new, doubtful = seen.sort(digests)
    return float(len(digests) - len(new) - len(doubtful))
