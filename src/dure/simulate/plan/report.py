"""What a plan has found, as plain numbers: of one run, to be printed or compared."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from dure.core.state import State
from dure.simulate.plan.advice import advice
from dure.simulate.plan.binding import Share, shares
from dure.simulate.plan.fleet import Fleet
from dure.simulate.plan.stream import LaneRun, Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Seconds from a job's arrival to the start of its first attempt."""

    jobs: int
    p50: float
    p95: float
    p99: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KindFigures:
    """What became of the jobs of a kind."""

    name: str
    waits: Waits
    attempts: int
    retries: int
    timeouts: int
    succeeded: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneFigures:
    """What became of lanes that are alike."""

    name: str
    lanes: int
    waits: Waits
    worst_p95: float
    """The p95 of the lane that has the longest one."""
    pace: float
    """Jobs a second that a lane was given while it had work waiting; 0 when none ever had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A run of a plan. Lengths of time are in seconds, shares lie between 0 and 1."""

    workers: int
    slots: int
    """Of each worker."""
    seed: int
    jobs: int
    ended: int
    left: int
    """Jobs that had not ended when patience ran out."""
    seconds: float
    """From the start to the end of the last job, or until patience ran out."""
    after_last_arrival: float
    throughput: float
    """Jobs a second, over all the time."""
    slots_used: float
    """Share of all slots that was busy, over all the time."""
    waiting_most: int
    waits: Waits
    kinds: tuple[KindFigures, ...]
    lanes: tuple[LaneFigures, ...]
    binds: tuple[Share, ...]
    advice: tuple[str, ...]

    @property
    def name(self) -> str:
        """What was planned with: `4 x 50` are 4 workers of 50 slots."""
        return f"{self.workers} x {self.slots}"

    def item(self) -> dict[str, Any]:
        """Built-in types only, for JSON."""
        return {"name": self.name, **asdict(self)}


def report(fleet: Fleet) -> Report:
    """The figures of a run that is over."""
    scenario = fleet.scenario
    streams = list(fleet.streams.values())
    left = fleet.arrived - fleet.ended
    seconds = fleet.now if left else fleet.last_end
    slots_used = fleet.busy_seconds / (seconds * scenario.places) if seconds else 0.0
    binds = tuple(shares(fleet.binding))
    return Report(
        workers=scenario.workers,
        slots=scenario.slots,
        seed=scenario.seed,
        jobs=fleet.arrived,
        ended=fleet.ended,
        left=left,
        seconds=seconds,
        after_last_arrival=max(seconds - fleet.last_arrival, 0.0),
        throughput=fleet.ended / seconds if seconds else 0.0,
        slots_used=slots_used,
        waiting_most=fleet.waiting_max,
        waits=_waits(streams),
        kinds=tuple(_kind(fleet, name, streams) for name in fleet.kinds),
        lanes=tuple(_lanes(fleet, name) for name in fleet.lanes),
        binds=binds,
        advice=tuple(advice(binds, scenario, slots_used=slots_used, left=left)),
    )


def _kind(fleet: Fleet, name: str, streams: Sequence[Stream]) -> KindFigures:
    run = fleet.kinds[name]
    waits = _waits(stream for stream in streams if stream.kind is run)
    return KindFigures(
        name=name,
        waits=waits,
        attempts=run.attempts,
        retries=run.attempts - waits.jobs,
        timeouts=run.timeouts,
        succeeded=run.ends[State.SUCCESS],
        failed=run.ends[State.FAILED],
    )


def _lanes(fleet: Fleet, name: str) -> LaneFigures:
    lanes = fleet.lanes[name]
    seconds = sum(lane.seconds + _open_seconds(lane, fleet.now) for lane in lanes)
    return LaneFigures(
        name=name,
        lanes=len(lanes),
        waits=_waits(stream for lane in lanes for stream in lane.streams),
        worst_p95=max(_waits(lane.streams).p95 for lane in lanes),
        pace=sum(lane.served for lane in lanes) / seconds if seconds else 0.0,
    )


def _open_seconds(lane: LaneRun, now: float) -> float:
    return now - lane.since if lane.waiting else 0.0


def _waits(streams: Iterable[Stream]) -> Waits:
    found = array("d")
    for stream in streams:
        found.extend(stream.waits)
    ordered = sorted(found)

    def at(share: float) -> float:
        return ordered[max(ceil(share * len(ordered)) - 1, 0)] if ordered else 0.0

    return Waits(jobs=len(ordered), p50=at(0.5), p95=at(0.95), p99=at(0.99), most=at(1.0))
