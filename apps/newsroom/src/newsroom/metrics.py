"""The twelve metrics of the newsroom (A10), by the names and labels its operators know.

What jobs did is counted from the engine's notices, so from committed facts; how long requests
took is measured where they are made.
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

import dure
from dure.core.notice import (
    Claimed,
    ClaimFailed,
    Enqueued,
    LeaseLost,
    Moved,
    Notice,
    Promoted,
    Refused,
    SweepBegan,
    Swept,
)
from dure.core.state import Event, State
from newsroom.prompts import KINDS
from newsroom.sections import SECTIONS

_FETCH_BUCKETS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60)
_RUN_BUCKETS: Final = (0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_JOB_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30, 60)
_STATUS: Final = {
    State.SUCCESS: "success",
    State.RETRY_WAIT: "retry_wait",
    State.SUSPENDED: "suspended",
    State.FAILED: "failed",
    State.STALE: "stale",
    State.CANCELLED: "cancelled",
    State.PENDING: "pending",
}
_ENDS: Final = frozenset({Event.SUCCEED, Event.SKIP, Event.RETRY, Event.TIMEOUT, Event.FAIL})
_ATTEMPTS: Final = _ENDS | {Event.SUSPEND, Event.WAIT, Event.STALE, Event.LEASE_LOST}
"""How an attempt may end; what operators and the promoter do is not counted as processing."""


class NewsMetrics:
    """Counts from the moment it listens."""

    def __init__(self, app: dure.App, registry: CollectorRegistry) -> None:
        self._crawler(registry)
        self._jobs(registry)
        self.requests = Counter(
            "openai_api_requests_total",
            "Calls of the model.",
            ("model", "schema", "status"),
            registry=registry,
        )
        self.latency = Histogram(
            "openai_api_latency_seconds",
            "How long the model took to answer.",
            ("model", "schema", "status"),
            buckets=_JOB_BUCKETS,
            registry=registry,
        )
        heard = (Claimed, ClaimFailed, Enqueued, LeaseLost, Moved, Promoted, Refused, SweepBegan)
        app.notices.listen(self._hear, *heard, Swept)

    def _crawler(self, registry: CollectorRegistry) -> None:
        self._articles = Counter(
            "crawler_articles_total",
            "Articles by section and what became of them.",
            ("section", "status"),
            registry=registry,
        )
        self._events = Counter(
            "crawler_events_total",
            "Rounds, lists and articles by how they ended.",
            ("scope", "status"),
            registry=registry,
        )
        self._runs = Histogram(
            "crawler_run_seconds",
            "How long a round over all sections, or one section's list, took.",
            ("scope",),
            buckets=_RUN_BUCKETS,
            registry=registry,
        )
        self._fetches = Histogram(
            "crawler_fetch_seconds",
            "How long requests to the news site took.",
            ("type",),
            buckets=_FETCH_BUCKETS,
            registry=registry,
        )

    def _jobs(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=registry)

        self._enqueued = counter("ai_job_enqueue_total", "AI jobs put in.", "type", "result")
        self._processed = counter("ai_job_processed_total", "Ends of attempts.", "type", "result")
        self._worker = counter("ai_worker_events_total", "What workers did.", "event")
        self._sweeper = counter("ai_sweeper_events_total", "What sweepers did.", "event")
        self._recovered = counter("ai_sweeper_recovered_total", "What sweepers moved.", "type")
        self._seconds = Histogram(
            "ai_worker_job_seconds",
            "How long attempts of AI jobs took.",
            ("type",),
            buckets=_JOB_BUCKETS,
            registry=registry,
        )

    @contextmanager
    def fetching(self, what: str) -> Iterator[None]:
        """Time a request to the news site."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            yield
        finally:
            self._fetches.labels(what).observe(clock() - began)

    def _hear(self, notice: Notice) -> None:
        match notice:
            case Moved() if notice.kind in KINDS:
                self._ai_moved(notice)
            case Moved():
                self._crawl_moved(notice)
            case Enqueued() if notice.kind in KINDS:
                self._enqueued.labels(notice.kind, "created").inc(notice.jobs)
                if notice.doubles:
                    self._enqueued.labels(notice.kind, "duplicate").inc(notice.doubles)
            case Claimed() if notice.kind in KINDS:
                self._worker.labels("found").inc(notice.jobs)
            case ClaimFailed():
                self._worker.labels("lock_failed").inc()
            case LeaseLost():
                self._worker.labels("error").inc()
            case Refused() if notice.kind in KINDS:
                self._worker.labels("already_running").inc()
            case SweepBegan():
                self._sweeper.labels("start").inc()
            case Swept():
                self._sweeper.labels("complete").inc()
            case Promoted() if notice.kind in KINDS:
                self._recovered.labels("retry_wait_to_pending").inc(notice.jobs)
            case _:
                pass

    def _ai_moved(self, moved: Moved) -> None:
        if moved.event is Event.LEASE_LOST:
            self._recovered.labels(f"stuck_to_{_STATUS[moved.to]}").inc()
        if moved.event in _ATTEMPTS and moved.source is State.RUNNING:
            result = "skipped" if moved.event is Event.SKIP else _STATUS[moved.to]
            self._processed.labels(moved.kind, result).inc()
        if moved.seconds is not None:
            self._seconds.labels(moved.kind).observe(moved.seconds)

    def _crawl_moved(self, moved: Moved) -> None:
        if moved.event not in _ATTEMPTS or moved.source is not State.RUNNING:
            return
        said = json.loads(moved.result) if moved.result else {}
        result = "skipped" if moved.event is Event.SKIP else _STATUS[moved.to]
        match moved.kind:
            case "ARTICLE":
                self._events.labels("article", result).inc()
                status = said.get("status", result)
                self._articles.labels(_section(moved.lane), status).inc()
            case "SECTION":
                self._events.labels("section", result).inc()
                if moved.seconds is not None:
                    self._runs.labels(_section(moved.lane)).observe(moved.seconds)
            case "CRAWL":
                self._events.labels("all", result).inc()
            case "report.CRAWL" if "seconds" in said:
                self._runs.labels("all").observe(said["seconds"])
            case _:
                pass


def _section(lane: str) -> str:
    """Lanes are sections; a label takes no others."""
    return lane if lane in SECTIONS else "other"
