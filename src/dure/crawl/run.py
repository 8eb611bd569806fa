"""A run: one crawl from its start addresses to its last page. Its jobs are one session."""

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from dure.core.job import Unique
from dure.crawl.seen import Seen
from dure.ports.store import Store
from dure.scripts import crawls, keys

_PAGE: Final = 5000
_FUTURES_MAX: Final = 1000


class Run(msgspec.Struct, kw_only=True, frozen=True):
    """A run as it is written down."""

    session: str
    spider: str
    scope: str
    """What its addresses are unique within: the run, or all runs of the spider."""
    hosts: list[str] = []
    """Where it may go; empty: anywhere."""
    started_at: float = 0.0


class Course:
    """A run on this process: what it knows of addresses, and what it left out."""

    def __init__(self, run: Run, store: Store) -> None:
        self.run = run
        self.hosts = frozenset(run.hosts)
        self.seen = Seen()
        self.outside = 0
        """Links that lead to other hosts."""
        self.too_deep = 0
        self._store = store
        self._prefix = f"crawl:{run.scope}:"
        self._asked: list[tuple[list[bytes], asyncio.Future[set[bytes]]]] = []
        self._asking: asyncio.Task[None] | None = None
        self._filling: asyncio.Task[None] | None = None

    def key(self, digest: bytes) -> Unique:
        """The unique key that keeps an address from being fetched twice."""
        return Unique(key=f"{self._prefix}{_text(digest)}", scope="global", forever=True)

    def start_key(self, digest: bytes) -> Unique:
        """The same for a start address, which every run fetches."""
        return Unique(key=f"crawl:{self.run.session}:{_text(digest)}", scope="global", forever=True)

    def fill(self) -> None:
        """Fill the filter from the store, beside the work: until then it only knows less."""
        if self._filling is None:
            self._filling = asyncio.get_running_loop().create_task(self._fill())

    async def known(self, digests: Sequence[bytes]) -> set[bytes]:
        """Which of these the store knows. Whoever asks meanwhile shares the next question."""
        if not digests:
            return set()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[set[bytes]] = loop.create_future()
        self._asked.append((list(digests), future))
        if self._asking is None:
            self._asking = loop.create_task(self._ask())
        return await future

    async def close(self) -> None:
        """Let go of what is under way."""
        tasks = [task for task in (self._asking, self._filling) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self) -> None:
        try:
            while self._asked:
                group, self._asked = self._asked[:_FUTURES_MAX], self._asked[_FUTURES_MAX:]
                try:
                    found = await self._look_up(group)
                except Exception as error:  # whoever asked must hear of it
                    for _, future in group:
                        if not future.done():
                            future.set_exception(error)
                    continue
                for digests, future in group:
                    if not future.done():
                        future.set_result(found.intersection(digests))
        finally:
            self._asking = None

    async def _look_up(
        self, group: Iterable[tuple[list[bytes], "asyncio.Future[set[bytes]]"]]
    ) -> set[bytes]:
        wanted = {
            f"global:{self._prefix}{_text(digest)}": digest
            for digests, _ in group
            for digest in digests
        }
        taken = await self._store.read(keys.known(list(wanted)))
        found = {wanted[key] for key in taken}
        for digest in found:
            self.seen.confirm(digest)
        return found

    async def _fill(self) -> None:
        prefix, after = f"global:{self._prefix}", ""
        while True:
            page = await self._store.read(keys.under(prefix, limit=_PAGE, after=after))
            self.seen.learn([_digest(key[len(prefix) :]) for key in page])
            if len(page) < _PAGE:
                return
            after = page[-1]
            await asyncio.sleep(0)


def _text(digest: bytes) -> str:
    return urlsafe_b64encode(digest)[:22].decode()


def _digest(text: str) -> bytes:
    return urlsafe_b64decode(text + "==")


async def runs_of(store: Store) -> list[Run]:
    """Every run, oldest first."""
    texts = await store.read(crawls.runs())
    runs = [msgspec.json.decode(text, type=Run) for text in texts.values()]
    return sorted(runs, key=lambda run: run.started_at)
