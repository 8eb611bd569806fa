"""Which addresses are known: a filter says "new" at once, and "known" is looked up.

Three steps, the cheap one first. An address that the Bloom filter has not seen is new: its
job is built and the store's unique key has the last word. One that is in the exact set was
claimed, or found in the store, a while ago: known. All others are looked up together in the
store. So the filter only saves work: a false positive, a stale or an empty filter costs time
and never a page, and what was marked by a page that was never committed is not lost.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final

from rbloom import Bloom

FILTER_MIN: Final = 100_000
FILTER_ERROR: Final = 1e-4
EXACT_MAX: Final = 100_000
"""Keys in one generation of the exact set; there are two, of about 100 bytes a key."""


def digest_of(stage: str, url: str) -> bytes:
    """A canonical address as one stage sees it, in 16 bytes: two alike are not to be expected."""
    return blake2b(f"{stage}\n{url}".encode(), digest_size=16).digest()


class Seen:
    """What this process knows of one run's addresses."""

    def __init__(self, *, filter_min: int = FILTER_MIN, exact_max: int = EXACT_MAX) -> None:
        self._filters = [Bloom(filter_min, FILTER_ERROR)]
        self._room = filter_min
        self._size = filter_min
        self._exact: set[bytes] = set()
        self._older: set[bytes] = set()
        self._exact_max = exact_max
        self.new = 0
        self.known = 0
        self.asked = 0
        """How often the store had to be asked."""
        self.false_positives = 0

    def sort(self, digests: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
        """Those that are new, and those to look up; the rest is known. New ones are noted."""
        exact, older, filters = self._exact, self._older, self._filters
        new: list[bytes] = []
        doubtful: list[bytes] = []
        for digest in digests:
            if digest in exact or digest in older:
                self.known += 1
                continue
            for each in filters:
                if digest in each:
                    doubtful.append(digest)
                    break
            else:
                new.append(digest)
                self._note(digest)
        self.new += len(new)
        self.asked += len(doubtful)
        return new, doubtful

    def confirm(self, digest: bytes) -> None:
        """It is in the store for certain: its job was claimed, or its key was found."""
        if digest in self._exact:
            return
        if len(self._exact) >= self._exact_max:
            self._older, self._exact = self._exact, set()
        self._exact.add(digest)

    def learn(self, digests: Sequence[bytes]) -> None:
        """Fill the filter from the store."""
        for digest in digests:
            self._note(digest)

    def claimed(self, digest: bytes) -> None:
        """A job for it is running here."""
        if digest not in self._exact:
            if not any(digest in each for each in self._filters):
                self._note(digest)
            self.confirm(digest)

    def _note(self, digest: bytes) -> None:
        if self._room <= 0:
            # A filter cannot grow: another one of twice the size takes what comes now.
            self._size *= 2
            self._room = self._size
            self._filters.insert(0, Bloom(self._size, FILTER_ERROR))
        self._room -= 1
        self._filters[0].add(digest)
