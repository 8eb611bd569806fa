"""Whose turn it is: rounds are even, newcomers come early, and nobody can be held up by them."""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from dure.bench.fair import complete_rounds
from dure.bench.figures import jain
from dure.bench.options import Options
from dure.core.fairness import Rotation
from dure.core.state import Priority
from dure.core.stream import lane_of, pack

LANES, EACH, BIG = 2000, 10, 24_000


def stream_of(lane: int) -> int:
    return pack(lane + 1, 1, Priority.NORMAL)


class Queue:
    """Waiting jobs by lane, and the lanes in the order in which they were served."""

    def __init__(self) -> None:
        self.rotation = Rotation()
        self.left: Counter[int] = Counter()
        self.order: list[int] = []

    def add(self, lane: int, jobs: int) -> None:
        self.left[lane] += jobs
        self.rotation.note(stream_of(lane))

    def claim(self, room: int) -> None:
        for turn in self.rotation.turns(room, lambda _, wanted: wanted):
            lane = lane_of(turn.stream.number) - 1
            found = min(turn.quota, self.left[lane])
            self.left[lane] -= found
            self.order += [lane] * found
            self.rotation.served(turn, found, 1)


def always(room: int) -> Callable[[random.Random], int]:
    return lambda _: room


@pytest.mark.parametrize(
    "room",
    [
        always(1),
        always(10),
        always(51),
        always(500),
        lambda dice: dice.randint(1, 60),
        lambda dice: dice.randint(1, 1000),
    ],
    ids=["one", "ten", "odd", "many", "about a turn's change of size", "anything"],
)
def test_every_complete_round_is_even_from_the_first_whatever_the_room(
    room: Callable[[random.Random], int],
) -> None:
    """X7"""
    dice, queue = random.Random(7), Queue()
    lanes = list(range(LANES))
    dice.shuffle(lanes)
    for lane in lanes:
        queue.add(lane, BIG if lane == 0 else EACH)
    while len(queue.order) < LANES * EACH:
        queue.claim(room(dice))

    given = Options(lanes=LANES, each=EACH, big=BIG)
    rounds = list(complete_rounds(map(float, queue.order), given))

    assert len(rounds) >= 4
    assert min(jain(list(counts.values())) for counts in rounds) >= 0.999


@pytest.mark.parametrize("before", [700, LANES, LANES * 3])
def test_a_new_lane_among_many_is_served_with_the_next_claim(before: int) -> None:
    """X7"""
    queue = Queue()
    for lane in range(LANES):
        queue.add(lane, EACH)
    while len(queue.order) < before:
        queue.claim(100)
    queue.add(LANES, 1)
    queue.claim(100)
    queue.claim(100)

    assert LANES in queue.order


def test_lanes_that_keep_arriving_do_not_hold_up_those_that_were_there() -> None:
    """X7: twice as many new lanes as there is room for, again and again."""
    queue = Queue()
    for lane in range(20):
        queue.add(lane, 100)
    for number in range(1000):
        queue.add(100 + 2 * number, 1)
        queue.add(101 + 2 * number, 1)
        queue.claim(1)

    assert min(queue.order.count(lane) for lane in range(20)) >= 2


def test_jobs_that_were_not_found_are_not_counted_against_their_lane() -> None:
    """X7"""
    rotation = Rotation()
    rotation.note(stream_of(0))
    (turn,) = rotation.turns(100, lambda _, wanted: wanted)
    rotation.note(stream_of(0))
    rotation.served(turn, 1, 1)
    rotation.note(stream_of(1))

    (first, second) = rotation.turns(2, lambda _, wanted: wanted)

    assert {lane_of(turn.stream.number) for turn in (first, second)} == {1, 2}
    assert first.lane.virtual == second.lane.virtual == 2.0
