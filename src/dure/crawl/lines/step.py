"""One step of a page's way through a stage: a bounded queue, and the workers behind it.

Fetching, parsing and saving each have theirs, so a slow one fills its queue, and the worker
who wants to hand a page over waits: that is how pressure gets back to the hosts.
"""

import asyncio
from collections.abc import Callable

from dure.crawl.belt import Belt
from dure.crawl.crew import Crew, Worker
from dure.crawl.spider import Crew as Size
from dure.engine.gates import Resource
from dure.ports.clock import Clock


class Step:
    """A queue, its workers, and the resource that each of them may need a place of."""

    def __init__(
        self,
        name: str,
        queue_max: int,
        size: Size,
        *,
        place: Resource | None,
        clock: Clock,
        freed: Callable[[Resource], None],
    ) -> None:
        self.name = name
        self.queue = Belt(name, queue_max)
        self.crew = Crew(size)
        self.place = place
        self._now = clock.monotonic
        self._freed = freed
        self._began: dict[int, float] = {}

    async def begin(self) -> Worker:
        """A page has come out of the queue: the worker who took it, once there is one."""
        try:
            while self.crew.room() <= 0 or (self.place is not None and self.place.room() <= 0):
                woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self.crew.refused(lambda turn=woken: self._wake(turn))  # type: ignore[misc]
                await woken
        finally:
            self.queue.leave()
        if self.place is not None:
            self.place.take(1)
        worker = self.crew.begin()
        self._began[id(worker)] = self._now()
        return worker

    def end(self, worker: Worker, *, is_good: bool) -> None:
        """The worker is through with it."""
        now = self._now()
        took = now - self._began.pop(id(worker))
        self.crew.end(worker, is_good=is_good, took=took, now=now)
        if self.place is not None:
            self.place.settle(1)
            self._freed(self.place)

    def _wake(self, turn: asyncio.Future[None]) -> None:
        if turn.done():
            self.crew.release(1)  # whoever waited is gone: the next one's turn
        else:
            turn.set_result(None)
