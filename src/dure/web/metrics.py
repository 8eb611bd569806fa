"""The engine as Prometheus sees it: counters from notices, gauges read from the store.

Labels are bounded: kinds are those of the program, events and states are few, and of lanes,
limits and breakers only so many are named; the jobs of other lanes are under `other`.
"""

import asyncio
from collections.abc import Mapping
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from dure.compose import App
from dure.core.breaker import Phase
from dure.core.notice import (
    ClaimFailed,
    Enqueued,
    LaneDisabled,
    LeaseLost,
    Moved,
    Notice,
    Promoted,
    Refused,
    Swept,
)
from dure.core.state import State
from dure.engine.node import Node

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
NAMED_MAX: Final = 50
"""Lanes, limits and breakers with labels of their own."""
_LANES_READ_MAX: Final = 500
Labels = TypeVar("Labels", bound=tuple[str, ...])
_FRESH_SECONDS: Final = 2.0
"""The store is read at most this often, however many scrape."""
_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60, 300)
_OTHER: Final = "other"
_UNFINISHED: Final = (State.PENDING, State.RUNNING, State.RETRY_WAIT, State.SUSPENDED)


class Metrics:
    """Listens to an app from the moment it is made; `text` is one scrape."""

    def __init__(
        self, app: App, *, node: Node | None = None, registry: CollectorRegistry | None = None
    ) -> None:
        self.registry = registry or CollectorRegistry()
        self._app = app
        self._node = node
        self._reading = asyncio.Lock()
        self._read_at = float("-inf")
        self._count()
        self._gauge()
        app.notices.listen(self._hear, Enqueued, Moved, Promoted, Refused, Swept, ClaimFailed)
        app.notices.listen(self._hear, LaneDisabled, LeaseLost)

    def _count(self) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=self.registry)

        self._enqueued = counter("dure_enqueued", "Jobs put in, by result.", "kind", "result")
        self._moved = counter("dure_moves", "Changes of state.", "kind", "event", "to")
        self._promoted = counter("dure_promoted", "Waiting jobs that fell due.", "kind")
        self._refused = counter("dure_refused", "Ends of attempts that came too late.", "kind")
        self._sweeps = counter("dure_sweeps", "Looks for jobs of dead workers.")
        self._recovered = counter("dure_recovered", "Jobs taken back from dead workers.")
        self._claim_failures = counter("dure_claim_failures", "Claims the store did not answer.")
        self._disabled = counter("dure_lanes_disabled", "Lanes that failed too often in a row.")
        self._leases_lost = counter("dure_leases_lost", "Times this worker was declared dead.")
        self._seconds = Histogram(
            "dure_attempt_seconds",
            "How long attempts ran.",
            ("kind",),
            buckets=_BUCKETS,
            registry=self.registry,
        )

    def _gauge(self) -> None:
        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(name, text, labels, registry=self.registry)

        self._jobs = gauge("dure_jobs", "Unfinished jobs.", "kind", "state")
        self._ended = gauge("dure_ended_last_hour", "Jobs ended without success.", "state")
        self._oldest = gauge("dure_oldest_ready_seconds", "Age of the oldest job that may run.")
        self._workers = gauge("dure_workers", "Workers.", "state")
        self._lanes = gauge("dure_lane_jobs", "Ready and running jobs of lanes.", "lane", "state")
        self._lanes_off = gauge("dure_lanes_off", "Lanes that are disabled.")
        self._limits = gauge("dure_limit_used_ratio", "How full windows are.", "limit", "window")
        self._breakers = gauge("dure_breaker_open", "1 open, 0.5 half open, 0 closed.", "breaker")
        self._pauses = gauge("dure_pauses", "Pauses in force.")
        self._slots = gauge("dure_slots", "Slots of this node.", "state")
        self._shares = gauge("dure_kind_slots", "Slots that a kind may take here now.", "kind")

    def _hear(self, notice: Notice) -> None:
        match notice:
            case Moved():
                self._moved.labels(notice.kind, notice.event, notice.to.name).inc()
                if notice.seconds is not None:
                    self._seconds.labels(notice.kind).observe(notice.seconds)
            case Enqueued():
                result = "follow_up" if notice.is_follow_up else "new"
                self._enqueued.labels(notice.kind, result).inc(notice.jobs)
                if notice.doubles:
                    self._enqueued.labels(notice.kind, "double").inc(notice.doubles)
            case Promoted():
                self._promoted.labels(notice.kind).inc(notice.jobs)
            case Refused():
                self._refused.labels(notice.kind).inc()
            case Swept():
                self._sweeps.inc()
                self._recovered.inc(notice.recovered)
            case ClaimFailed():
                self._claim_failures.inc()
            case LaneDisabled():
                self._disabled.inc()
            case LeaseLost():
                self._leases_lost.inc()
            case _:
                pass

    async def text(self) -> bytes:
        """Everything, in Prometheus's text format."""
        async with self._reading:
            now = asyncio.get_running_loop().time()
            if now - self._read_at >= _FRESH_SECONDS:
                await self._read()
                self._read_at = now
        return generate_latest(self.registry)

    async def _read(self) -> None:
        insights = self._app.insights
        overview = await insights.overview()
        self._jobs.clear()
        for (kind, state), number in (await insights.kind_counts()).items():
            self._jobs.labels(kind, state.name).set(number)
        for state, number in overview.counts.items():
            if state not in _UNFINISHED:
                self._ended.labels(state.name).set(number)
        self._oldest.set(overview.oldest_ready or 0.0)
        self._workers.labels("alive").set(overview.workers_alive)
        self._workers.labels("gone").set(overview.workers_gone)
        self._lanes_off.set(len(overview.lanes_disabled))
        self._pauses.set(len(overview.pauses))
        _set(
            self._breakers,
            {(name,): _OPEN[condition.phase] for name, condition in overview.breakers.items()},
        )
        uses = {
            (name, use.window): use.used / use.allowed if use.allowed else 0.0
            for name, standing in (await insights.limits()).items()
            for use in standing.windows
        }
        _set(self._limits, uses)
        await self._read_lanes()
        if self._node is not None:
            self._slots.labels("all").set(self._node.slots.size)
            self._slots.labels("busy").set(len(self._node.slots.running))
            self._slots.labels("waiting").set(self._node.slots.waiting)
            for kind, share in self._node.pacer.shares.items():
                self._shares.labels(kind).set(share.size)

    async def _read_lanes(self) -> None:
        listed = await self._app.insights.lanes(_LANES_READ_MAX)
        busiest = sorted(listed, key=lambda each: (-each.waiting - each.running, each.lane.name))
        self._lanes.clear()
        for place, (lane, waiting, running) in enumerate(busiest):
            name = lane.name if place < NAMED_MAX else _OTHER
            self._lanes.labels(name, "ready").inc(waiting)
            self._lanes.labels(name, "running").inc(running)


_OPEN: Final = {Phase.OPEN: 1.0, Phase.HALF_OPEN: 0.5, Phase.CLOSED: 0.0}


def _set(gauge: Gauge, values: Mapping[Labels, float]) -> None:
    """The first so many by name; whoever has more breakers than that watches them elsewhere."""
    gauge.clear()
    for labels in sorted(values)[:NAMED_MAX]:
        gauge.labels(*labels).set(values[labels])
