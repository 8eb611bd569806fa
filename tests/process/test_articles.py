"""Articles of sites that nobody has written selectors for, read in processes of their own."""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator

import pytest
from multidict import CIMultiDict

from dure.crawl import Page
from dure.crawl.article import Reader
from dure.fetch.page import Page as Fetched

pytestmark = [pytest.mark.process, pytest.mark.slow]

SENTENCES = (
    "The harbour was rebuilt in a single winter, and the town paid for it with a lottery. "
    "Nobody who won a prize ever came to collect it, which the council noted with relief. "
    "Ships now unload twice as fast as before, says the master of the port. "
)
UNKNOWN = f"""<html><head><title>The harbour</title>
<meta name="author" content="Ann Sailor">
<meta property="article:published_time" content="2024-05-06">
</head><body><nav><a href="/">Home</a><a href="/a">Politics</a></nav>
<div class="x"><h1>A harbour for a lottery</h1>{f"<p>{SENTENCES}</p>" * 4}</div>
<footer>All rights reserved.</footer></body></html>"""


def _page(html: str, reader: Reader) -> Page:
    url = "http://news.example/1"
    headers = CIMultiDict({"Content-Type": "text/html; charset=utf-8"})
    fetched = Fetched(asked=url, url=url, status=200, headers=headers, body=html.encode())
    return Page(fetched, reader=reader)


@pytest.fixture
async def reader() -> AsyncIterator[Reader]:
    reader = Reader(processes=1)
    yield reader
    await reader.close()


async def test_without_selectors_the_article_is_found_in_another_process(reader: Reader) -> None:
    """Only the text of the article comes back, with what the page says of itself."""
    article = await _page(UNKNOWN, reader).article(body=[".gone-since-the-redesign"])

    assert article is not None
    assert article.by == "reader"
    assert article.title == "A harbour for a lottery"
    assert article.body.count("paid for it with a lottery") >= 1
    assert "All rights reserved" not in article.body
    assert article.published == "2024-05-06"
    assert article.author == "Ann Sailor"


async def test_reading_does_not_hold_up_the_loop_and_ends_with_its_reader() -> None:
    reader = Reader(processes=1)
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    turning = asyncio.create_task(turn())
    try:
        assert await _page(UNKNOWN, reader).article() is not None
        before = turns
        found = await asyncio.gather(*(_page(UNKNOWN, reader).article() for _ in range(4)))
        assert all(found)
        assert turns - before > len(found)
    finally:
        turning.cancel()
        await reader.close()
    assert multiprocessing.active_children() == []


async def test_a_page_without_an_article_has_none(reader: Reader) -> None:
    assert await _page("<html><body></body></html>", reader).article() is None
