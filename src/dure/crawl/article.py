"""The article of a page: by the site's own selectors, else by a reader that knows no site.

The reader takes tens of milliseconds for a page, so it runs in other processes and never on
the loop that fetches.
"""

import asyncio
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dure.crawl.page import Page

TEXT_MIN: Final = 40
"""A shorter text of a site's selector is taken for a miss: the site has changed."""
READERS_MAX: Final = 2


@dataclass(frozen=True, slots=True)
class Article:
    """What a reader would call the article."""

    title: str
    body: str
    published: str = ""
    author: str = ""
    by: str = "selectors"
    """Who found it: `selectors`, or `reader`."""


class Reader:
    """Finds articles. Its processes start with the first page that needs one."""

    def __init__(self, processes: int = READERS_MAX) -> None:
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    async def article(
        self,
        page: "Page",
        *,
        title: Sequence[str] = ("h1",),
        body: Sequence[str] = (),
        published: Sequence[str] = (),
    ) -> Article | None:
        """The article of a page; None when nobody finds one."""
        text = _first(page, body)
        if len(text) >= TEXT_MIN:
            return Article(_first(page, title), text, _first(page, published))
        if self._pool is None:
            # A fork would copy a process full of threads and sockets.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._processes, mp_context=context)
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._pool, read, page.html, page.url)
        if found is None:
            return None
        own = _first(page, title)
        return Article(
            own or found[0], found[1], _first(page, published) or found[2], found[3], "reader"
        )

    async def close(self) -> None:
        """End its processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def read(html: str, url: str) -> tuple[str, str, str, str] | None:
    """Title, body, date and author, as far as they can be told without knowing the site."""
    import trafilatura  # noqa: PLC0415  # heavy, and only where it runs

    found = trafilatura.bare_extraction(html, url=url, with_metadata=True)
    if not isinstance(found, trafilatura.settings.Document) or not found.text:
        return None
    return (found.title or "", found.text, found.date or "", found.author or "")


def _first(page: "Page", selectors: Sequence[str]) -> str:
    for css in selectors:
        text = page.text(css, "")
        if text:
            return text
    return ""
