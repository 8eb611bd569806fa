"""Plans against queues that can be worked out by hand, or that books have formulas for. X22"""

from math import exp, log
from typing import Any

import pytest

BACKLOG = """
    [kinds.job]
    duration = "1s"
    [[arrivals]]
    jobs = 12
"""


@pytest.mark.parametrize(
    ("slots", "seconds", "longest", "median"),
    [(1, 12.0, 11.0, 5.0), (3, 4.0, 3.0, 1.0), (5, 3.0, 2.0, 1.0), (12, 1.0, 0.0, 0.0)],
)
def test_a_backlog_is_worked_off_in_rounds(
    plan: Any, slots: int, seconds: float, longest: float, median: float
) -> None:
    """12 jobs of a second each; every round takes as many as there are slots."""
    found = plan(BACKLOG, slots=slots)

    assert (12, 0) == (found.ended, found.left)
    assert (seconds, longest, median) == (found.seconds, found.waits.most, found.waits.p50)
    assert 12.0 / (seconds * slots) == pytest.approx(found.slots_used)


def test_two_workers_are_as_good_as_twice_the_slots(plan: Any) -> None:
    assert plan(BACKLOG, slots=4).seconds == plan(BACKLOG, slots=2, workers=2).seconds


def test_work_that_comes_at_the_pace_of_the_slots_never_waits(plan: Any) -> None:
    """D/D/2: two a second, each a second long."""
    found = plan(
        """
        slots = 2
        lasts = "100s"
        [kinds.job]
        duration = "1s"
        [[arrivals]]
        rate = "2/s"
        steady = true
        """
    )

    assert 199 == found.jobs  # the first comes after half a second, the last before the end
    assert 0.0 == found.waits.most
    assert 1.0 == pytest.approx(found.slots_used, abs=0.02)


def test_too_few_workers_fall_behind_by_what_they_lack(plan: Any) -> None:
    """Four a second for 100 s, and slots for two a second: it takes twice as long."""
    found = plan(
        """
        slots = 2
        lasts = "100s"
        [kinds.job]
        duration = "1s"
        [[arrivals]]
        rate = "4/s"
        steady = true
        """
    )

    assert 200.0 == pytest.approx(found.seconds, abs=1.0)
    assert 100.0 == pytest.approx(found.waits.most, abs=1.0)
    assert 200 == pytest.approx(found.waiting_most, abs=2)
    assert "Slots bind 99 % of the time: more workers would help." in found.advice[0]
    assert "--workers 1,2,4" in found.advice[0]


def queue(duration: str, rate: str, slots: int) -> str:
    return f"""
        slots = {slots}
        lasts = "100000s"
        [kinds.job]
        duration = "{duration}"
        [[arrivals]]
        rate = "{rate}"
        """


def test_one_slot_and_drawn_lengths_wait_as_the_formula_says(plan: Any) -> None:
    """M/M/1, half busy: P(wait > t) = exp(-t / 2) / 2."""
    found = plan(queue("mean 1s", "30/m", 1))

    assert 50_000 == pytest.approx(found.jobs, rel=0.02)
    assert 0.5 == pytest.approx(found.slots_used, rel=0.02)
    assert 2.0 * log(0.5 / 0.05) == pytest.approx(found.waits.p95, rel=0.05)
    assert 2.0 * log(0.5 / 0.01) == pytest.approx(found.waits.p99, rel=0.07)


def test_four_slots_and_drawn_lengths_wait_as_the_formula_says(plan: Any) -> None:
    """M/M/4 at 75 %: P(wait > t) = C exp(-t), and C = 0.5094 after Erlang."""
    found = plan(queue("mean 1s", "3/s", 4).replace("100000s", "20000s"))

    assert 0.75 == pytest.approx(found.slots_used, rel=0.02)
    assert log(0.5094 / 0.05) == pytest.approx(found.waits.p95, rel=0.07)


def test_equal_lengths_wait_as_the_formula_says(plan: Any) -> None:
    """M/D/1, half busy: P(wait <= t) = (1 - rho) sum of its terms, which give p95 = 2.26."""

    def waits_at_most(t: float, rho: float = 0.5) -> float:
        total, power = 0.0, 1.0
        for k in range(int(t) + 1):
            power = 1.0
            for i in range(1, k + 1):
                power *= rho * (k - t) / i
            total += power * exp(rho * (t - k))
        return (1.0 - rho) * total

    found = plan(queue("1s", "30/m", 1))

    assert waits_at_most(found.waits.p95) == pytest.approx(0.95, abs=0.005)
    assert waits_at_most(found.waits.p99) == pytest.approx(0.99, abs=0.002)


def test_the_same_seed_gives_the_same_plan_and_another_one_another(plan: Any) -> None:
    text = queue("mean 1s", "30/m", 1).replace("100000s", "1000s")

    first, again, other = plan(text), plan(text), plan(text, seed=2)

    assert first == again
    assert first.waits != other.waits


def test_a_day_of_work_that_is_left_when_patience_runs_out_is_counted(plan: Any) -> None:
    found = plan(f"patience = '5s'\n{BACKLOG}", slots=1)

    assert (5, 7, 5.0) == (found.ended, found.left, found.seconds)
    assert "7 jobs had not ended" in found.advice[0]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_day_of_a_million_jobs_over_ten_thousand_lanes(plan: Any) -> None:
    """X22: all of them, through limits and caps."""
    found = plan(
        """
        workers = 2
        slots = 50
        [limits.api]
        windows = ["20/s"]
        [kinds.fetch]
        duration = "p50 1s p99 10s"
        limits = ["api"]
        [lanes.shops]
        count = 10000
        max_running = 2
        [[arrivals]]
        jobs = 1000000
        over = "1d"
        """
    )

    assert (1_000_000, 0) == (found.ended, found.left)
    assert 10_000 == found.lanes[0].lanes
    assert 86_400.0 == pytest.approx(found.seconds, rel=0.01)
