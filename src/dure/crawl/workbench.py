"""Hosts by the moment they are next due: nothing is claimed before its host may be asked.

The queue is in the store; this is what lies in front of it. A gate stands before each lane
(a host) of each stage and answers from memory. One that says no is not asked again until it
says so itself: when its host is due, a place came free, a worker of the stage is idle, or
the host has become this node's own. So a thousand hosts that wait cost a thousand entries in
a heap and nothing else.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from math import inf, isinf
from typing import TYPE_CHECKING, Final

from dure.crawl.crew import Worker
from dure.crawl.flow import Flow
from dure.crawl.lines.line import Line
from dure.fetch.host import Host
from dure.ports.clock import Clock

if TYPE_CHECKING:
    from dure.crawl.presence import Presence

LEAD_SECONDS: Final = 0.1
"""How far ahead of a host's turn its pages are claimed."""
WINDOW_MAX: Final = 64
"""Pages of one host that are claimed ahead, at most."""
_AHEAD: Final = 0.02
"""How long before its turn a host is asked for again: about what a claim takes."""
_SOON: Final = 0.002
"""Hosts that fall due within this time are woken together."""


class Door:
    """One host on this node: whose it is, and how many of its pages are on their way."""

    def __init__(self, host: Host, bench: "Workbench") -> None:
        self.host = host
        self._bench = bench
        self.is_ours = False
        self.wants = False
        """Somebody asked for it since the last round."""
        self.asked_at = -inf
        self.since = inf
        """When it became ours."""
        self.flow = Flow()
        self.due_at = -inf
        """When the timer will ask again; in the past when it will not."""
        self._is_held = False
        self._reopens_below = WINDOW_MAX
        self.release: Callable[[], None] | None = None

    def room(self) -> int:
        """How many of its pages may be claimed now."""
        now = self._bench.now()
        self.asked_at = now
        if not self.is_ours:
            self._is_held = True
            self._bench.want(self)
            return 0
        host = self.host
        pending, spare = self.pending, self._spare(now)
        room = host.room(now, within=LEAD_SECONDS) + spare - pending
        if room <= 0 or (pending and room < spare // 2):
            # A few places are not worth a round trip to the store while others wait here.
            self._is_held = True
            self._reopens_below = spare // 2 if spare else WINDOW_MAX
            when = host.ready_at(now)
            if not isinf(when) and not spare and self.due_at <= now:
                self._bench.wake_at(max(when - _AHEAD, now + _SOON), self)
            return 0
        return room

    @property
    def pending(self) -> int:
        """Pages that were claimed and wait here for a place of the host."""
        flow = self.flow
        return flow.ahead + max(flow.begun - flow.ended - self.host.running, 0)

    def _spare(self, now: float) -> int:
        """How many pages may lie ready behind those that are being fetched.

        For a host that answers at once and sets no pace: the next pages then begin when a place
        comes free, instead of a round trip to the store later.
        """
        host = self.host
        if host.gap > 0.0 or not 0.0 < host.latency < LEAD_SECONDS:
            return 0
        if host.ready_at(now) > now and host.running < host.manners.concurrency:
            return 0
        return min(int(host.manners.concurrency * LEAD_SECONDS / host.latency), WINDOW_MAX)

    def reopen_later(self) -> Callable[[], None]:
        """What to call when something beside the host has room again."""
        self._is_held = True
        return self.reopen

    def ease(self) -> None:
        """A page is through: ask again once enough of them are."""
        if self._is_held and self.pending <= self._reopens_below:
            self.reopen()

    def reopen(self) -> None:
        """Something has changed: let its lane ask again."""
        if self._is_held and self.release is not None:
            self._is_held = False
            self.release()


class LaneGate:
    """Before one host's pages of one stage: the host's door, and the stage's workers."""

    def __init__(self, door: Door, line: Line, presence: "Presence") -> None:
        self.door = door
        self.line = line
        self.crew = line.crew
        self.presence = presence
        self.running = 0
        """Pages that were claimed and are not committed yet."""
        self._saving: deque[Worker] = deque()
        self._unsaved = 0
        """Pages that ended without anything to save and are not settled yet."""

    def room(self) -> int:
        free = self.crew.room()
        if free <= 0:
            self.crew.refused(self.door.reopen_later())
            return 0
        room = min(self.door.room(), free)
        if room <= 0 or not self.line.later:
            return room
        ahead = self.line.room(self.door.host.name, self.running, self.door.reopen_later)
        return room if ahead is None else min(room, max(ahead, 0))

    def take(self, count: int) -> None:
        self.running += count
        self.door.flow.taken += count
        self.crew.flow.taken += count

    def untake(self, count: int) -> None:
        self.running -= count
        self.door.flow.taken -= count
        self.crew.flow.taken -= count
        if count:
            self.door.reopen()

    def settle(self, count: int) -> None:
        self.running -= count
        self.door.flow.settle(count)
        self.crew.flow.settle(count)
        for _ in range(count):
            if self._unsaved:
                self._unsaved -= 1
            elif self._saving:
                self.line.save.end(self._saving.popleft(), is_good=True)
        self.door.ease()

    def begin(self) -> Worker:
        """A page is begun: who works on it."""
        self.door.flow.begun += 1
        self.crew.flow.begun += 1
        self.line.frontier.take(self.door.host.name)
        return self.crew.begin()

    def end(self, worker: Worker, *, is_good: bool, took: float, now: float) -> None:
        """The page was fetched, or could not be."""
        self.door.flow.ended += 1
        self.crew.flow.ended += 1
        self.crew.end(worker, is_good=is_good, took=took, now=now)
        self.door.ease()

    def saving(self, worker: Worker) -> None:
        """The page is on its way into the store; its worker is free once it is there."""
        self._saving.append(worker)

    def gave_up(self) -> None:
        """The page has nothing to save."""
        self._unsaved += 1

    def is_thirsty(self) -> bool:
        """What it lacks comes by itself."""
        return False


class Workbench:
    """All doors of a node, and one timer for those that will be due."""

    def __init__(self, clock: Clock, want: Callable[[], None]) -> None:
        self.now = clock.monotonic
        self.doors: dict[str, Door] = {}
        self._nudge = want
        self._due: list[tuple[float, int, Door]] = []
        self._ticket = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = inf

    def door(self, host: Host) -> Door:
        """The door of a host."""
        door = self.doors.get(host.name)
        if door is None:
            door = self.doors[host.name] = Door(host, self)
        return door

    def want(self, door: Door) -> None:
        """A host has work and is not ours."""
        if not door.wants:
            door.wants = True
            self._nudge()

    def wake_at(self, when: float, door: Door) -> None:
        """Let a door be asked again at a moment."""
        door.due_at = when
        self._ticket += 1
        heapq.heappush(self._due, (when, self._ticket, door))
        if when < self._timer_at:
            self._set_timer(when)

    def close(self) -> None:
        """No timer may outlive its node."""
        if self._timer is not None:
            self._timer.cancel()
        self._due.clear()

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = when
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(max(when - self.now(), 0.0), self._ring)

    def _ring(self) -> None:
        self._timer, self._timer_at = None, inf
        soon = self.now() + _SOON
        while self._due and self._due[0][0] <= soon:
            _, _, door = heapq.heappop(self._due)
            door.due_at = -inf
            door.reopen()
        if self._due:
            self._set_timer(self._due[0][0])
