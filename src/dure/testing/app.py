"""An app under test: in memory, in virtual time, with everything else as it really is.

Inside `running(app)` the app itself stands on another store, so handlers that enqueue, open
batches or fire schedules are tested too; its real store is not touched. Plain and process
handlers run on the loop, because no thread can live in virtual time.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, Final, ParamSpec, TypeVar

from dure.compose import App
from dure.core.duration import Span, seconds_of
from dure.core.errors import Refused
from dure.core.filter import JobFilter
from dure.core.job import Job
from dure.core.waiting import Reason
from dure.engine.desk.commands import Commands
from dure.engine.desk.insights import Insights
from dure.engine.kind import AnyKind, ChunkKind, Kind
from dure.engine.node import Node
from dure.ports.rows import Receipt
from dure.scripts.jobs import Attempt, Record
from dure.testing.faults import HOT, FaultyStore
from dure.testing.virtual import VirtualClock, VirtualLoop, run_virtual

P = ParamSpec("P")
T = TypeVar("T")

JOBS_MAX: Final = 10_000
"""Jobs that one look can return."""
_STEP_SECONDS: Final = 0.05
_QUIET_SECONDS: Final = 1.0
"""Nothing ran for so long: time enough for a batch to be counted and its report to start."""
_HELD_SECONDS: Final = 3.0
"""Jobs wait and none has started for so long: something holds them back."""
_DECLARED: Final = frozenset(
    {"kinds", "limits", "entries", "reports", "schemas", "duties", "closers"}
)


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Decorate an async test: nobody ever waits, and an hour passes in a moment."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_virtual(test(*args, **kwargs))

    return run


@asynccontextmanager
async def running(app: App, *, nodes: int = 1, **options: Any) -> "AsyncIterator[Rig]":
    """The app at work on an empty store in memory. `options` are those of its nodes."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualLoop):
        raise Refused(
            "An app under test needs virtual time.",
            "Decorate the test with `@dure.testing.in_virtual_time`.",
        )
    clock = VirtualClock()
    store = FaultyStore(clock)
    broken: list[BaseException] = []
    loop.set_exception_handler(lambda _, context: broken.append(_error_of(context)))
    with _moved(app, store, clock):
        async with app:
            rig = Rig(app, store, clock)
            try:
                for _ in range(nodes):
                    await rig.start_node(**options)
                yield rig
            finally:
                store.is_away = False
                for node in list(rig.nodes):
                    await node.stop()
                loop.set_exception_handler(None)
    if broken:
        raise broken[0]


def _error_of(context: dict[str, Any]) -> BaseException:
    return context.get("exception") or RuntimeError(context["message"])


@contextmanager
def _moved(app: App, store: FaultyStore, clock: VirtualClock) -> Iterator[None]:
    """Let the app stand on another store for a while."""
    twin = App(store, clock=clock)
    twin.kinds.update((name, _on_loop(kind)) for name, kind in app.kinds.items())
    for name in _DECLARED - {"kinds"}:
        getattr(twin, name).update(getattr(app, name))
    twin.batteries.extend(app.batteries)
    before = dict(vars(app))
    vars(app).update(vars(twin))
    try:
        yield
    finally:
        vars(app).update(before)


def _on_loop(kind: AnyKind) -> AnyKind:
    """The kind with a handler that runs on the loop, whatever it was declared to run in."""
    if kind.terms.mode == "async":
        return kind
    fn = kind.fn

    @functools.wraps(fn)
    async def handler(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    terms = replace(kind.terms, mode="async")
    return ChunkKind(handler, terms) if isinstance(kind, ChunkKind) else Kind(handler, terms)


class Rig:
    """An app under test, and what a test does with it."""

    def __init__(self, app: App, store: FaultyStore, clock: VirtualClock) -> None:
        self.app = app
        self.store = store
        self.clock = clock
        self.nodes: list[Node] = []
        self.commands = Commands(store, app.kinds)
        """What operators can do: pause, cancel, configure."""
        self.insights = Insights(store, app.kinds)
        """What operators can see."""

    @property
    def node(self) -> Node:
        """The first node."""
        return self.nodes[0]

    async def start_node(self, **options: Any) -> Node:
        """Let one more node work."""
        given = {"name": f"test-{len(self.nodes) + 1}", **options, "threaded": False}
        node = self.app.node(**given)
        await node.start()
        self.nodes.append(node)
        return node

    async def enqueue(self, job: Job, **options: Any) -> Receipt:
        """Put one job in. Options as in `Job.options`."""
        return await self.app.enqueue(job, **options)

    async def enqueue_many(self, jobs: Sequence[Job], **options: Any) -> list[Receipt]:
        """Put many jobs in."""
        return await self.app.enqueue_many(jobs, **options)

    async def run_until_idle(self, *, patience: Span = "1h") -> None:
        """Return when nothing runs and nothing more starts by itself.

        Delayed jobs, retries, and what a pause or a limit holds back stay where they are: use
        `advance` for those. The clock moves on by a second or more. Raises TimeoutError when a
        handler still runs after `patience`.
        """
        await self._settled(seconds_of(patience), _QUIET_SECONDS, _HELD_SECONDS)

    async def _settled(self, patience: float, quiet: float, held: float) -> None:
        now = self.clock.monotonic
        began = since = now()
        seen = self._activity()
        while now() - since < (quiet if await self._is_empty() else held):
            if now() - began > patience:
                names = sorted({w.kind.name for n in self.nodes for w in n.slots.running})
                raise TimeoutError(f"still at work after {patience:g}s: {', '.join(names)}")
            await asyncio.sleep(_STEP_SECONDS)
            if seen != (seen := self._activity()) or not all(n.is_idle for n in self.nodes):
                since = now()

    def _activity(self) -> int:
        """A number that grows with everything that starts or ends."""
        return sum(node.tally.claimed + node.tally.flushes for node in self.nodes)

    async def _is_empty(self) -> bool:
        return not self.store.is_away and not await self.store.heads(0)

    async def advance(self, span: Span) -> None:
        """Let this much time pass. What falls due meanwhile runs at its own moment.

        The nodes do their rounds all the while: an hour takes a second or two to compute.
        """
        await asyncio.sleep(seconds_of(span))

    async def jobs(self, wanted: str = "") -> list[Record]:
        """The jobs a filter means, such as `state:failed kind:fetch`, in order of id."""
        parsed = JobFilter.parse(wanted)
        return await self.insights.jobs(parsed, limit=JOBS_MAX, newest_first=False)

    async def job(self, number: int) -> Record:
        """One job. Raises NotFound."""
        return await self.insights.job(number)

    async def attempts(self, number: int) -> list[Attempt]:
        """A job's tries that did not end in success, oldest first."""
        return await self.insights.attempts(number)

    async def why(self, number: int) -> Reason:
        """Why a job is not running."""
        return (await self.insights.why(number)).reason

    async def sql(self, statement: str, params: Any = ()) -> list[tuple[Any, ...]]:
        """Run a statement on the store: create the tables that handlers write to, look at them."""
        return await self.store.query(statement, params)

    def fail_store(self, *verbs: str, times: int = 1) -> None:
        """Let the next calls of these verbs fail; without any, of each that jobs go through."""
        self.store.fail(*(verbs or HOT), times=times)

    def lose_next_answer(self, *verbs: str, times: int = 1) -> None:
        """Let the next calls be carried out and their answers get lost on the way back."""
        self.store.lose(*(verbs or HOT), times=times)

    @contextmanager
    def store_away(self) -> Iterator[None]:
        """Inside this block the store cannot be reached."""
        self.store.is_away = True
        try:
            yield
        finally:
            self.store.is_away = False

    async def until(self, holds: Callable[[], bool | Awaitable[bool]], within: Span = "1h") -> None:
        """Let time pass until something holds. Raises TimeoutError."""
        async with asyncio.timeout(seconds_of(within)):
            while not (await met if isinstance(met := holds(), Awaitable) else met):
                await asyncio.sleep(_STEP_SECONDS)
