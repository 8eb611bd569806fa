"""What a crawl finds, keeps, asks for again and leaves alone (A1, A2)."""

from collections import Counter
from itertools import pairwise

import pytest

from dure import State
from dure.testing import in_virtual_time
from dure_sandbox import Fault
from newsroom.reading import Reading
from newsroom.rehearsal import Stage, at_work
from newsroom.sections import SECTIONS
from newsroom.settings import Settings

pytestmark = pytest.mark.slow


async def listed(stage: Stage) -> set[str]:
    """All articles that the lists of the site hold now."""
    site, now = stage.sandbox.news.site, stage.t.clock.now()
    sections = [section.sid2 for section in SECTIONS.values()]
    return {f"{facts.oid}-{facts.aid}" for sid2 in sections for facts in site.listed(sid2, "", now)}


@in_virtual_time
async def test_every_five_minutes_all_eight_sections_are_crawled() -> None:
    """A1"""
    async with at_work(crawl=Settings().crawl) as stage:
        await stage.t.advance("16m")

        crawls = await stage.t.jobs("kind:CRAWL state:success")
        sections = Counter(job.lane for job in await stage.t.jobs("kind:SECTION state:success"))
        gaps = {b.enqueued_at - a.enqueued_at for a, b in pairwise(crawls)}

    assert 3 == len(crawls)
    assert {300} == {round(gap) for gap in gaps}
    assert dict.fromkeys(SECTIONS, 3) == dict(sections)


@in_virtual_time
async def test_each_listed_article_is_kept_once_with_title_body_and_time() -> None:
    """A1"""
    async with at_work(per_day=60, pages_max=20) as stage:
        await stage.crawl()
        wanted = await listed(stage)
        rows = await stage.rows("select * from newsroom_article")
        site, now = stage.sandbox.news.site, stage.t.clock.now()

        assert wanted == {row["id"] for row in rows}
        assert len(rows) == len({(row["oid"], row["aid"]) for row in rows})
        for row in (row for row in rows if row["kept"] == "ok"):
            facts = site.find(row["oid"], row["aid"], now)
            assert facts is not None
            story = site.story(facts, now)
            body = (
                await stage.rows(
                    "select body from newsroom_version where article = :id", id=row["id"]
                )
            )[0]["body"]
            assert story.title == row["title"]
            assert [line.strip() for line in story.paragraphs] == body.split("\n")
            assert facts.published_at == row["published_at"]


@in_virtual_time
async def test_a_section_that_fails_does_not_touch_the_others() -> None:
    """A1 X7"""
    broken = Fault(kind="status", site="news", path="*/101/259", status=500)
    async with at_work(broken) as stage:
        await stage.crawl()
        states = {job.lane: job.state for job in await stage.t.jobs("kind:SECTION")}
        found = {row["section"] for row in await stage.rows("select section from newsroom_article")}
        await stage.t.advance("1h")
        failed = await stage.t.jobs("kind:SECTION state:failed")

    assert State.RETRY_WAIT is states.pop("finance")
    assert {State.SUCCESS} == set(states.values())
    assert found >= set(SECTIONS) - {"finance"}
    assert ["finance"] == [job.lane for job in failed]


@in_virtual_time
async def test_a_second_crawl_asks_conditionally_and_keeps_what_is_new() -> None:
    """A1"""
    async with at_work(recheck="1m") as stage:
        await stage.crawl()
        before = len(await stage.rows("select id from newsroom_article"))
        await stage.t.advance("4h")
        stage.sandbox.log.clear()
        await stage.crawl()
        requests = stage.sandbox.log.find(site="news", path="/mnews/article/*")
        unchanged = [each for each in requests if each.status == 304]
        now = await stage.rows("select id from newsroom_article")

        assert len(now) > before
        assert len(requests) - len(unchanged) == len(now) - before + edited(stage)
        assert unchanged
        assert await listed(stage) <= {row["id"] for row in now}


def edited(stage: Stage) -> int:
    """Articles that were edited, or taken back, since they were kept."""
    counted = sum(
        stage.value("crawler_articles_total", section=name, status=status)
        for name in SECTIONS
        for status in ("edited", "deleted")
    )
    return int(counted)


@in_virtual_time
async def test_an_edited_article_gets_a_second_version_and_is_analysed_again() -> None:
    """A1 A2"""
    async with at_work(per_day=2000, recheck="1m", min_content_length_for_ai=850) as stage:
        await stage.crawl()
        await stage.t.advance("2h")
        await stage.crawl()
        versions = await stage.rows(
            "select article, count(*) as n, count(distinct body) as bodies, "
            "count(distinct title) as titles from newsroom_version group by article "
            "having count(*) > 1"
        )
        results = await stage.rows(
            "select article, count(distinct version) as n from newsroom_result group by article"
        )

    assert versions
    assert all(row["n"] == max(row["bodies"], row["titles"]) == 2 for row in versions)
    twice = {row["article"] for row in results if row["n"] == 2}
    assert twice
    assert twice <= {row["article"] for row in versions}


@in_virtual_time
async def test_only_bodies_that_are_long_enough_get_a_summary() -> None:
    """A2"""
    async with at_work(min_content_length_for_ai=700) as stage:
        await stage.crawl()
        long = await stage.rows("select id from newsroom_article where characters >= 700")
        short = await stage.rows("select id from newsroom_article where characters < 700")
        jobs = await stage.t.jobs("kind:SUMMARY")

    assert long
    assert short
    assert sorted(row["id"] for row in long) == sorted(str(job.args["article"]) for job in jobs)


@in_virtual_time
async def test_readers_page_through_all_articles_without_gap_or_overlap() -> None:
    async with at_work(per_day=40, pages_max=20, min_content_length_for_ai=10_000) as stage:
        await stage.crawl()
        reading = Reading(stage.newsroom.records)
        found = page = await reading.newest(most=7)
        while page:
            last = page[-1]
            page = await reading.newest(before=last.at, below=last.id, most=7)
            found += page
        kept = await stage.rows("select id from newsroom_article where version > 0")

    assert sorted(row["id"] for row in kept) == sorted(shown.id for shown in found)
    assert [shown.at for shown in found] == sorted((s.at for s in found), reverse=True)
