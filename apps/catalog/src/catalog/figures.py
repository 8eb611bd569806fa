"""The dashboard's figures: what crawling says of a run, by the names of the five stages."""

from collections.abc import Sequence
from typing import Final

import msgspec

from catalog.spider import NAME, STAGES
from dure import App, State
from dure.core.state import FINAL
from dure.crawl.figures import FULL, NodeFigures, Status, StepFigures, status_of

LIST_KIND: Final = f"{NAME}.list"
PRODUCT_KIND: Final = f"{NAME}.product"


class Throughput(msgspec.Struct, kw_only=True):
    """How much, and how fast."""

    pages_per_second: float
    pages_done: int
    pages_left: int
    products_saved: int


class QueueHealth(msgspec.Struct, kw_only=True):
    """The queue of one stage, over all nodes; numbers since the nodes started."""

    current_depth: int
    capacity: int
    utilization_percentage: float
    """Of the fullest one."""
    max_depth_reached: int
    total_enqueued: int
    total_dequeued: int
    blocked_enqueue_count: int
    enqueue_rate: float
    dequeue_rate: float
    is_healthy: bool


class WorkerHealth(msgspec.Struct, kw_only=True):
    """The workers of one stage, over all nodes."""

    active_count: int
    total_count: int
    resting_count: int
    low: int
    high: int
    average_task_seconds: float
    tasks_per_minute: float
    total_tasks_processed: int
    error_rate: float
    last_activity: float | None
    """Seconds since 1970."""


class ErrorSummary(msgspec.Struct, kw_only=True):
    """What went wrong."""

    dead_letters: int
    retrying: int
    reasons: dict[str, int]


class ResourceUsage(msgspec.Struct, kw_only=True):
    """What the nodes use."""

    places: dict[str, list[int]]
    """Used and there, by resource."""
    memory_share: float
    cpu_share: float
    memory_peak_bytes: int
    nodes: int


class Duplicates(msgspec.Struct, kw_only=True):
    """What became of links: the filter first, then the exact set, then the store."""

    new: int
    known: int
    asked_the_store: int
    filter_was_wrong: int


class Completion(msgspec.Struct, kw_only=True):
    """When it will be over: three moments in seconds since 1970."""

    earliest: float
    likely: float
    latest: float | None


class Health(msgspec.Struct, kw_only=True):
    """Whether all is as it should be, and what is not."""

    is_healthy: bool
    details: dict[str, str]
    last_checked: float


class Dashboard(msgspec.Struct, kw_only=True):
    """Everything at a glance."""

    session: str
    overall_status: str
    started_at: float
    at: float
    throughput: Throughput
    queue_health: dict[str, QueueHealth]
    worker_health: dict[str, WorkerHealth]
    error_summary: ErrorSummary
    resource_usage: ResourceUsage
    duplicates: Duplicates
    estimated_completion: Completion | None
    health: Health


async def dashboard_of(app: App, session: str = NAME) -> Dashboard:
    """The figures of a run; by default of the latest. Raises NotFound."""
    status = await status_of(app.store, app.insights, session)
    rows = await app.rows(
        "select count(*) as products from catalog_product where session = :session",
        {"session": status.session},
    )
    return figures_of(status, products=rows[0]["products"], at=await app.store.now())


def figures_of(status: Status, *, products: int, at: float) -> Dashboard:
    """The same from what is known already."""
    nodes = status.nodes
    final = {state.name.lower() for state in FINAL}
    eta = status.eta
    return Dashboard(
        session=status.session,
        overall_status=status.status,
        started_at=status.started_at,
        at=at,
        throughput=Throughput(
            pages_per_second=status.pages_per_second,
            pages_done=sum(n for state, n in status.counts.items() if state in final),
            pages_left=sum(n for state, n in status.counts.items() if state not in final),
            products_saved=products,
        ),
        queue_health={
            stage: queue
            for stage, name in STAGES.items()
            if (queue := _queue(nodes, name)) is not None
        },
        worker_health={
            stage: workers
            for stage, name in STAGES.items()
            if (workers := _workers(nodes, name)) is not None
        },
        error_summary=ErrorSummary(
            dead_letters=status.counts.get(State.FAILED.name.lower(), 0),
            retrying=status.counts.get(State.RETRY_WAIT.name.lower(), 0),
            reasons=status.errors,
        ),
        resource_usage=_resources(nodes),
        duplicates=Duplicates(
            new=sum(node.known_new for node in nodes),
            known=sum(node.known_again for node in nodes),
            asked_the_store=sum(node.known_asked for node in nodes),
            filter_was_wrong=sum(node.known_wrongly for node in nodes),
        ),
        estimated_completion=None
        if eta is None
        else Completion(earliest=eta.low, likely=eta.likely, latest=eta.high),
        health=Health(
            is_healthy=not status.findings,
            details={finding.what: finding.sentence for finding in status.findings},
            last_checked=at,
        ),
    )


def _steps(nodes: Sequence[NodeFigures], name: str) -> list[tuple[NodeFigures, StepFigures]]:
    return [(node, step) for node in nodes for step in node.steps if step.name == name]


def _queue(nodes: Sequence[NodeFigures], name: str) -> QueueHealth | None:
    found = [(node, step.queue) for node, step in _steps(nodes, name) if step.queue is not None]
    if not found:
        return None
    queues = [queue for _, queue in found]
    fullest = max(queue.utilisation for queue in queues)
    return QueueHealth(
        current_depth=sum(queue.depth for queue in queues),
        capacity=sum(queue.capacity for queue in queues),
        utilization_percentage=100 * fullest,
        max_depth_reached=max(queue.max_depth for queue in queues),
        total_enqueued=sum(queue.total_in for queue in queues),
        total_dequeued=sum(queue.total_out for queue in queues),
        blocked_enqueue_count=sum(queue.blocked for queue in queues),
        enqueue_rate=sum(_rate(queue.total_in, node) for node, queue in found),
        dequeue_rate=sum(_rate(queue.total_out, node) for node, queue in found),
        is_healthy=fullest <= FULL,
    )


def _workers(nodes: Sequence[NodeFigures], name: str) -> WorkerHealth | None:
    found = _steps(nodes, name)
    if not found:
        return None
    steps = [step for _, step in found]
    processed = sum(step.processed for step in steps)
    seconds = sum(step.mean_seconds * step.processed for step in steps)
    active = [node.at - step.idle_seconds for node, step in found if step.idle_seconds is not None]
    return WorkerHealth(
        active_count=sum(step.workers_active for step in steps),
        total_count=sum(step.workers_count for step in steps),
        resting_count=sum(step.workers_resting for step in steps),
        low=sum(step.workers_low for step in steps),
        high=sum(step.workers_high for step in steps),
        average_task_seconds=seconds / processed if processed else 0.0,
        tasks_per_minute=60 * sum(_rate(step.processed, node) for node, step in found),
        total_tasks_processed=processed,
        error_rate=sum(step.failed for step in steps) / processed if processed else 0.0,
        last_activity=max(active, default=None),
    )


def _resources(nodes: Sequence[NodeFigures]) -> ResourceUsage:
    places: dict[str, list[int]] = {}
    for node in nodes:
        for name, (used, there) in node.resources.items():
            before = places.get(name, [0, 0])
            places[name] = [before[0] + used, before[1] + there]
    return ResourceUsage(
        places=places,
        memory_share=max((node.memory_share for node in nodes), default=0.0),
        cpu_share=max((node.cpu_share for node in nodes), default=0.0),
        memory_peak_bytes=sum(node.memory_peak for node in nodes),
        nodes=len(nodes),
    )


def _rate(count: int, node: NodeFigures) -> float:
    return count / node.up_seconds if node.up_seconds > 0 else 0.0
