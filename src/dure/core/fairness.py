"""Whose turn it is: virtual time over lanes, priorities inside a lane.

Each lane carries a virtual time; serving one job of it adds `1 / weight`. The lane with the
smallest virtual time goes next, so with equal weights this is round robin, and a lane that
was idle starts level with the others instead of with a credit. Inside a lane the most
urgent priority goes first and kinds of equal priority alternate.

The structure is a plain value of the node: no clock, no I/O. It knows streams only by number;
whether one may be served now is asked of the caller, who also says what came of a claim.
"""

import heapq
from collections import deque
from collections.abc import Callable
from typing import Final

from dure.core.stream import lane_of, priority_of

MARK_MARGIN: Final = 512
"""A claim looks this many positions behind the last one served, for late commits."""


class Stream:
    """One stream with waiting work, as this node knows it."""

    __slots__ = ("is_active", "mark", "noted", "number", "priority", "served")

    def __init__(self, number: int) -> None:
        self.number = number
        self.priority = int(priority_of(number))
        self.mark = 0
        self.noted = 0
        """Grows with each sign of new work, to tell a claim that was overtaken."""
        self.served = 0
        self.is_active = False


class Lane:
    """One lane's place in the rotation."""

    __slots__ = ("id", "is_parked", "is_queued", "streams", "virtual", "weight")

    def __init__(self, number: int) -> None:
        self.id = number
        self.weight = 1.0
        self.virtual = 0.0
        self.streams: list[Stream] = []
        self.is_queued = False
        self.is_parked = False


class Turn:
    """A lane's turn: up to `quota` jobs of one stream."""

    __slots__ = ("lane", "noted", "quota", "stream")

    def __init__(self, lane: Lane, stream: Stream, quota: int) -> None:
        self.lane = lane
        self.stream = stream
        self.quota = quota
        self.noted = stream.noted


May = Callable[[int, int], int]
"""(stream, wanted) → how many of it may be served now; 0 keeps the lane waiting."""


class Rotation:
    """All lanes with waiting work, in the order of their turns."""

    def __init__(self) -> None:
        self._lanes: dict[int, Lane] = {}
        self._streams: dict[int, Stream] = {}
        self._queue: list[tuple[float, int, Lane]] = []
        self._ticket = 0
        self._newcomers: deque[Lane] = deque()
        self._is_newcomers_turn = True
        self._parked: dict[int, Lane] = {}
        self._active = 0
        self._now = 0.0

    def __len__(self) -> int:
        """How many lanes have work, as far as known."""
        return self._active

    @property
    def is_held_back(self) -> bool:
        """Whether lanes with work wait for something other than their turn."""
        return bool(self._parked)

    def note(self, number: int, pos: int | None = None) -> None:
        """Work was seen in a stream, at `pos` or later if that is known."""
        stream = self._streams.get(number)
        if stream is None:
            stream = self._streams[number] = Stream(number)
        stream.noted += 1
        if pos is not None and pos < stream.mark:
            stream.mark = pos
        if stream.is_active:
            return
        stream.is_active = True
        lane = self._lane(lane_of(number))
        is_new = not lane.streams and lane.virtual <= self._now
        if not lane.streams:
            self._active += 1
            lane.virtual = max(lane.virtual, self._now)
        place = 0
        while place < len(lane.streams) and lane.streams[place].priority <= stream.priority:
            place += 1
        lane.streams.insert(place, stream)
        if lane.is_parked:
            lane.is_parked = False
            del self._parked[lane.id]
        self._enter(lane, is_new=is_new)

    def weigh(self, number: int, weight: float) -> None:
        """Set a lane's weight; twice the weight is served twice as often."""
        self._lane(number).weight = weight

    def release(self) -> None:
        """Something that held lanes back has changed: ask for all of them again."""
        for lane in self._parked.values():
            lane.is_parked = False
            self._enter(lane)
        self._parked.clear()

    def release_lane(self, number: int) -> None:
        """What held this lane back has changed: ask for it again, and leave the others."""
        lane = self._parked.pop(number, None)
        if lane is not None:
            lane.is_parked = False
            self._enter(lane)

    def turns(self, room: int, may: May) -> list[Turn]:
        """Up to `room` jobs' worth of turns, least served lanes first."""
        chosen: list[Turn] = []
        if room <= 0 or not self._active:
            return chosen
        quantum = self._quantum(room)
        if room >= MANY:
            room -= room % 2  # half a turn would make its lane's round uneven
        again: list[Lane] = []
        while room > 0 and (self._queue or self._newcomers):
            lane = self._next()
            turn = self._turn(lane, min(quantum, room), may)
            if turn is None:
                if lane.streams:
                    lane.is_parked = True
                    self._parked[lane.id] = lane
                continue
            room -= turn.quota
            chosen.append(turn)
            again.append(lane)
        for lane in again:
            self._enter(lane)
        return chosen

    def served(self, turn: Turn, count: int, last: int) -> None:
        """What came of a turn: how many jobs, and the last position among them."""
        lane, stream = turn.lane, turn.stream
        if count:
            lane.virtual += count / lane.weight
            stream.served += count
            stream.mark = max(stream.mark, last + 1 - MARK_MARGIN)
        if count < turn.quota and stream.noted == turn.noted and stream.is_active:
            stream.is_active = False
            lane.streams.remove(stream)
            if not lane.streams:
                self._active -= 1
        elif len(lane.streams) > 1 and stream.is_active:
            self._rotate(lane, stream)

    def forget(self, floor: int) -> None:
        """Drop idle streams whose mark is below `floor`; a scan would find them again."""
        idle = [n for n, s in self._streams.items() if not s.is_active and s.mark < floor]
        for number in idle:
            del self._streams[number]
        for number in [n for n, lane in self._lanes.items() if self._is_forgettable(lane)]:
            del self._lanes[number]

    def _is_forgettable(self, lane: Lane) -> bool:
        return (
            not lane.streams
            and not lane.is_queued
            and lane.weight == 1.0
            and lane.virtual <= self._now
        )

    def streams(self) -> list[int]:
        """Streams believed to hold work."""
        return [number for number, stream in self._streams.items() if stream.is_active]

    def ahead(self, number: int) -> int:
        """How many lanes are served before this one in the round."""
        lane = self._lanes.get(number)
        if lane is None:
            return 0
        return sum(
            1
            for other in self._lanes.values()
            if other.streams and other is not lane and other.virtual < lane.virtual
        )

    def _next(self) -> Lane:
        """The lane whose turn it is."""
        if self._newcomers and (self._is_newcomers_turn or not self._queue):
            lane = self._newcomers.popleft()
            self._is_newcomers_turn = False
        else:
            virtual, _, lane = heapq.heappop(self._queue)
            self._now = max(self._now, virtual)
            self._is_newcomers_turn = True
        lane.is_queued = False
        return lane

    def _quantum(self, room: int) -> int:
        """Jobs per turn: a fair share of the room, and two when there are very many lanes."""
        share = -(-room // max(len(self._queue) + len(self._newcomers), 1))
        return max(share, 2) if room >= MANY else max(share, 1)

    def _turn(self, lane: Lane, wanted: int, may: May) -> Turn | None:
        for stream in lane.streams:
            allowed = may(stream.number, wanted)
            if allowed > 0:
                return Turn(lane, stream, min(allowed, wanted))
        return None

    def _rotate(self, lane: Lane, stream: Stream) -> None:
        """Behind the other kinds of the same priority."""
        streams = lane.streams
        place = streams.index(stream)
        last = place
        while last + 1 < len(streams) and streams[last + 1].priority == stream.priority:
            last += 1
        if last != place:
            streams.insert(last, streams.pop(place))

    def _lane(self, number: int) -> Lane:
        lane = self._lanes.get(number)
        if lane is None:
            lane = self._lanes[number] = Lane(number)
            lane.virtual = self._now
        return lane

    def _enter(self, lane: Lane, *, is_new: bool = False) -> None:
        if lane.streams and not lane.is_queued and not lane.is_parked:
            lane.is_queued = True
            if is_new:
                self._newcomers.append(lane)
                return
            self._ticket += 1
            heapq.heappush(self._queue, (lane.virtual, self._ticket, lane))


MANY: Final = 50
"""From this room on, a turn is two jobs: one index probe then serves two. It is what a node that
keeps up claims at least, so that turns do not change their size in the middle of a round."""
