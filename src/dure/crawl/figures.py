"""What a person sees of a crawl: status, pace, queues, workers, errors, resources, its end.

Each node says every two seconds how it fares; what is in the store is read from the store.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dure.core.batch import Eta
from dure.core.errors import NotFound
from dure.core.state import FINAL, State
from dure.crawl.run import Run, runs_of
from dure.engine.desk.insights import Insights
from dure.ports.store import Store
from dure.scripts import crawls, names

if TYPE_CHECKING:
    from dure.crawl.crew import Crew
    from dure.crawl.lines.line import Line
    from dure.crawl.presence import Presence

FULL: Final = 0.9
"""A queue that is fuller than this is unhealthy."""
FRESH_SECONDS: Final = 10.0
"""A node that said nothing for so long is not counted as being there."""
KEEP_SECONDS: Final = 86_400.0
_ERRORS_MAX: Final = 10
_TEXTS_MAX: Final = 1000
"""Different texts, which often differ in the address only."""


class StageFigures(msgspec.Struct, kw_only=True):
    """A stage on one node; numbers since the node started."""

    stage: str
    fetched: int
    bytes: int
    fetch_seconds: float
    parsed: int
    parse_seconds: float
    parse_failed: int
    items: int
    children: int
    workers_active: int
    workers_count: int
    workers_resting: int
    workers_low: int
    workers_high: int
    mean_seconds: float
    error_share: float
    idle_seconds: float | None


class QueueFigures(msgspec.Struct, kw_only=True):
    """A queue between stages on one node."""

    name: str
    depth: int
    capacity: int
    max_depth: int
    total_in: int
    total_out: int
    blocked: int

    @property
    def utilisation(self) -> float:
        return self.depth / self.capacity


class StepFigures(msgspec.Struct, kw_only=True):
    """Fetching, parsing or saving of one stage on one node."""

    name: str
    queue: QueueFigures | None
    """What waits before it; None where nothing is bounded."""
    workers_active: int
    workers_count: int
    workers_resting: int
    workers_low: int
    workers_high: int
    processed: int
    failed: int
    mean_seconds: float
    idle_seconds: float | None


class NodeFigures(msgspec.Struct, kw_only=True):
    """How a node fares."""

    node: str
    at: float
    up_seconds: float
    pages_per_second: float
    """Lately."""
    stages: list[StageFigures]
    queues: list[QueueFigures]
    steps: list[StepFigures]
    resources: dict[str, list[int]]
    """Used and there, by name."""
    memory_share: float
    cpu_share: float
    memory_peak: int
    hosts: int
    hosts_owned: int
    known_new: int
    known_again: int
    known_asked: int
    known_wrongly: int


class Finding(msgspec.Struct, kw_only=True):
    """Something that is not as it should be."""

    what: str
    sentence: str


class Status(msgspec.Struct, kw_only=True):
    """A run as a person sees it."""

    session: str
    spider: str
    status: str
    started_at: float
    counts: dict[str, int]
    stages: dict[str, dict[str, int]]
    items: dict[str, int]
    pages_per_second: float
    errors: dict[str, int]
    eta: Eta | None
    nodes: list[NodeFigures]
    findings: list[Finding]


def figures_of(presence: "Presence") -> NodeFigures:
    """What a node says of itself."""
    now = presence.clock.monotonic()
    seen = presence.seen()
    return NodeFigures(
        node=presence.name,
        at=presence.node.pacer.store_now(),
        up_seconds=now - presence.started,
        pages_per_second=presence.pace,
        stages=[_stage(line, now) for line in presence.lines.values()],
        queues=[_queue(queue) for line in presence.lines.values() for queue in line.queues],
        steps=[step for line in presence.lines.values() for step in _steps(line, now)],
        resources={
            name: [each.used, each.size] for name, each in presence.node.pacer.resources.items()
        },
        memory_share=presence.meter.load.memory,
        cpu_share=presence.meter.load.cpu,
        memory_peak=presence.meter.peak(),
        hosts=len(presence.bench.doors),
        hosts_owned=sum(door.is_ours for door in presence.bench.doors.values()),
        known_new=sum(each.new for each in seen),
        known_again=sum(each.known for each in seen),
        known_asked=sum(each.asked for each in seen),
        known_wrongly=sum(each.false_positives for each in seen),
    )


def _stage(line: "Line", now: float) -> StageFigures:
    crew, tally = line.crew.figures, line.tally
    return StageFigures(
        stage=line.stage.kind,
        fetched=tally.fetched,
        bytes=tally.bytes,
        fetch_seconds=tally.fetch_seconds,
        parsed=tally.parsed,
        parse_seconds=tally.parse_seconds,
        parse_failed=tally.parse_failed,
        items=tally.items,
        children=tally.children,
        workers_active=crew.active,
        workers_count=crew.count,
        workers_resting=crew.resting,
        workers_low=crew.low,
        workers_high=crew.high,
        mean_seconds=crew.mean_seconds,
        error_share=crew.error_share,
        idle_seconds=None if crew.last_activity is None else now - crew.last_activity,
    )


def _steps(line: "Line", now: float) -> list[StepFigures]:
    frontier = None if line.frontier.capacity is None else _queue(line.frontier.figures)
    return [
        _step(line.frontier.name, frontier, line.crew, now),
        _step(line.parse.name, _queue(line.parse.queue.figures), line.parse.crew, now),
        _step(line.save.name, _queue(line.save.queue.figures), line.save.crew, now),
    ]


def _step(name: str, queue: QueueFigures | None, crew: "Crew", now: float) -> StepFigures:
    seen = crew.figures
    return StepFigures(
        name=name,
        queue=queue,
        workers_active=seen.active,
        workers_count=seen.count,
        workers_resting=seen.resting,
        workers_low=seen.low,
        workers_high=seen.high,
        processed=seen.processed,
        failed=seen.failed,
        mean_seconds=seen.mean_seconds,
        idle_seconds=None if seen.last_activity is None else now - seen.last_activity,
    )


def _queue(belt: Any) -> QueueFigures:
    return QueueFigures(
        name=belt.name,
        depth=belt.depth,
        capacity=belt.capacity,
        max_depth=belt.max_depth,
        total_in=belt.total_in,
        total_out=belt.total_out,
        blocked=belt.blocked,
    )


async def nodes_of(store: Store, *, now: float, fresh: float) -> list[NodeFigures]:
    """What nodes said of themselves lately."""
    texts = await store.read(crawls.figures())
    every = [msgspec.json.decode(text, type=NodeFigures) for text in texts.values()]
    return sorted((each for each in every if now - each.at <= fresh), key=lambda each: each.node)


async def status_of(store: Store, insights: Insights, session: str) -> Status:
    """How a run stands. Raises NotFound."""
    run = await run_of(store, session)
    now = await store.now()
    standings = await store.read(crawls.standings(run.session))
    kinds = await store.read(names.kind_names())
    counts: dict[str, int] = {}
    stages: dict[str, dict[str, int]] = {}
    for each in standings:
        state = each.state.name.lower()
        counts[state] = counts.get(state, 0) + each.jobs
        of_stage = stages.setdefault(kinds.get(each.kind, str(each.kind)), {})
        of_stage[state] = of_stage.get(state, 0) + each.jobs
    nodes = [
        node
        for node in await nodes_of(store, now=now, fresh=FRESH_SECONDS)
        if any(stage.stage.startswith(f"{run.spider}.") for stage in node.stages)
    ]
    known = await insights.session(run.session) if standings else None
    is_paused = known is not None and known.pause is not None
    left = sum(each.jobs for each in standings if each.state not in FINAL)
    return Status(
        session=run.session,
        spider=run.spider,
        status=status_word(counts, is_paused=is_paused, left=left, nodes=len(nodes)),
        started_at=run.started_at,
        counts=counts,
        stages=stages,
        items=await store.read(crawls.item_counts(run.session)),
        pages_per_second=sum(node.pages_per_second for node in nodes),
        errors=by_class(await store.read(crawls.errors(run.session, _TEXTS_MAX))),
        eta=None if known is None else known.eta,
        nodes=nodes,
        findings=findings_of(nodes),
    )


async def run_of(store: Store, session: str) -> Run:
    """The run with this session or, for a spider's name, its latest. Raises NotFound."""
    runs = await runs_of(store)
    found = [run for run in runs if session in {run.session, run.spider}]
    exact = [run for run in found if run.session == session]
    if not found:
        names_known = ", ".join(run.session for run in runs[-5:]) or "none"
        raise NotFound(f"There is no crawl {session!r}.", f"The latest are: {names_known}.")
    return (exact or found)[-1]


def status_word(counts: Mapping[str, int], *, is_paused: bool, left: int, nodes: int) -> str:
    """A run in one word."""
    if is_paused:
        return "paused"
    if not counts:
        return "empty"
    if left == 0:
        cancelled = counts.get(State.CANCELLED.name.lower(), 0)
        return "cancelled" if cancelled else "done"
    return "running" if nodes else "waiting"


def findings_of(nodes: Sequence[NodeFigures]) -> list[Finding]:
    """What is unhealthy: a queue over 90 %, a stage whose workers rest, memory that runs out."""
    found = []
    for node in nodes:
        found += [
            Finding(
                what=f"{node.node} {queue.name}",
                sentence=f"the queue is {queue.utilisation:.0%} full "
                f"({queue.depth} of {queue.capacity})",
            )
            for queue in node.queues
            if queue.utilisation > FULL
        ]
        found += [
            Finding(
                what=f"{node.node} {step.name}",
                sentence=f"{step.workers_resting} workers rest after five failures in a row",
            )
            for step in node.steps
            if step.workers_resting
        ]
        if node.memory_share > FULL:
            found.append(
                Finding(what=node.node, sentence=f"{node.memory_share:.0%} of the memory is used")
            )
    return found


def by_class(errors: Mapping[str, int]) -> dict[str, int]:
    """Errors by their class, the most frequent first; one of its kind keeps its whole text."""
    classes: dict[str, list[str]] = {}
    for text in errors:
        classes.setdefault(text.partition(":")[0], []).append(text)
    found = {
        name if len(texts) > 1 else texts[0]: sum(errors[text] for text in texts)
        for name, texts in classes.items()
    }
    return dict(sorted(found.items(), key=lambda each: -each[1])[:_ERRORS_MAX])
