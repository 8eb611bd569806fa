"""What operators see: twelve metrics and fifteen events by the document's names (A10, A11)."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from dure.engine.journal import JsonLines
from dure.testing import in_virtual_time
from dure_sandbox import Fault
from newsroom.diary import EVENT_TYPES, LOG
from newsroom.rehearsal import at_work

METRICS = {
    "crawler_articles_total": {"section", "status"},
    "crawler_events_total": {"scope", "status"},
    "crawler_run_seconds": {"scope"},
    "crawler_fetch_seconds": {"type"},
    "ai_job_enqueue_total": {"type", "result"},
    "ai_job_processed_total": {"type", "result"},
    "ai_worker_events_total": {"event"},
    "ai_worker_job_seconds": {"type"},
    "ai_sweeper_events_total": {"event"},
    "ai_sweeper_recovered_total": {"type"},
    "openai_api_requests_total": {"model", "schema", "status"},
    "openai_api_latency_seconds": {"model", "schema", "status"},
}


class Lines(logging.Handler):
    """The newsroom's log as its readers get it."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonLines())
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))

    def of(self, event_type: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event_type"] == event_type]


@pytest.fixture
def log() -> Iterator[Lines]:
    lines = Lines()
    level = LOG.level
    LOG.addHandler(lines)
    LOG.setLevel(logging.INFO)
    yield lines
    LOG.removeHandler(lines)
    LOG.setLevel(level)


@in_virtual_time
async def test_all_twelve_metrics_are_there_with_their_labels_and_true_values() -> None:
    """A10"""
    fault = Fault(kind="status", status=500, site="ai", count=3)
    async with at_work(fault, per_day=16) as stage:
        await stage.crawl()
        (job,) = await stage.article()
        await stage.t.enqueue_many([job, job])
        await stage.t.advance("10m")
        text = generate_latest(stage.newsroom.registry).decode()
        articles = await stage.rows("select kept from newsroom_article where aid > '0000000100'")
        jobs = {kind: await stage.count(f"kind:{kind}") for kind in ("SUMMARY", "INSIGHT")}

    families = {family.name: family for family in text_string_to_metric_families(text)}
    for name, labels in METRICS.items():
        family = families[name.removesuffix("_total")]
        found = {frozenset(sample.labels) - {"le"} for sample in family.samples}
        assert {frozenset(labels)} == found, name
    values = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in families.values()
        for sample in family.samples
    }
    assert len(articles) == sum(v for (n, *_), v in values.items() if n == "crawler_articles_total")
    assert 1 == values["crawler_events_total", "all", "success"]
    assert 8 == values["crawler_events_total", "section", "success"]
    assert 1 == values["crawler_run_seconds_count", "all"]
    assert 8 == values["crawler_fetch_seconds_count", "list"]
    assert jobs["SUMMARY"] == values["ai_job_enqueue_total", "SUMMARY", "created"]
    assert jobs["INSIGHT"] == values["ai_job_enqueue_total", "INSIGHT", "created"]
    assert 1 == values["ai_job_enqueue_total", "SUMMARY", "duplicate"]
    assert 3 == values["ai_job_processed_total", "SUMMARY", "retry_wait"]
    assert jobs["SUMMARY"] == values["ai_job_processed_total", "SUMMARY", "success"]
    assert 3 == values["ai_sweeper_recovered_total", "retry_wait_to_pending"]
    assert 9 <= values["ai_sweeper_events_total", "complete"] <= 13
    retried = ("SUMMARY", "gpt-5-mini", "retry")
    assert 3 == values["openai_api_requests_total", *retried]
    assert 3 == values["openai_api_latency_seconds_count", *retried]


@in_virtual_time
async def test_all_fifteen_events_are_written_as_what_they_stand_for_happens(log: Lines) -> None:
    """A11"""
    faults = (
        Fault(kind="status", status=500, site="ai", count=1),
        Fault(kind="stall", seconds=60, site="ai", count=1),
        Fault(kind="bad_request", site="ai", count=1),
        Fault(kind="slow_start", seconds=15, site="ai", count=2),
        Fault(kind="insufficient_quota", site="ai", skip=1, count=1),
    )
    async with at_work(*faults) as stage:
        await stage.t.commands.pause("all", by="test")
        await stage.summary(1)
        stage.t.fail_store("claim")
        await stage.t.commands.resume("all", by="test")
        await stage.t.advance("1s")
        for number in (2, 3):  # a time-out, a wrong request
            await stage.summary(number)
            await stage.t.advance("1s")
        taken = await stage.summary(4)
        await stage.t.advance("1s")
        await stage.t.commands.cancel([taken], by="test")
        await stage.t.advance("20s")
        await stage.summary(5)
        await stage.t.advance("2s")
        await stage.t.kill_node()
        node = await stage.t.start_node(**stage.newsroom.terms)
        await stage.t.advance("13m")
        await stage.summary(6)
        await stage.t.advance("1m")
        statement = "update dure_worker set lease_until = 0 where id = ?"
        await stage.t.sql(statement, (node.worker,))
        await stage.t.advance("13m")

    assert set(EVENT_TYPES) == {line["event_type"] for line in log.lines} - {"dead_letters"}
    assert {"SUMMARY"} <= {line["kind"] for line in log.of("ai_job_start")}
    assert {"job", "lane", "attempt", "error", "due"} <= set(log.of("ai_job_retry_wait")[0])
    assert {"QUOTA"} == {line["reason"] for line in log.of("ai_job_suspended")}
    assert "timed_out" in log.of("ai_api_timeout")[0]["why"]
    assert "400" in log.of("ai_job_failed")[0]["error"]
    assert [taken] == [line["job"] for line in log.of("ai_already_running")]
    assert "RETRY_WAIT" == log.of("ai_job_stuck_recovered")[0]["to"]
