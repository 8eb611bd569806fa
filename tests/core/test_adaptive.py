"""X15: sizes follow load, latency and errors, stay within their bounds and come to rest."""

import pytest
from hypothesis import given, strategies as st

from dure.core.adaptive import Bounds, Observation, claim_size, worker_count

CLAIMS = Bounds(50, 500)
WORKERS = Bounds(1, 33)
NOW = 1000.0

HEALTHY = Observation(utilisation=0.95, latency=1.0, baseline_latency=1.0, error_share=0.0)
IDLE = HEALTHY._replace(utilisation=0.0)

BOUNDS = st.tuples(st.integers(1, 300), st.integers(0, 300)).map(
    lambda pair: Bounds(pair[0], pair[0] + pair[1])
)
SHARES = st.floats(min_value=0, max_value=1)
LENGTHS = st.floats(min_value=0, max_value=100)
OBSERVATIONS = st.builds(Observation, SHARES, LENGTHS, LENGTHS, SHARES)


def claims(
    bounds: Bounds, size: int, *, ready: int, seconds_per_job: float = 0.0, rounds: int = 40
) -> list[int]:
    """The sizes that follow one another when `ready` jobs are there at every claim."""
    sizes = [size]
    for _ in range(rounds):
        asked = sizes[-1]
        got = min(asked, ready)
        took = got * seconds_per_job
        sizes.append(
            claim_size(bounds, asked, took=took, got=got, asked=asked, waiting=ready > asked)
        )
    return sizes


def counts(bounds: Bounds, count: int, seen: Observation, rounds: int = 400) -> list[int]:
    """The numbers of workers that follow one another while the same is seen again and again."""
    found = [count]
    for _ in range(rounds):
        found.append(
            worker_count(
                bounds, found[-1], observation=seen, now=NOW, last_change=None, cooldown=0.0
            )
        )
    return found


def is_one_way(sizes: list[int]) -> bool:
    return sizes in (sorted(sizes), sorted(sizes, reverse=True))


@pytest.mark.parametrize(("low", "high"), [(0, 5), (-1, 5), (6, 5)])
def test_bounds_are_positive_and_in_order(low: int, high: int) -> None:
    """X15"""
    with pytest.raises(ValueError, match=f"1 <= low <= high, not {low}..{high}"):
        Bounds(low, high)


@pytest.mark.parametrize(("size", "allowed"), [(49, 50), (50, 50), (99, 99), (501, 500)])
def test_a_size_beyond_its_bounds_becomes_the_nearest_allowed(size: int, allowed: int) -> None:
    """X15"""
    assert allowed == CLAIMS.clamp(size)


@pytest.mark.parametrize(
    ("previous", "took", "got", "asked", "waiting", "size"),
    [
        pytest.param(100, 0.05, 100, 100, True, 200, id="full-and-cheap-doubles"),
        pytest.param(400, 0.01, 400, 400, True, 500, id="up-to-the-bound"),
        pytest.param(100, 0.051, 100, 100, True, 100, id="full-but-not-cheap-stays"),
        pytest.param(100, 0.01, 100, 100, False, 100, id="full-with-nothing-behind-stays"),
        pytest.param(100, 0.01, 30, 30, True, 100, id="fewer-asked-for-than-allowed-stays"),
        pytest.param(100, 0.01, 30, 30, False, 100, id="full-is-never-light-load"),
        pytest.param(100, 0.01, 40, 100, True, 100, id="short-with-more-behind-stays"),
        pytest.param(400, 0.01, 100, 400, False, 250, id="light-load-halves-towards-it"),
        pytest.param(60, 0.01, 0, 60, False, 50, id="down-to-the-bound"),
        pytest.param(100, 0.01, 150, 200, False, 100, id="light-load-never-grows"),
        pytest.param(400, 0.2, 400, 400, True, 400, id="just-not-slow-stays"),
        pytest.param(400, 0.21, 400, 400, True, 300, id="slow-loses-a-quarter"),
        pytest.param(9999, 0.1, 500, 500, True, 500, id="new-bounds-hold-at-once"),
    ],
)
def test_the_next_claim_follows_from_the_last(
    *, previous: int, took: float, got: int, asked: int, waiting: bool, size: int
) -> None:
    """X15"""
    assert size == claim_size(CLAIMS, previous, took=took, got=got, asked=asked, waiting=waiting)


def test_the_smallest_slow_claim_still_takes_a_job() -> None:
    """X15"""
    assert claims(Bounds(1, 9), 3, ready=9, seconds_per_job=1.0, rounds=3) == [3, 2, 1, 1]


@given(
    bounds=BOUNDS,
    previous=st.integers(0, 1000),
    took=LENGTHS,
    got=st.integers(0, 1000),
    asked=st.integers(1, 1000),
    waiting=st.booleans(),
)
def test_a_claim_stays_within_its_bounds(
    *, bounds: Bounds, previous: int, took: float, got: int, asked: int, waiting: bool
) -> None:
    """X15"""
    size = claim_size(bounds, previous, took=took, got=got, asked=asked, waiting=waiting)

    assert bounds.low <= size <= bounds.high


@given(
    bounds=BOUNDS,
    start=st.integers(1, 1000),
    ready=st.integers(0, 10_000),
    seconds_per_job=st.floats(min_value=0, max_value=0.01),
)
def test_claims_settle_without_swinging_when_nothing_changes(
    bounds: Bounds, start: int, ready: int, seconds_per_job: float
) -> None:
    """X15: the last step up may be too large; after it the size only falls."""
    sizes = claims(bounds, bounds.clamp(start), ready=ready, seconds_per_job=seconds_per_job)

    peak = sizes.index(max(sizes))
    assert is_one_way(sizes[: peak + 1])
    assert is_one_way(sizes[peak:])
    assert sizes[-1] == sizes[-2]


@given(bounds=BOUNDS)
def test_cheap_claims_of_a_deep_queue_reach_the_largest_size(bounds: Bounds) -> None:
    """X15"""
    assert bounds.high == claims(bounds, bounds.low, ready=10**6)[-1]


@given(bounds=BOUNDS)
def test_claims_of_an_empty_queue_reach_the_smallest_size(bounds: Bounds) -> None:
    """X15"""
    assert bounds.low == claims(bounds, bounds.high, ready=0)[-1]


@pytest.mark.parametrize(
    ("current", "seen", "count"),
    [
        pytest.param(8, HEALTHY, 12, id="busy-and-healthy-adds-a-step"),
        pytest.param(31, HEALTHY, 33, id="up-to-the-bound"),
        pytest.param(8, HEALTHY._replace(utilisation=0.8), 8, id="just-not-busy-stays"),
        pytest.param(8, HEALTHY._replace(latency=1.25), 12, id="near-the-baseline-adds"),
        pytest.param(8, HEALTHY._replace(latency=1.3), 8, id="slower-than-near-stays"),
        pytest.param(8, HEALTHY._replace(latency=2.0), 8, id="just-not-too-slow-stays"),
        pytest.param(
            8, HEALTHY._replace(latency=6.3, baseline_latency=3.0), 6, id="slow-by-its-own-measure"
        ),
        pytest.param(
            8, HEALTHY._replace(latency=3.0, baseline_latency=2.5), 12, id="fast-by-its-own-measure"
        ),
        pytest.param(8, HEALTHY._replace(latency=2.1), 6, id="too-slow-loses-a-quarter"),
        pytest.param(8, HEALTHY._replace(error_share=0.2), 12, id="just-not-too-many-errors"),
        pytest.param(8, HEALTHY._replace(error_share=0.21), 6, id="errors-lose-a-quarter"),
        pytest.param(3, HEALTHY._replace(error_share=1.0), 2, id="trouble-takes-one-at-least"),
        pytest.param(1, HEALTHY._replace(error_share=1.0), 1, id="down-to-the-bound"),
        pytest.param(8, IDLE, 7, id="idle-loses-one"),
        pytest.param(8, IDLE._replace(utilisation=0.3), 8, id="just-not-idle-stays"),
        pytest.param(8, IDLE._replace(error_share=0.5), 6, id="trouble-before-idleness"),
        pytest.param(8, HEALTHY._replace(latency=9.0, baseline_latency=0.0), 12, id="no-baseline"),
    ],
)
def test_the_number_of_workers_follows_from_what_was_seen(
    current: int, seen: Observation, count: int
) -> None:
    """X15"""
    assert count == counts(WORKERS, current, seen, rounds=1)[-1]


def test_a_step_is_an_eighth_of_the_range() -> None:
    """X15"""
    assert counts(Bounds(20, 36), 20, HEALTHY, rounds=1) == [20, 22]


def test_a_narrow_range_still_grows_by_one() -> None:
    """X15"""
    assert counts(Bounds(2, 4), 2, HEALTHY, rounds=3) == [2, 3, 4, 4]


@pytest.mark.parametrize(("last_change", "count"), [(NOW - 9.9, 8), (NOW - 10, 12), (None, 12)])
def test_nothing_changes_before_the_last_change_has_shown_its_effect(
    last_change: float | None, count: int
) -> None:
    """X15"""
    assert count == worker_count(
        WORKERS, 8, observation=HEALTHY, now=NOW, last_change=last_change, cooldown=10.0
    )


@pytest.mark.parametrize(("current", "count"), [(0, 1), (99, 33)])
@pytest.mark.parametrize("last_change", [NOW, None])
def test_new_bounds_hold_at_once_and_are_the_only_change(
    current: int, count: int, last_change: float | None
) -> None:
    """X15"""
    assert count == worker_count(
        WORKERS, current, observation=HEALTHY, now=NOW, last_change=last_change, cooldown=10.0
    )


@given(bounds=BOUNDS, current=st.integers(0, 1000), seen=OBSERVATIONS)
def test_the_number_of_workers_stays_within_its_bounds(
    bounds: Bounds, current: int, seen: Observation
) -> None:
    """X15"""
    assert bounds.low <= counts(bounds, current, seen, rounds=1)[-1] <= bounds.high


@given(bounds=BOUNDS, start=st.integers(1, 1000), seen=OBSERVATIONS)
def test_workers_settle_without_swinging_when_the_same_is_seen(
    bounds: Bounds, start: int, seen: Observation
) -> None:
    """X15"""
    found = counts(bounds, bounds.clamp(start), seen)

    assert is_one_way(found)
    assert found[-1] == found[-2]


@given(bounds=BOUNDS, start=st.integers(1, 1000), load=st.floats(min_value=0, max_value=700))
def test_workers_settle_under_a_load_that_stays_the_same(
    bounds: Bounds, start: int, load: float
) -> None:
    """X15: `load` is how many workers would be busy all the time."""
    found = [bounds.clamp(start)]
    for _ in range(700):
        seen = HEALTHY._replace(utilisation=min(load / found[-1], 1.0))
        found.append(counts(bounds, found[-1], seen, rounds=1)[-1])

    assert len(set(found[-50:])) == 1


@given(bounds=BOUNDS)
def test_saturated_and_healthy_workers_reach_the_largest_number(bounds: Bounds) -> None:
    """X15"""
    assert bounds.high == counts(bounds, bounds.low, HEALTHY)[-1]


@given(bounds=BOUNDS)
def test_idle_workers_reach_the_smallest_number(bounds: Bounds) -> None:
    """X15"""
    assert bounds.low == counts(bounds, bounds.high, IDLE)[-1]
