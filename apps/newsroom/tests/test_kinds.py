"""The order of the kinds, how many run, when they start, and that none runs twice (A2, A3, A4)."""

from collections import Counter
from typing import Any

import pytest

from dure import Priority, State
from dure.core.notice import Started
from dure.testing import in_virtual_time
from dure_sandbox import Fault
from newsroom.prompts import KINDS
from newsroom.rehearsal import Stage, at_work

SLOW = Fault(kind="slow_start", site="ai", seconds=3)


def begun(stage: Stage) -> list[Started]:
    heard: list[Started] = []
    stage.newsroom.app.notices.listen(heard.append, Started)
    return heard


async def fill(stage: Stage, count: int, **how: Any) -> None:
    """Let all of them wait before the first one starts."""
    await stage.t.commands.pause("all", by="test")
    for number in range(1, count + 1):
        await stage.summary(number, **how)
    await stage.t.commands.resume("all", by="test")


@in_virtual_time
async def test_kinds_are_worked_on_in_their_order() -> None:
    """A3"""
    async with at_work(SLOW, slots=1, batch_min=1, batch_max=1) as stage:
        heard = begun(stage)
        await fill(stage, 3)
        await stage.t.run_until_idle()

    assert [kind for kind in KINDS for _ in range(3)] == [notice.kind for notice in heard]


@in_virtual_time
async def test_a_kind_leaves_slots_to_the_next_ones() -> None:
    """A3: so many of a kind at a time, then it is the turn of the next one."""
    async with at_work(SLOW, batch_min=2, batch_max=2) as stage:
        heard = begun(stage)
        await fill(stage, 6)
        await stage.t.advance("5s")
        early = Counter(notice.kind for notice in heard)
        await stage.t.run_until_idle()

    assert dict.fromkeys(KINDS[1:], 2) | {KINDS[0]: 4} == dict(early)
    assert dict.fromkeys(KINDS, 6) == dict(Counter(notice.kind for notice in heard))


@in_virtual_time
async def test_how_many_of_a_kind_run_follows_load() -> None:
    """A12 X15"""
    async with at_work(SLOW, batch_min=2, batch_max=10) as stage:
        await fill(stage, 150)
        share = stage.t.node.pacer.shares
        await stage.t.advance("2s")
        early = share["SUMMARY"].size
        await stage.t.advance("60s")
        busy = share["SUMMARY"].size
        await stage.t.run_until_idle()
        await stage.t.advance("2m")

        assert early <= 3
        assert 7 <= busy <= 10
        assert 2 == share["SUMMARY"].size


@in_virtual_time
async def test_work_that_nobody_announced_starts_within_thirty_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A3"""
    async with at_work() as stage:
        heard = begun(stage)
        jobs = await stage.article()
        stage.t.store.stand(None)
        monkeypatch.setattr(stage.t.store, "_tell", lambda _: None)
        before = stage.t.clock.now()
        await stage.t.enqueue(jobs[0])
        await stage.t.until(lambda: bool(heard), within="30s")

        assert stage.t.clock.now() - before <= 30


@in_virtual_time
async def test_work_that_was_announced_starts_at_once() -> None:
    """A3"""
    async with at_work() as stage:
        heard = begun(stage)
        before = stage.t.clock.now()
        await stage.summary()
        await stage.t.until(lambda: bool(heard), within="1s")

        assert stage.t.clock.now() - before < 0.2


@in_virtual_time
async def test_the_followers_are_made_when_the_summary_succeeds_and_not_before() -> None:
    """A3"""
    async with at_work(Fault(kind="status", status=500, site="ai", count=1)) as stage:
        job = await stage.summary(is_urgent=True)
        await stage.t.advance("10s")
        assert 1 == len(await stage.t.jobs())
        await stage.t.advance("1m")
        followers = [each for each in await stage.t.jobs() if each.kind != "SUMMARY"]

    assert list(KINDS[1:]) == [each.kind for each in followers]
    assert {(job, Priority.HIGH, "finance")} == {(e.parent, e.priority, e.lane) for e in followers}


@in_virtual_time
async def test_urgent_articles_go_first() -> None:
    """A12"""
    async with at_work(SLOW, slots=1, batch_min=1, batch_max=1) as stage:
        heard = begun(stage)
        await stage.t.commands.pause("all", by="test")
        for number in range(1, 4):
            await stage.summary(number)
        urgent = await stage.summary(4, is_urgent=True)
        await stage.t.commands.resume("all", by="test")
        await stage.t.run_until_idle()
        lane = [(await stage.t.job(each.job)).args["article"] for each in heard[:5]]

    assert urgent == heard[0].job
    assert {"001-0000000004"} == set(lane)


@in_virtual_time
async def test_an_urgent_title_makes_its_article_urgent() -> None:
    """A12"""
    async with at_work(urgent_words=("금리",), pages_max=5, per_day=80) as stage:
        await stage.crawl()
        rows = await stage.rows("select title, is_urgent from newsroom_article where kept = 'ok'")
        jobs = await stage.t.jobs("kind:SUMMARY priority:high")

    assert {("금리" in row["title"]) for row in rows if row["is_urgent"]} == {True}
    assert not any("금리" in row["title"] for row in rows if not row["is_urgent"])
    assert jobs


@in_virtual_time
async def test_no_job_runs_twice_on_three_nodes() -> None:
    """A4 X21"""
    async with at_work(SLOW, nodes=3) as stage:
        heard = begun(stage)
        await fill(stage, 40)
        await stage.t.run_until_idle()
        summary = stage.sandbox.log.summary()["ai.sandbox.test"]
        jobs = await stage.t.jobs()

    assert {State.SUCCESS} == {job.state for job in jobs}
    assert 200 == len(jobs) == len({notice.job for notice in heard}) == len(heard)
    assert {1, 2, 3} == {notice.worker for notice in heard}
    assert (200, 0) == (summary.requests, summary.asked_again)
