"""What a crawl finds, keeps, asks for again and leaves alone (A1, A2)."""

from collections import Counter
from dataclasses import replace

import dure
from dure import State
from dure.testing import in_virtual_time
from newsroom.rehearsal import Stage, at_work
from newsroom.sections import SECTIONS
from newsroom.settings import Settings


async def listed(stage: Stage) -> set[str]:
    """All articles that the lists of the site hold now."""
    site, now = stage.sandbox.news.site, stage.t.clock.now()
    sections = [section.sid2 for section in SECTIONS.values()]
    return {
        f"{facts.oid}-{facts.aid}"
        for sid2 in sections
        for facts in site.listed(sid2, "", now)
    }


@in_virtual_time
async def test_every_five_minutes_all_eight_sections_are_crawled() -> None:
    """A1"""
    async with at_work(crawl=Settings().crawl) as stage:
        await stage.t.advance("16m")

        crawls = await stage.t.jobs("kind:CRAWL state:success")
        sections = Counter(job.lane for job in await stage.t.jobs("kind:SECTION state:success"))
        gaps = {b.enqueued_at - a.enqueued_at for a, b in zip(crawls, crawls[1:], strict=False)}

    assert 3 == len(crawls)
    assert {300} == {round(gap) for gap in gaps}
    assert dict.fromkeys(SECTIONS, 3) == dict(sections)


@in_virtual_time
async def test_each_listed_article_is_kept_once_with_title_body_and_time() -> None:
    """A1"""
    async with at_work(per_day=40) as stage:
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
    broken = dure_fault(kind="status", site="news", path="*/101/259", status=500)
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


def dure_fault(**given: object) -> "Fault":
    return Fault(**given)  # type: ignore[arg-type]
