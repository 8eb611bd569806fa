"""The paper, the admin API and the metrics over real HTTP, on a file and a real sandbox."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from dure.core.filter import JobFilter
from dure.web import serve
from dure_sandbox import Fault, NewsOptions, Sandbox
from newsroom.program import Newsroom
from newsroom.prompts import KINDS
from newsroom.rehearsal import ADMIN, QUICK, READER
from newsroom.site import site_of

JOBS = "/api/v1/admin/ai/jobs"


class Desk:
    """A newsroom that has crawled, and its readers and editors."""

    def __init__(self, newsroom: Newsroom, sandbox: Sandbox, http: aiohttp.ClientSession) -> None:
        self.newsroom = newsroom
        self.sandbox = sandbox
        self.http = http

    async def settled(self, wanted: str, count: int | None = None) -> int:
        """Wait until so many jobs, or any, are as a filter says."""
        async with asyncio.timeout(60):
            while True:
                found = await self.newsroom.app.insights.count(JobFilter.parse(wanted))
                if found.jobs == count or (count is None and found.jobs):
                    return found.jobs
                await asyncio.sleep(0.05)

    async def text(self, path: str) -> str:
        async with self.http.get(path) as answer:
            assert answer.status == 200, path
            return await answer.text()

    async def status(self, method: str, path: str, token: str | None = None) -> int:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with self.http.request(method, path, headers=headers) as answer:
            return answer.status


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with Sandbox(news=NewsOptions(articles_per_day=8)) as sandbox:
        settings = replace(
            QUICK,
            store=str(tmp_path / "newsroom.db"),
            site=sandbox.news.url,
            ai_url=f"{sandbox.ai.url}/v1",
            allow=("127.0.0.0/8",),
            news_rate="1000/s",
            urgent_words=("한",),
        )
        newsroom = Newsroom(settings)
        async with (
            newsroom.working() as node,
            serve(site_of(newsroom, node)) as url,
            aiohttp.ClientSession(url) as http,
        ):
            yield Desk(newsroom, sandbox, http)


UNFINISHED = f"state:pending,running,retry_wait kind:{','.join(KINDS)},ARTICLE,SECTION,CRAWL"


async def test_readers_find_every_article_in_korean_and_english(desk: Desk) -> None:
    await desk.newsroom.app.fire("crawl")
    await desk.settled("kind:QUIZ_TERM state:success")
    await desk.settled(UNFINISHED, 0)
    korean = await desk.text("/?lang=ko")
    english = await desk.text("/?section=finance&lang=en")
    (row, *_) = await desk.newsroom.records.rows(
        "select oid, aid, title from newsroom_article where id in "
        "(select article from newsroom_result where kind = 'QUIZ_TERM')"
    )
    article = await desk.text(f"/articles/{row['oid']}/{row['aid']}?lang=ko")

    assert "오늘의 경제 기사" in korean
    assert "속보" in korean
    assert "Economy news of today" in english
    assert all(word in article for word in ("요약", "용어 카드", "인사이트", "퀴즈", "정답 보기"))
    assert "http-equiv" not in article
    assert 404 == await desk.status("GET", "/articles/999/0000000000")
    assert 400 == await desk.status("GET", "/?section=sports")
    for page in (korean, english, article):
        links = [part.split('"')[0] for part in page.split('src="')[1:]]
        assert [] == links
        assert 'href="/style.css"' in page


async def test_an_editor_resumes_what_an_empty_wallet_has_suspended(desk: Desk) -> None:
    """A9"""
    wallet = desk.sandbox.faults.add(Fault(kind="insufficient_quota", site="ai"))
    await desk.newsroom.app.fire("crawl")
    await desk.settled("kind:SECTION state:success", 8)
    await desk.settled("state:suspended reason:QUOTA")
    await desk.settled(UNFINISHED, 0)
    held = await desk.settled("state:suspended reason:QUOTA")
    desk.sandbox.faults.remove(wallet)

    for token, status in ((None, 401), ("not-the-right-token", 401), (READER, 403)):
        assert status == await desk.status("POST", f"{JOBS}/resume?reason=QUOTA", token)
    assert 400 == await desk.status("POST", f"{JOBS}/resume", ADMIN)
    headers = {"Authorization": f"Bearer {ADMIN}"}
    async with desk.http.post(f"{JOBS}/resume?reason=QUOTA", headers=headers) as answer:
        body = await answer.json()
    await desk.settled("state:suspended", 0)
    await desk.settled("kind:SUMMARY state:success", held)

    assert (200, held) == (answer.status, body["resumed"])
    entries = await desk.newsroom.app.insights.audit()
    mine = [entry for entry in entries if entry.actor == "anna"]
    assert "jobs.resume" in {entry.command for entry in mine}
    assert f"POST {JOBS}/resume" in {entry.reason for entry in mine}


async def test_a_scraper_reads_the_newsrooms_and_the_engines_metrics(desk: Desk) -> None:
    """A10"""
    await desk.newsroom.app.fire("crawl")
    await desk.settled("kind:QUIZ_TERM state:success")
    families = {f.name for f in text_string_to_metric_families(await desk.text("/metrics"))}

    assert {"crawler_articles", "ai_job_processed", "openai_api_latency_seconds"} <= families
    assert {"dure_jobs", "dure_moves", "dure_limit_used_ratio", "dure_kind_slots"} <= families
    assert 200 == await desk.status("GET", "/health/ready")
