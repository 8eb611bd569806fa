"""When jobs come in, and in which lane: rows of moments, made as they are needed."""

import random
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from dure.simulate.plan.scenario import Arrival


class Wave(NamedTuple):
    """Some jobs of one lane that come at one moment."""

    at: float
    """Seconds from the start."""
    lane: int
    """Its number within its group."""
    jobs: int


def waves(arrival: Arrival, lanes: int, epoch: float, dice: random.Random) -> Iterator[Wave]:
    """All arrivals of one entry, in the order of time."""
    if arrival.rate:
        yield from _by_rate(arrival, lanes, dice)
        return
    if arrival.over:
        yield from _spread(arrival, lanes, dice)
        return
    for at in moments(arrival, epoch):
        yield from _evenly(at, arrival.jobs, lanes)


def expected(arrival: Arrival, epoch: float) -> float:
    """How many jobs will come, on average."""
    if arrival.rate:
        return arrival.rate * (arrival.end - arrival.start)
    return float(arrival.jobs * sum(1 for _ in moments(arrival, epoch)))


def moments(arrival: Arrival, epoch: float) -> Iterator[float]:
    """When an entry without a rate fires."""
    if arrival.timetable is None:
        yield arrival.start
        return
    yield from takewhile(lambda at: at < arrival.end, _firings(arrival, epoch))


def _firings(arrival: Arrival, epoch: float) -> Iterator[float]:
    """Firings from the start on; the start itself is one when it falls on the rhythm."""
    assert arrival.timetable is not None
    moment = epoch + arrival.start - 1e-6
    while True:
        moment = arrival.timetable.next_after(moment)
        yield moment - epoch


def _evenly(at: float, jobs: int, lanes: int) -> Iterator[Wave]:
    """The same number for every lane; the first ones take what is left over."""
    each, rest = divmod(jobs, lanes)
    for lane in range(lanes):
        count = each + (lane < rest)
        if count:
            yield Wave(at, lane, count)


def _spread(arrival: Arrival, lanes: int, dice: random.Random) -> Iterator[Wave]:
    """Exactly so many, each at any moment: drawn one after another, in the order of time."""
    at, end = arrival.start, arrival.start + arrival.over
    for left in range(arrival.jobs, 0, -1):
        at = end - (end - at) * dice.random() ** (1.0 / left)
        yield Wave(at, dice.randrange(lanes), 1)


def _by_rate(arrival: Arrival, lanes: int, dice: random.Random) -> Iterator[Wave]:
    """Independent callers in all lanes together: each one's lane is drawn as well."""
    at, lane = arrival.start, -1
    gap = 1.0 / arrival.rate
    while True:
        at += gap if arrival.is_steady else dice.expovariate(arrival.rate)
        if at >= arrival.end:
            return
        lane = (lane + 1) % lanes if arrival.is_steady else dice.randrange(lanes)
        yield Wave(at, lane, 1)
