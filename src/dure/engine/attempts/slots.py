"""Where handlers run: a fixed number of long-lived coroutines on one queue of work.

A slot takes work, runs it to its end and takes the next, so no task is created per job.
Slots are woken in a chain: one wake-up serves a whole batch as long as handlers never
suspend, and each slot that starts while more work waits wakes the next one.

A handler runs inside its own context, so what it sets in context variables is gone with it.
It runs in the slot's task: `asyncio.timeout` and `current_task` behave as anywhere else.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from types import coroutine
from typing import Any, Final

from dure.core.errors import KindInvalid
from dure.core.outcome import Fail, Outcome, Retry
from dure.engine.attempts.children import Children, call_of
from dure.engine.attempts.context import CURRENT, attempt_of
from dure.engine.attempts.deadlines import Deadlines
from dure.engine.attempts.disposition import outcome_of, outcome_of_error
from dure.engine.attempts.threads import AttemptStopped, Threads
from dure.engine.kind import Kind
from dure.engine.work import Stop, Work
from dure.ports.clock import Clock

BURST_SECONDS: Final = 0.002
"""After this long without a pause a slot lets the loop turn."""
GRACE_SECONDS: Final = 5.0
"""How long an interrupted async handler may take to end before its slot is replaced."""

Finish = Callable[[Work, list[Outcome] | Stop], None]
"""Called once per work: its outcomes, one for each claim, or why it was stopped."""


class Slots:
    """Runs work, up to `size` at a time."""

    def __init__(
        self,
        size: int,
        *,
        clock: Clock,
        finish: Finish,
        threads: Threads,
        children: Children,
    ) -> None:
        self._clock = clock
        self._finish = finish
        self._interrupter = self._interrupt
        self._threads = threads
        self._children = children
        self._queue: deque[Work] = deque()
        self._idle: list[asyncio.Future[None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_waking = False
        """A slot was woken and has not started yet: one at a time, or a batch that never
        suspends would wake them all."""
        self._surplus = 0
        self.size = 0
        self.is_leaving = False
        """Start nothing more; what waits here is to be given back."""
        self.busy = 0
        self.running: set[Work] = set()
        self._deadlines = Deadlines(clock, self.running)
        self._context = copy_context()
        self.resize(size)

    @property
    def waiting(self) -> int:
        """Work that has no slot yet."""
        return len(self._queue)

    @property
    def abandoned_threads(self) -> int:
        """Threads whose attempt was stopped and which still run."""
        return self._threads.abandoned

    def resize(self, size: int) -> None:
        """Change how many handlers run at once; running ones are left alone."""
        self._surplus = max(self._surplus + self.size - size, 0) if size < self.size else 0
        for _ in range(len(self._tasks) - self._surplus, size):
            self._start_slot()
        self.size = size
        if self._surplus:
            while self._idle:
                self._wake()

    def _start_slot(self) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(), name="dure-slot")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def put(self, works: list[Work]) -> None:
        """Queue work and wake the first slot of the chain."""
        self._queue.extend(works)
        if not self._is_waking:
            self._wake()

    def waiting_work(self) -> list[Work]:
        """What has no slot yet."""
        return list(self._queue)

    def take_back(self) -> list[Work]:
        """Everything that has not been started."""
        works = list(self._queue)
        self._queue.clear()
        return works

    def _wake(self) -> None:
        """Wake a slot; it wakes the next one when it starts and finds more than it can take."""
        while self._idle:
            future = self._idle.pop()
            if not future.done():
                future.set_result(None)
                self._is_waking = True
                return

    async def _serve(self) -> None:
        queue, monotonic = self._queue, self._clock.monotonic
        loop = asyncio.get_running_loop()
        paused = monotonic()
        task = asyncio.current_task()
        assert task is not None
        while True:
            while not queue or self.is_leaving:
                if self._surplus > 0:
                    self._surplus -= 1
                    return
                future = loop.create_future()
                self._idle.append(future)
                await future
                self._is_waking = False
                paused = monotonic()
            work = queue.popleft()
            if queue and self._idle and not self._is_waking:
                self._wake()
            self.busy += 1
            try:
                is_ours = await self._run(work, task)
            finally:
                self.busy -= 1
            if not is_ours:
                return
            now = monotonic()
            if now - paused > BURST_SECONDS:
                await asyncio.sleep(0)
                paused = monotonic()

    async def _run(self, work: Work, task: asyncio.Task[None]) -> bool:
        """Run one work; False when this slot was replaced meanwhile and must end."""
        if (stopped := work.stopped()) is not None:
            self._answer(work, stopped)
            return True
        work.started = self._clock.monotonic()
        work.task = task
        work.stopper = self._interrupter
        self.running.add(work)
        if work.kind.terms.mode != "process":
            self._watch(work)
        answer: list[Outcome] | Stop
        try:
            answer = await self._call(work)
        except asyncio.CancelledError:
            stopped = work.stopped()
            if stopped is None and task.cancelling():
                raise
            cancelled = "CancelledError: the handler was cancelled from within"
            answer = stopped or [Retry(cancelled)] * len(work.claims)
        except AttemptStopped:
            answer = work.stopped() or Stop.TIMEOUT
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the kind's rules say what it means; exits end no node
            outcome = outcome_of_error(error, work.kind.terms)
            answer = [outcome] * len(work.claims)
        finally:
            self.running.discard(work)
        if (stopped := work.stopped()) is not None:
            answer = stopped
            task.uncancel()
            if work.grace is not None:
                work.grace.cancel()
        if work.is_done:
            return False
        work.is_done = True
        self._finish(work, answer)
        return True

    def _watch(self, work: Work) -> None:
        """Let the attempt's time run. A process handler's begins when its child is ready."""
        work.started = self._clock.monotonic()
        if (timeout := work.kind.terms.timeout) is not None:
            self._deadlines.watch(work, timeout)

    def _interrupt(self, work: Work) -> None:
        """Cancel a running attempt; if it does not end in time its slot is replaced."""
        if work.task is not None:
            work.task.cancel()
            loop = asyncio.get_running_loop()
            work.grace = loop.call_later(GRACE_SECONDS, self._replace, work)

    def _answer(self, work: Work, answer: list[Outcome] | Stop) -> None:
        work.is_done = True
        self._finish(work, answer)

    def _replace(self, work: Work) -> None:
        """An attempt ignored its interruption: report it stopped and give its slot to another."""
        if not work.is_done and work.stop is not None:
            self.running.discard(work)
            self._answer(work, work.stop)
            self._start_slot()

    async def _call(self, work: Work) -> list[Outcome]:
        kind, claims = work.kind, work.claims
        context = self._context.copy()
        if not isinstance(kind, Kind):
            return await self._call_chunk(work, context)
        claim = claims[0]
        try:
            args, kwargs = kind.arguments(claim.body)
        except KindInvalid as error:
            return [Fail(str(error))]
        context.run(CURRENT.set, work)
        match kind.terms.mode:
            case "async":
                answer = await _within(context, kind.fn(*args, **kwargs))
            case "thread":
                answer = await self._threads.run(kind.fn, args, kwargs, context)
            case _:
                call = call_of(kind.fn, claim.body, attempt_of(work))
                answer = await self._children.run(call, ready=lambda: self._watch(work))
        return [outcome_of(answer)]

    async def _call_chunk(self, work: Work, context: Context) -> list[Outcome]:
        kind: Any = work.kind
        broken: dict[int, Outcome] = {}
        items = []
        for place, claim in enumerate(work.claims):
            try:
                items.append(kind.item(claim.body))
            except KindInvalid as error:
                broken[place] = Fail(str(error))
        answers: Any = None
        if items:
            if kind.terms.mode == "async":
                answers = await _within(context, kind.fn(items))
            else:
                answers = await self._threads.run(kind.fn, (items,), {}, context)
        outcomes = _outcomes(kind.name, answers, len(items))
        for place, outcome in broken.items():
            outcomes.insert(place, outcome)
        return outcomes

    async def close(self) -> None:
        """End all slots. Work still running must have been interrupted before."""
        self._deadlines.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._threads.close()
        await self._children.close()


def _outcomes(name: str, answers: object, count: int) -> list[Outcome]:
    """One outcome per item; a chunk that answers with anything else has failed."""
    if answers is None:
        return [outcome_of(None)] * count
    if not isinstance(answers, list | tuple) or len(answers) != count:
        found = len(answers) if isinstance(answers, list | tuple) else type(answers).__name__
        error = f"the chunk handler {name!r} must return {count} outcomes or None, not {found}"
        return [Fail(error)] * count
    return [outcome_of(answer) for answer in answers]


@coroutine
def _within(context: Context, inner: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Await a coroutine inside a context of its own, in the current task."""
    send, throw = inner.send, inner.throw
    value: Any = None
    error: BaseException | None = None
    while True:
        try:
            if error is None:
                waiting = context.run(send, value)
            else:
                waiting, error = context.run(throw, error), None
        except StopIteration as stop:
            return stop.value
        try:
            value = yield waiting
        except BaseException as raised:  # handed on into the handler, whatever it is
            error = raised
