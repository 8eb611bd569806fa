"""The promises, checked after every call that reached the store.

The auditor keeps a model of its own: a state, a fence and an attempt for each job, fed by
what the triggers saw. It knows nothing of what the engine intends.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from dure.core.allowance import Grant
from dure.core.limit import Limit
from dure.core.state import FINAL, Event, State
from dure.core.stream import kind_of, lane_of
from dure.core.table import TABLE
from dure.ports.rows import Change
from dure.scripts.limits import Unused
from dure.simulate.faults.booking import Bookings
from dure.simulate.faults.history import History, Violation
from dure.simulate.faults.ledger import Ledger, Trace

_LEGAL: Final = frozenset((was, to) for (was, _), row in TABLE.items() for to in row.targets)
_OWN: Final = frozenset(
    {
        *(Event.SUCCEED, Event.SKIP, Event.RETRY, Event.TIMEOUT, Event.WAIT),
        *(Event.GIVE_BACK, Event.STALE, Event.FAIL),
    }
)
"""What only the worker that runs an attempt may say of it."""
_OPERATORS: Final = "client"
"""Hosts of this name act for people, who may end anything."""


class Seen(NamedTuple):
    """A job as the auditor knows it."""

    state: State
    fence: int
    attempt: int
    stream: int


class Caps(NamedTuple):
    """How many jobs may be RUNNING at once, by lane and by kind; and the most attempts."""

    lanes: Mapping[str, int]
    kinds: Mapping[str, int]
    attempts: Mapping[str, int]


class Turns:
    """How often other lanes were served while a lane waited with work anybody may run."""

    def __init__(self, streams: Mapping[int, int], most: int) -> None:
        self._streams = streams
        self._most = most
        self._passed = {lane: Counter[int]() for lane in streams}

    def served(self, lane: int, ready: Mapping[int, int]) -> str:
        """A job of this lane was claimed; says who has been passed over too often."""
        for other, passed in self._passed.items():
            if other == lane or not ready[self._streams[other]]:
                passed.clear()
                continue
            passed[lane] += 1
            if passed[lane] > self._most:
                passed.clear()
                return f"Lane {lane} was served {self._most + 1} jobs while lane {other} waited."
        return ""


class Auditor:
    """Watches one store."""

    def __init__(self, ledger: Ledger, history: History, caps: Caps) -> None:
        self._ledger = ledger
        self.history = history
        self._caps = caps
        self.violations: list[Violation] = []
        self.jobs: dict[int, Seen] = {}
        self.claimant: dict[tuple[int, int], str] = {}
        """Which host runs a job under a fence."""
        self.finishes: Counter[tuple[int, int]] = Counter()
        self._running: dict[str, Counter[int]] = {"lane": Counter(), "kind": Counter()}
        self._names: dict[str, dict[int, str]] = {"lane": {}, "kind": {}}
        self.bookings = Bookings()
        self.turns: Turns | None = None
        """Set while fairness is judged."""
        self.ready: defaultdict[int, int] = defaultdict(int)
        """PENDING jobs, by stream."""

    def limit(self, limit: Limit) -> None:
        """Watch what is booked on this limit."""
        self.bookings.define(limit)

    def violated(self, invariant: str, sentence: str, job: int | None = None) -> None:
        """A promise did not hold."""
        at = asyncio.get_running_loop().time()
        self.violations.append(Violation(at, invariant, sentence, job))

    def observe(self, host: str, verb: str, changes: Sequence[Change] = ()) -> None:
        """Judge all that has changed since the last call."""
        traces = self._ledger.traces()
        if not traces:
            return
        at = asyncio.get_running_loop().time()
        events = {change.transition.id: change.transition.event for change in changes}
        half: dict[int, Trace] = {}
        for trace in traces:
            self.history.changed(at, host, verb, trace)
            if trace.was is not None and trace.becomes is not None:
                if trace.job in half:  # inserted and claimed in one transaction
                    self._alone(half.pop(trace.job))
                self._moved(host, events.get(trace.job), trace)
            elif trace.job in half:
                self._crossed(host, events.get(trace.job), half.pop(trace.job), trace)
            else:
                half[trace.job] = trace
        for trace in half.values():
            self._alone(trace)
        self._check_caps()

    def _crossed(self, host: str, event: Event | None, first: Trace, second: Trace) -> None:
        """A job left one table and entered the other."""
        gone, come = (first, second) if first.becomes is None else (second, first)
        if gone.was is None or come.becomes is None:
            self.violated("one place", "A job was put in, or taken out, twice at once.", gone.job)
            return
        whole = come._replace(was=gone.was, fence_was=gone.fence, attempt_was=gone.attempt)
        self._moved(host, event, whole)

    def _alone(self, trace: Trace) -> None:
        if trace.becomes is None:
            self.violated("nothing is lost", f"Job {trace.job} vanished.", trace.job)
            self.jobs.pop(trace.job, None)
            return
        if trace.job in self.jobs:
            self.violated("one place", f"Job {trace.job} exists twice.", trace.job)
        if (None, trace.becomes) not in _LEGAL and trace.becomes is not State.SUSPENDED:
            self.violated("the table", f"A new job is {trace.becomes.name}.", trace.job)
        self._keep(trace)

    def _moved(self, host: str, event: Event | None, trace: Trace) -> None:
        known = self.jobs.get(trace.job)
        was, becomes, job = trace.was, trace.becomes, trace.job
        assert was is not None
        assert becomes is not None
        if known is None or known.state is not was:
            self.violated("one place", f"Job {job} was {was.name} out of nowhere.", job)
        elif trace.fence < known.fence:
            self.violated("the fence only grows", f"{known.fence} became {trace.fence}.", job)
        if becomes is State.RUNNING:
            self._claimed(host, trace)
        elif not _is_legal(was, becomes):
            self.violated("the table", f"{was.name} became {becomes.name}.", job)
        if was is State.RUNNING:
            self._ended(host, event, trace)
        self._keep(trace)

    def _claimed(self, host: str, trace: Trace) -> None:
        if trace.was is not State.PENDING:
            self.violated("the table", f"A job that was {trace.was} was claimed.", trace.job)
        if trace.fence != (trace.fence_was or 0) + 1:
            self.violated("a claim is a new fence", f"The fence is {trace.fence}.", trace.job)
        most = self._caps.attempts.get(self._name("kind", kind_of(trace.stream)))
        if most is not None and trace.attempt > most:
            sentence = f"Attempt {trace.attempt} of {most} began."
            self.violated("attempts are bounded", sentence, trace.job)
        self.claimant[trace.job, trace.fence] = host
        if self.turns is not None:
            starved = self.turns.served(lane_of(trace.stream), self.ready)
            if starved:
                self.violated("no lane starves", starved)

    def _ended(self, host: str, event: Event | None, trace: Trace) -> None:
        """An attempt is over. Who said so?"""
        attempt = (trace.job, trace.fence)
        claimant = self.claimant.get(attempt)
        self.finishes[attempt] += 1
        if self.finishes[attempt] > 1:
            self.violated("one end per fence", f"Fence {trace.fence} ended twice.", trace.job)
        if claimant == host or host.startswith(_OPERATORS):
            return
        if event in _OWN or event is None:
            sentence = f"{host} said {event} of an attempt of {claimant}."
            self.violated("only its worker speaks for an attempt", sentence, trace.job)
        if trace.attempt < (trace.attempt_was or 0):
            sentence = "An attempt that was taken away was not spent."
            self.violated("a lost lease spends the attempt", sentence, trace.job)
        if event is Event.LEASE_LOST and self._is_alive(trace):
            sentence = f"It was taken from {claimant}, whose lease still holds."
            self.violated("a living worker keeps its jobs", sentence, trace.job)

    def _is_alive(self, trace: Trace) -> bool:
        rows = self._ledger.ask(
            "select w.lease_until from dure_attempt a join dure_worker w on w.id = a.worker "
            "where a.job = ? and a.fence = ? order by a.rowid desc limit 1",
            trace.job,
            trace.fence,
        )
        return bool(rows) and rows[0][0] > self._ledger.moment()

    def _keep(self, trace: Trace) -> None:
        known = self.jobs.get(trace.job)
        if known is not None:
            self._count(known, -1)
        assert trace.becomes is not None
        seen = Seen(trace.becomes, trace.fence, trace.attempt, trace.stream)
        self.jobs[trace.job] = seen
        self._count(seen, 1)

    def _count(self, seen: Seen, step: int) -> None:
        if seen.state is State.RUNNING:
            self._running["lane"][lane_of(seen.stream)] += step
            self._running["kind"][kind_of(seen.stream)] += step
        elif seen.state is State.PENDING:
            self.ready[seen.stream] += step

    def _check_caps(self) -> None:
        for what, caps in (("lane", self._caps.lanes), ("kind", self._caps.kinds)):
            for number, count in self._running[what].items():
                most = caps.get(self._name(what, number), count)
                if count > most and (alive := self._alive(what, number)) > most:
                    name = self._name(what, number)
                    sentence = f"{alive} jobs of the {what} {name!r} run; its cap is {most}."
                    self.violated("caps hold", sentence)

    def _alive(self, what: str, number: int) -> int:
        """RUNNING jobs under workers whose lease holds.

        A worker that was declared dead may still get a claim through that was on its way.
        Its slots have been given to others by then, and nothing it does can be committed.
        """
        rows = self._ledger.ask(
            "select l.stream from dure_live l join dure_worker w on w.id = l.worker "
            "where l.state = 1 and w.lease_until > ?",
            self._ledger.moment(),
        )
        part = lane_of if what == "lane" else kind_of
        return sum(part(stream) == number for (stream,) in rows)

    def booked(self, answers: Mapping[str, Any]) -> None:
        """Permits were booked."""
        for name, answer in answers.items():
            if isinstance(answer, Grant) and answer.granted:
                excess = self.bookings.add(name, answer.slot, answer.granted)
                if excess:
                    self.violated("limits are exact", excess)

    def unbooked(self, unused: Sequence[Unused]) -> None:
        """Permits were given back."""
        for each in unused:
            self.bookings.remove(each.limit, each.slot, each.permits)

    def _name(self, what: str, number: int) -> str:
        names = self._names[what]
        if number not in names:
            names.update(self._ledger.ask(f"select id, name from dure_{what}"))  # noqa: S608
        return names.get(number, "")


def _is_legal(was: State, becomes: State) -> bool:
    """Also a job that falls due while its session is paused: it is SUSPENDED instead."""
    return (was, becomes) in _LEGAL or (was in FINAL and becomes is State.SUSPENDED)
