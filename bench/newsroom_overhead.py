"""How much of the newsroom's processor time is not work:  python newsroom_overhead.py ARTICLES

The newsroom crawls so many articles of a sandbox on its own processes and takes them through
all five kinds on the local provider, on SQLite. Then a bare loop in a fresh process does the
same work and nothing else: the same pages over HTTP, the same parsers, the same questions to
the same provider. What the newsroom took more is the overhead, in % of its processor time.
"""

import asyncio
import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import uvloop

from dure.ai import Answer, Question
from dure.ai.local.provider import Local
from dure.core.filter import JobFilter
from newsroom.article import read_article
from newsroom.listing import read_fragment, read_page
from newsroom.program import Newsroom
from newsroom.prompts import KINDS
from newsroom.settings import Settings

UNFINISHED = JobFilter.parse(
    f"state:pending,running,retry_wait,suspended kind:{','.join(KINDS)},ARTICLE,SECTION,CRAWL"
)
PATIENCE = 150.0
PAGE = 36
SECTIONS = 8


class Noted(Local):
    """The local provider, with a note of every question."""

    def __init__(self) -> None:
        super().__init__()
        self.questions: list[Question] = []

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return await super().ask(question)


@contextmanager
def sandbox(articles: int) -> Iterator[str]:
    """A news site in a process of its own of so many articles a day; its address."""
    words = ["sandbox", "--json", "--port", "0", "--articles-per-day", str(articles)]
    with subprocess.Popen(
        [sys.executable, "-m", "dure.cli.main", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["news"]
        finally:
            process.terminate()


async def whole(site: str, store: str, articles: int) -> dict[str, Any]:
    """The newsroom at work until nothing is left: its processor time, and what it did."""
    provider = Noted()
    settings = Settings(
        store=store,
        site=site,
        crawl="0 0 1 1 *",
        allow=("127.0.0.0/8",),
        news_rate="100000/s",
        ai_limits=("10000000/m",),
        pages_max=max(articles // (PAGE * SECTIONS), 1),
        retry_base="100ms",
        attempts_max=2,
    )
    newsroom = Newsroom(settings, provider=provider)
    urls: list[str] = []
    get = newsroom.fetcher.get

    async def noted(url: str, **options: Any) -> Any:
        urls.append(url)
        return await get(url, **options)

    newsroom.fetcher.get = noted  # type: ignore[method-assign]
    async with newsroom.working():
        cpu, wall = time.process_time(), time.perf_counter()
        await newsroom.app.fire("crawl")
        await asyncio.sleep(2.0)
        while (await newsroom.app.insights.count(UNFINISHED)).jobs:
            left = await newsroom.app.insights.count(UNFINISHED)
            assert time.perf_counter() - wall < PATIENCE, f"it does not come to an end: {left}"
            await asyncio.sleep(0.5)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        (row,) = await newsroom.records.rows("select count(*) as n from newsroom_article")
    return {
        "articles": row["n"],
        "cpu": cpu,
        "wall": wall,
        "urls": urls,
        "questions": provider.questions,
    }


async def bare(urls: list[str], questions: list[Question]) -> float:
    """The processor time of the same work in a loop."""
    provider = Local()
    cpu = time.process_time()
    async with aiohttp.ClientSession() as session:

        async def fetch(part: list[str]) -> None:
            for url in part:
                async with session.get(url) as reply:
                    text = await reply.text(errors="replace")
                if "/article/" in url:
                    read_article(text)
                elif text.lstrip().startswith("{"):
                    read_fragment(text, url)
                else:
                    read_page(text, url)

        await asyncio.gather(*(fetch(urls[n::8]) for n in range(8)))
    for question in questions:
        msgspec.json.decode((await provider.ask(question)).text)
    return time.process_time() - cpu


def main() -> None:
    if sys.argv[1] == "bare":
        found = pickle.loads(Path(sys.argv[2]).read_bytes())
        print(uvloop.run(bare(found["urls"], found["questions"])))
        return
    articles = int(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="dure-newsroom-") as folder, sandbox(articles) as site:
        found = uvloop.run(whole(site, str(Path(folder) / "newsroom.db"), articles))
        kept = Path(folder) / "work.pickle"
        kept.write_bytes(pickle.dumps({name: found[name] for name in ("urls", "questions")}))
        again = [sys.executable, __file__, "bare", str(kept)]
        done = subprocess.run(again, capture_output=True, text=True, check=True, timeout=PATIENCE)
    least = float(done.stdout)
    line = {
        "articles": found["articles"],
        "pages": len(found["urls"]),
        "questions": len(found["questions"]),
        "seconds": round(found["wall"], 1),
        "cpu_s": round(found["cpu"], 2),
        "bare_cpu_s": round(least, 2),
        "overhead": round(100 * (1 - least / found["cpu"]), 1),
    }
    print(json.dumps(line))


main()
