"""What the figures are worked out from: percentiles, fairness, fullness, goals."""

from collections import Counter
from pathlib import Path

import pytest

from dure.bench.fair import complete_rounds
from dure.bench.figures import Figure, Reading, gather, jain, percentile, shortened
from dure.bench.goals import Goal, goal_of
from dure.bench.marks import Mark, Marks
from dure.bench.options import Options
from dure.bench.permits import fullest, three_windows
from dure.core.limit import Window


def figure(name: str, *runs: float, store: str = "sqlite") -> Figure:
    return Figure(name=name, store=store, unit="ms", runs=runs, settings={})


def test_readings_of_one_name_become_one_figure_in_the_order_of_the_runs() -> None:
    runs = [
        [Reading("a", 3.0, "s"), Reading("b", 1.0, "ms", "odd")],
        [Reading("a", 1.0, "s"), Reading("b", 2.0, "ms", "odd")],
        [Reading("a", 2.0, "s")],
    ]

    first, second = gather(runs, "sqlite", {"jobs": 1})

    assert ("a", (3.0, 1.0, 2.0), 2.0, ()) == (first.name, first.runs, first.median, first.notes)
    assert ("b", (1.0, 2.0), ("odd",)) == (second.name, second.runs, second.notes)


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 51), (0.99, 100), (1.0, 100)])
def test_a_percentile_is_one_of_the_values(share: float, value: float) -> None:
    assert value == percentile(range(100, 0, -1), share)


def test_jains_index_is_one_when_all_get_the_same_and_falls_to_one_in_n() -> None:
    assert 1.0 == jain([2, 2, 2, 2])
    assert 0.25 == jain([8, 0, 0, 0])


@pytest.mark.parametrize(
    ("value", "shown"), [(12345.6, 12346), (1.0, 1), (0.123456, 0.1235), (99.99, 99.99)]
)
def test_a_number_is_shown_with_as_many_digits_as_it_deserves(value: float, shown: float) -> None:
    assert shown == shortened(value)


def test_a_window_is_as_full_as_its_fullest_stretch() -> None:
    marks = [Mark(5, 10.0, 0), Mark(1, 10.9, 1), Mark(4, 11.0, 0), Mark(3, 11.5, 1)]

    assert 8 == fullest(marks, Window(10, 1.0))
    assert 13 == fullest(marks, Window(10, 2.0))


def test_of_three_windows_each_longer_one_allows_less_a_second() -> None:
    rates = [w.count / w.seconds for w in three_windows(Options(rate=500.0, window=1.0))]

    assert sorted(rates, reverse=True) == rates
    assert 3 == len(set(rates))


def test_a_round_is_over_when_every_lane_had_a_turn() -> None:
    given = Options(lanes=3, each=4, big=9)
    served = [0, 0, 1, 1, 2, 2, 2, 1, 0, 1, 0, 2]

    rounds = list(complete_rounds(map(float, served), given))

    assert [Counter({0: 2, 1: 2, 2: 3}), Counter({1: 2, 0: 2, 2: 1})] == rounds


def test_rounds_end_when_a_lane_has_nothing_left() -> None:
    given = Options(lanes=2, each=1, big=9)
    served = [1, 0, 0, 0]

    assert [Counter({1: 1, 0: 3})] == list(complete_rounds(map(float, served), given))


def test_marks_are_read_as_they_were_written_by_anybody(tmp_path: Path) -> None:
    mine, other = Marks(tmp_path / "log", 1), Marks(tmp_path / "log", 2)

    mine.write(7.0, at=1.0)
    other.write_all([8.0, 9.0])
    mine.write(10.0, at=4.0)

    assert 4 == mine.count()
    assert [7.0, 8.0, 9.0, 10.0] == [mark.value for mark in other.read()]
    assert [Mark(10.0, 4.0, 1)] == mine.read(after=3)
    assert [1, 2, 2, 1] == [mark.worker for mark in mine.read()]


def test_marks_can_be_forgotten_while_they_are_written(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "log")
    marks.write(1.0)

    marks.clear()
    marks.write(2.0)

    assert [2.0] == [mark.value for mark in marks.read()]


@pytest.mark.parametrize(
    ("goal", "value", "met"),
    [
        (Goal(least=2), 2, True),
        (Goal(least=2), 1.9, False),
        (Goal(most=2), 2, True),
        (Goal(most=2), 2.1, False),
    ],
)
def test_a_goal_is_met_at_its_bound(goal: Goal, value: float, met: bool) -> None:
    assert met is goal.is_met(value)


def test_a_goal_belongs_to_a_figure_of_a_store_or_to_that_of_every_store() -> None:
    assert Goal(most=1.3) == goal_of(figure("latency.syncs", 1.0))
    assert Goal(most=2) == goal_of(figure("latency.p50", 2.0, store="postgres"))
    assert Goal(least=0.999) == goal_of(figure("fair", 1.0))
    assert None is goal_of(figure("enqueue", 2.0))
