"""The paper, the admin API and the metrics over real HTTP, on a file and a real sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from dure_sandbox import Fault
from newsroom import pages
from newsroom.prompts import KINDS
from newsroom.reading import Shown
from newsroom.rehearsal import ADMIN, READER

if TYPE_CHECKING:
    from apps.newsroom.tests.conftest import Desk

JOBS = "/api/v1/admin/ai/jobs"
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
    assert 400 == await desk.status("GET", f"{JOBS}/dead-letters?limit=0", READER)
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


def test_a_page_of_another_kind_is_not_called_taken_back_by_its_publisher() -> None:
    """A1"""
    foreign = Shown(
        id="001-0000000001",
        oid="001",
        aid="0000000001",
        section="finance",
        url="https://news.test/1",
        kept="foreign",
        version=0,
        title="",
        press="",
        characters=0,
        is_urgent=False,
        published_at=None,
        edited_at=None,
        first_seen_at=0.0,
        answers={},
    )

    assert "A page of another kind" in pages.article(foreign, "en", 200)
    assert "다른 형식의 페이지" in pages.article(foreign, "ko", 200)
