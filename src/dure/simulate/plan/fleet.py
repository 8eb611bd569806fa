"""The run of a plan: events in the order of virtual time, and turns as the engine gives them.

Whose turn it is decides `core.fairness.Rotation`; what follows from an attempt, `core.decide`
with the kind's `RetryPolicy`; what limits and breakers allow, `core.allowance` and
`core.breaker`. What is left out is what costs a real fleet little:

- One rotation stands for those of all nodes. Nodes go round the same lanes independently,
  so their turns add up to this one's, give or take a job a node.
- The store answers at once, nothing is fetched ahead, and a freed slot is filled at once.
- Nobody dies, pauses anything, or disables a lane.
"""

import random
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from math import ceil
from typing import Any, Final

from dure.core.decide import SUCCEEDED, Cause, Transition, decide
from dure.core.fairness import Rotation
from dure.core.settings import SETTINGS
from dure.core.state import Event, State
from dure.core.stream import pack
from dure.simulate.plan.arrivals import Wave, waves
from dure.simulate.plan.binding import Binding
from dure.simulate.plan.gatehouse import Gatehouse
from dure.simulate.plan.gates import Gate, Permits
from dure.simulate.plan.scenario import Arrival, KindPlan, Scenario
from dure.simulate.plan.stream import Ended, Job, KindRun, LaneRun, Stream

_PROMOTE_SECONDS: Final = float(SETTINGS["promote.interval"].default)
"""A retry starts when the promoter next looks, not at the moment it falls due."""
_CLAIMED: Final = Cause(Event.CLAIM)
_DUE: Final = Cause(Event.DUE)
_FAILED: Final = Cause(Event.RETRY, error="it failed")
_BLAMED: Final = Cause(Event.FAIL, error="it failed for good")
_TIMED_OUT: Final = Cause(Event.TIMEOUT, error="it took too long")
_PROGRESS_EVENTS: Final = 1 << 15

Told = Callable[[int], None]
"""Called now and then with the number of jobs that have ended."""


class Fleet:
    """All workers of a scenario, and everything that happens to them."""

    def __init__(self, scenario: Scenario, told: Told | None = None) -> None:
        self.scenario = scenario
        self.now = 0.0
        """Seconds since the start."""
        self.binding = Binding()
        self.kinds = {name: self._kind(plan) for name, plan in scenario.kinds.items()}
        self.lanes: dict[str, list[LaneRun]] = {}
        self.streams: dict[int, Stream] = {}
        self.waiting = 0
        self.waiting_max = 0
        self.running = 0
        self.delayed = 0
        """Jobs that wait for their next attempt to fall due."""
        self.arrived = 0
        self.ended = 0
        self.busy_seconds = 0.0
        """Of all slots together."""
        self.last_arrival = 0.0
        self.last_end = 0.0
        self._sources = len(scenario.arrivals)
        """Entries of arrivals from which more is to come."""
        self._told = told
        self._rotation = Rotation()
        self._gatehouse = Gatehouse(scenario, self, self.binding)
        self._events: list[tuple[float, int, Callable[[Any], None], Any]] = []
        self._ticket = 0
        self.free = scenario.places
        self.leased: list[Permits] = []
        self._admitted: list[int] = []
        self._refusals: dict[int, Gate] = {}
        self._build()

    @property
    def epoch_now(self) -> float:
        """The store's clock."""
        return self.scenario.epoch + self.now

    def run(self) -> None:
        """Until every job has ended, or the scenario's patience is at its end."""
        events, patience = self._events, self.scenario.patience
        count = 0
        while self._sources or self.ended < self.arrived:
            assert events, "work is left, so something must be about to happen"
            at = events[0][0]
            if at > patience:
                self._pass(patience)
                return
            self._pass(at)
            while events and events[0][0] <= at:
                _, _, act, what = heappop(events)
                act(what)
                count += 1
            self._dispatch()
            while self.leased:
                self.leased.pop().give_back()
                self._dispatch()
            if self._told is not None and count >= _PROGRESS_EVENTS:
                self._told(self.ended)
                count = 0

    def comes_back(self, stream: Stream) -> None:
        """A gate lets a stream have its turn again."""
        self._note(stream)

    def wake_at(self, at: float, gate: Gate) -> None:
        """Ask a gate again at this moment."""
        self._push(at, _wake, gate)

    def _kind(self, plan: KindPlan) -> KindRun:
        """With dice of its own: what another kind does must not change what happens here."""
        draws = [self._dice(f"{what}:{plan.name}") for what in ("length", "chance", "delay")]
        length, chance, delay = draws
        number = list(self.scenario.kinds).index(plan.name)
        return KindRun(plan, number, plan.duration.draws(length), chance.random, delay.random)

    def _dice(self, name: str) -> random.Random:
        return random.Random(f"{self.scenario.seed}:{name}")  # noqa: S311 - chance, not secrecy

    def _build(self) -> None:
        number = 0
        for group in self.scenario.lanes.values():
            runs = self.lanes[group.name] = []
            for place in range(group.count):
                number += 1
                runs.append(LaneRun(group, group.lane_name(place), number))
                if group.weight != 1.0:
                    self._rotation.weigh(number, group.weight)
        for run in self.kinds.values():
            run.then = [(self.kinds[name], count) for name, count in run.plan.then.items()]
        for outage in self.scenario.outages:
            for name in outage.kinds:
                self.kinds[name].outages.append((outage.start, outage.end))
        for place, arrival in enumerate(self.scenario.arrivals):
            source = _Source(self, arrival, self._dice(f"arrival:{place}"))
            self._push(0.0, self._arrive, source)

    def _push(self, at: float, act: Callable[[Any], None], what: Any) -> None:
        self._ticket += 1
        heappush(self._events, (at, self._ticket, act, what))

    def _pass(self, at: float) -> None:
        """Let time pass; nothing changed meanwhile."""
        seconds = at - self.now
        if seconds > 0.0:
            running, waiting = self.running, self.waiting
            self.busy_seconds += seconds * running
            self.waiting_max = max(self.waiting_max, waiting)
            self.binding.passed(seconds, waiting, running, self.delayed)
            self.now = at

    def _arrive(self, source: "_Source") -> None:
        """Take in what comes now, and remember when the next comes."""
        while (wave := source.following) is not None:
            if wave.at > self.now:
                self._push(wave.at, self._arrive, source)
                return
            stream = self._stream(source.lanes[wave.lane], source.kind, source.priority)
            self._put(stream, wave.jobs)
            source.go_on()
        self._sources -= 1

    def _put(self, stream: Stream, count: int) -> None:
        """New jobs."""
        self.arrived += count
        self.last_arrival = self.now
        stream.lots.append([self.now, count])
        self._wait(stream, count)

    def _stream(self, lane: LaneRun, kind: KindRun, priority: int) -> Stream:
        number = pack(lane.number, kind.number, priority)
        stream = self.streams.get(number)
        if stream is None:
            stream = self.streams[number] = Stream(number, lane, kind)
            stream.gates = self._gatehouse.gates(lane, kind.plan)
            lane.streams.append(stream)
        return stream

    def _wait(self, stream: Stream, count: int) -> None:
        """More jobs wait in a stream."""
        stream.waiting += count
        self.waiting += count
        lane = stream.lane
        if not lane.waiting:
            lane.since = self.now
        lane.waiting += count
        if stream.held_by is not None:
            stream.held_by.grow(count)
        elif not stream.is_known:
            self._note(stream)

    def _note(self, stream: Stream) -> None:
        stream.is_known = True
        self._rotation.note(stream.number)

    def _dispatch(self) -> None:
        """Give turns as long as there are free slots and lanes that may use them."""
        rotation, slots = self._rotation, self.scenario.slots
        while self.free > 0 and len(rotation):
            turns = rotation.turns(min(self.free, slots), self._may)
            if not turns:
                return
            for turn, count in zip(turns, self._admitted, strict=True):
                stream = self.streams[turn.stream.number]
                for _ in range(count):
                    self._start(stream)
                rotation.served(turn, count, 0)
                if not turn.stream.is_active:
                    stream.is_known = False
                    gate = self._refusals.pop(stream.number, None)
                    if gate is not None:
                        gate.hold(stream, turn.lane.virtual)
                        _offer(stream, gate)
            self._admitted.clear()

    def _may(self, number: int, wanted: int) -> int:
        """How many of a stream may start now; they count as taken.

        A turn for more than there is, or for nothing, ends with the stream leaving the
        rotation: it is empty, or it goes to wait at the gate that refused it.
        """
        stream = self.streams[number]
        count = min(wanted, stream.waiting)
        if count:
            for gate in stream.gates:
                room = gate.room(count)
                if room < count:
                    count = room
                    if room <= 0:
                        self._refusals[number] = gate
                        self._admitted.append(0)
                        return wanted
            for gate in stream.gates:
                gate.take(count)
        self._admitted.append(count)
        return wanted if count == stream.waiting else count

    def _start(self, stream: Stream) -> None:
        now, kind = self.now, stream.kind
        job = self._next_job(stream)
        stream.waiting -= 1
        self.waiting -= 1
        lane = stream.lane
        lane.waiting -= 1
        if not lane.waiting:
            lane.seconds += now - lane.since
        move = decide(job, _CLAIMED, kind.plan.retry, now, 0.0)
        assert isinstance(move, Transition), "a job that waits can be claimed"
        job.state, job.attempt, job.fence = move.to, move.attempt, move.fence + 1
        job.started = now
        kind.attempts += 1
        self.running += 1
        self.free -= 1
        seconds = kind.draw()
        timeout = kind.plan.timeout
        if timeout is not None and seconds > timeout:
            self._push(now + timeout, self._time_out, job)
        else:
            self._push(now + seconds, self._answer, job)

    def _next_job(self, stream: Stream) -> Job:
        """The first one that waits; a new one is made only now, since it was all alike."""
        lot = stream.lots[0]
        if isinstance(lot, Job):
            stream.lots.popleft()
            return lot
        waited = self.now - lot[0]
        if waited:
            stream.lane.served += 1
        stream.waits.append(waited)
        lot[1] -= 1
        if not lot[1]:
            stream.lots.popleft()
        self._ticket += 1
        return Job(self._ticket, stream)

    def _time_out(self, job: Job) -> None:
        job.stream.kind.timeouts += 1
        self._end(job, _TIMED_OUT)

    def _answer(self, job: Job) -> None:
        """The handler has an answer: an outage, bad luck, or success."""
        kind = job.stream.kind
        plan = kind.plan
        cause = SUCCEEDED
        if plan.fails or plan.fails_for_good:
            chance = kind.chance()
            if chance < plan.fails:
                cause = _FAILED
            elif chance < plan.fails + plan.fails_for_good:
                cause = _BLAMED
        if any(start <= self.now < end for start, end in kind.outages):
            cause = _FAILED
        self._end(job, cause)

    def _end(self, job: Job, cause: Cause) -> None:
        stream = job.stream
        kind = stream.kind
        self.running -= 1
        self.free += 1
        if stream.gates:
            ended = Ended(self.scenario.epoch + job.started, cause is SUCCEEDED, cause is _BLAMED)
            for gate in stream.gates:
                gate.settle(ended)
        draw = kind.draw_delay() if cause is not SUCCEEDED else 0.0
        move = decide(job, cause, kind.plan.retry, self.now, draw)
        assert isinstance(move, Transition), "every answer of a running job is in the table"
        job.state, job.attempt = move.to, move.attempt
        if move.due is not None:
            self.delayed += 1
            self._push(ceil(move.due / _PROMOTE_SECONDS) * _PROMOTE_SECONDS, self._fall_due, job)
            return
        self.ended += 1
        self.last_end = self.now
        kind.ends[move.to] += 1
        if move.to is State.SUCCESS and kind.then:
            self._follow(stream)

    def _fall_due(self, job: Job) -> None:
        """Another attempt, behind what waits already."""
        self.delayed -= 1
        move = decide(job, _DUE, job.stream.kind.plan.retry, self.now, 0.0)
        assert isinstance(move, Transition), "a job that waits for its time can fall due"
        job.state = move.to
        priority = job.stream.kind.plan.retry_priority
        if priority is not None:
            job.stream = self._stream(job.stream.lane, job.stream.kind, priority)
        job.stream.lots.append(job)
        self._wait(job.stream, 1)

    def _follow(self, stream: Stream) -> None:
        """What a success enqueues; of 1.5 jobs the half one comes every other time."""
        for kind, count in stream.kind.then:
            whole = int(count)
            number = whole + (stream.kind.chance() < count - whole)
            if number:
                self._put(self._stream(stream.lane, kind, kind.plan.priority), number)


class _Source:
    """An entry of arrivals, and what of it comes next."""

    def __init__(self, fleet: Fleet, arrival: Arrival, dice: random.Random) -> None:
        self.lanes = fleet.lanes[arrival.lanes]
        self.kind = fleet.kinds[arrival.kind]
        priority = arrival.priority
        self.priority = self.kind.plan.priority if priority is None else priority
        self._waves: Iterator[Wave] = waves(arrival, len(self.lanes), fleet.scenario.epoch, dice)
        self.following: Wave | None = None
        self.go_on()

    def go_on(self) -> None:
        """The next wave."""
        self.following = next(self._waves, None)


def _wake(gate: Gate) -> None:
    gate.wake()


def _offer(stream: Stream, refused_by: Gate) -> None:
    """A stream could not use the room that another gate had for it: let another one have it."""
    for gate in stream.gates:
        if gate is not refused_by and gate.held and gate.room(1) > 0:
            gate.reopen(1)
