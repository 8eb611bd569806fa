"""Whether thousands of lanes share the workers evenly when one of them has most of the work."""

import asyncio
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from dure.bench import ballast
from dure.bench.crew import PATIENCE_SECONDS, BenchFailed, Crew
from dure.bench.figures import Reading, jain
from dure.bench.ground import Ground
from dure.bench.marks import Marks
from dure.bench.options import Options
from dure.bench.throughput import flags_of, reached
from dure.bench.workload import MARK, Workload, lane_name, work_on
from dure.core.backoff import RetryPolicy
from dure.core.decide import SUCCEEDED, Transition, decide
from dure.core.fairness import Rotation, Turn
from dure.core.state import Priority
from dure.core.stream import pack
from dure.ports.rows import Ask, Change, Claim
from dure.scripts import workers

LATE = -1.0
"""The mark of the one job whose lane appears when all the others are already being served."""
_LEASE_SECONDS = 3600.0
_LOOK_SECONDS = 0.05


async def fair(ground: Ground, given: Options) -> list[Reading]:
    """Jain's index of every complete round, the wait of a new lane, the price of a fair claim.

    `fair` is the lowest index of all rounds but the first, in which the node has yet to find
    its pace; `fair.late` counts rounds from the enqueueing of a new lane's job to its start.
    """
    return [*await _rounds(ground, given), *await _claims(ground, given)]


async def _rounds(ground: Ground, given: Options) -> list[Reading]:
    marks = Marks(ground.folder / "marks")
    marks.clear()
    url = await ground.fresh()
    work = work_on(url, marks)
    async with work.app, Crew(url, marks.path) as crew:
        await _fill(ground, work, given)
        await crew.hire(1, flags_of(given))
        crew.go()
        await reached(marks, crew, given.lanes)
        await work.app.enqueue(work.job(LATE), lane="late")
        known = marks.count()
        await reached(marks, crew, min(given.each * given.lanes, _total(given)) + 1)
        values = await _values_with_late(marks)
    late = values.index(LATE)
    rounds = list(complete_rounds((v for v in values if v != LATE), given))
    if not rounds:
        raise BenchFailed("There was no complete round: give every lane more jobs with --each.")
    size = statistics.median(sum(counts.values()) for counts in rounds)
    first, *others = [jain(list(counts.values())) for counts in rounds]
    return [
        Reading("fair", min(others, default=first), "Jain's index"),
        Reading("fair.first", first, "Jain's index"),
        Reading("fair.rounds", len(rounds), "rounds"),
        Reading("fair.late", max(late - known, 0) / size, "rounds"),
    ]


async def _values_with_late(marks: Marks) -> list[float]:
    """What all marks carry, once the late lane's is among them."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while LATE not in (values := [mark.value for mark in marks.read()]):
        if time.monotonic() > deadline:
            raise BenchFailed("The job of the lane that came late never ran.")
        await asyncio.sleep(_LOOK_SECONDS)
    return values


def complete_rounds(values: Iterable[float], given: Options) -> Iterator[Counter[float]]:
    """Jobs by lane in each stretch in which every lane had its turn, while all have work left."""
    left = {float(n): given.each if n else given.big for n in range(given.lanes)}
    counts: Counter[float] = Counter()
    for lane, turn in groupby(values):
        if len(counts) == given.lanes:
            yield counts
            counts = Counter()
            if not all(left.values()):
                return
        jobs = sum(1 for _ in turn)
        counts[lane] += jobs
        left[lane] -= jobs
    if len(counts) == given.lanes:
        yield counts


def _total(given: Options) -> int:
    return given.big + given.each * (given.lanes - 1)


async def _fill(ground: Ground, work: Workload, given: Options) -> list[int]:
    """Load all lanes, mixed; returns their streams, the one that has most of the work first."""
    names = work.app.names
    lanes = [lane_name(number) for number in range(given.lanes)]
    await names.learn([MARK], lanes)
    kind = names.kinds[MARK]
    streams = [pack(names.lanes[lane], kind, Priority.NORMAL) for lane in lanes]
    owners = [0] * given.big + [n for n in range(1, given.lanes) for _ in range(given.each)]
    random.Random(0).shuffle(owners)
    bodies = [work.job(float(number)).body for number in range(given.lanes)]
    await ballast.waiting(
        ground,
        [streams[owner] for owner in owners],
        [bodies[owner] for owner in owners],
        analyze=True,
    )
    return streams


async def _claims(ground: Ground, given: Options) -> list[Reading]:
    """Claims in fair turns and claims from the one big lane, in turn, on one store."""
    work = work_on(await ground.fresh(), Marks(ground.folder / "marks"))
    async with work.app:
        streams = await _fill(ground, work, given)
        claiming = await _Claiming.begin(work)
        everybody, alone = Rotation(), Rotation()
        for stream in streams:
            everybody.note(stream)
        alone.note(streams[0])
        shared, single = [], []
        for _ in range(given.claims):
            shared.append(await claiming.claim(everybody, given.batch))
            single.append(await claiming.claim(alone, given.batch))
    fair_ms, fifo_ms = statistics.median(shared) * 1000, statistics.median(single) * 1000
    return [
        Reading("fair.claim", fair_ms / fifo_ms, "of a FIFO claim"),
        Reading("fair.claim.p50", fair_ms, "ms"),
        Reading("fair.fifo.p50", fifo_ms, "ms"),
    ]


class _Claiming:
    """Claims as a node makes them, one at a time, each finished before the next."""

    def __init__(self, work: Workload, worker: int) -> None:
        self._store = work.app.store
        self._now = work.app.store_clock.now
        self._worker = worker

    @classmethod
    async def begin(cls, work: Workload) -> "_Claiming":
        now = work.app.store_clock.now()
        worker = await work.app.store.run(
            workers.register(
                "bench",
                "bench",
                pid=0,
                version="",
                kinds=[MARK],
                slots=1,
                lease=_LEASE_SECONDS,
                now=now,
            )
        )
        return cls(work, worker)

    async def claim(self, rotation: Rotation, size: int) -> float:
        """Seconds of one claim."""
        turns = rotation.turns(size, _all_wanted)
        asks = [Ask(turn.stream.number, turn.quota, turn.stream.mark) for turn in turns]
        started = time.perf_counter()
        claims = await self._store.claim(self._worker, asks)
        took = time.perf_counter() - started
        _serve(rotation, turns, claims)
        await self._store.apply([self._done(claim) for claim in claims])
        return took

    def _done(self, claim: Claim) -> Change:
        move = decide(claim, SUCCEEDED, RetryPolicy(), self._now(), 0.0)
        assert isinstance(move, Transition), "a claimed job can succeed"
        return Change(move, claim.stream)


def _all_wanted(_stream: int, wanted: int) -> int:
    return wanted


def _serve(rotation: Rotation, turns: Sequence[Turn], claims: Sequence[Claim]) -> None:
    found: dict[int, list[Claim]] = {}
    for claim in claims:
        found.setdefault(claim.stream, []).append(claim)
    for turn in turns:
        mine = found.get(turn.stream.number, [])
        rotation.served(turn, len(mine), mine[-1].pos if mine else 0)
