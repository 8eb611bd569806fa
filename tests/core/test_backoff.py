"""Retry delays follow the documents' curves, stay within their bounds, and never surprise."""

import pytest
from hypothesis import given, strategies as st

from dure.core.backoff import NEVER, Backoff, RetryPolicy

DRAWS = st.floats(min_value=0, max_value=1, exclude_max=True)
SECONDS = st.floats(min_value=0, max_value=10**6)

QUICK_THEN_SLOW = RetryPolicy(
    11, (Backoff(1, cap=16, attempts=5), Backoff(60, attempts=5, cap=3600))
)


def delays(policy: RetryPolicy, attempts: int, draw: float = 0.0) -> list[float]:
    return [policy.delay(attempt, draw) for attempt in range(1, attempts + 1)]


def test_the_default_delay_is_thirty_seconds_doubled_each_time() -> None:
    """X4 A7"""
    assert delays(RetryPolicy(), 5) == [30, 60, 120, 240, 480]


def test_quick_retries_double_from_one_second_and_slow_ones_from_sixty() -> None:
    """X4 E3 E4"""
    assert delays(QUICK_THEN_SLOW, 10) == [1, 2, 4, 8, 16, 60, 120, 240, 480, 960]


def test_a_policy_ends_after_its_quick_and_slow_retries() -> None:
    """E3 E4: the first run, five quick retries and five slow ones."""
    assert not QUICK_THEN_SLOW.is_spent(10)
    assert QUICK_THEN_SLOW.is_spent(11)


def test_the_last_phase_goes_on_beyond_its_attempts() -> None:
    """X4"""
    policy = RetryPolicy(20, (Backoff(1, attempts=2), Backoff(60, attempts=2)))

    assert delays(policy, 6) == [1, 2, 60, 120, 240, 480]


def test_three_phases_follow_one_another() -> None:
    """X4"""
    policy = RetryPolicy(
        20, (Backoff(1, attempts=2), Backoff(10, attempts=1), Backoff(100, factor=3))
    )

    assert delays(policy, 6) == [1, 2, 10, 100, 300, 900]


@pytest.mark.parametrize(("draw", "delay"), [(0.0, 30.0), (0.5, 22.5), (0.999, 15.015)])
def test_jitter_of_one_half_leaves_between_half_and_all_of_the_curve(
    draw: float, delay: float
) -> None:
    """X4 C5"""
    assert delay == pytest.approx(RetryPolicy.of(jitter=0.5).delay(1, draw))


@given(base=SECONDS, step=st.integers(0, 50), draw=DRAWS)
def test_jitter_stays_within_one_half_and_one(base: float, step: int, draw: float) -> None:
    """C5"""
    curve = Backoff(base).delay(step, draw)

    assert 0.5 * curve <= Backoff(base, jitter=0.5).delay(step, draw) <= curve


def test_the_cap_holds_the_curve_and_jitter_shortens_what_is_capped() -> None:
    """X4 C5"""
    policy = RetryPolicy.of(9, base="10s", factor=3, cap="1m", jitter=0.5)

    assert delays(policy, 4) == [10, 30, 60, 60]
    assert delays(policy, 4, draw=0.5) == [7.5, 22.5, 45, 45]


@given(
    base=SECONDS,
    factor=st.floats(min_value=1, max_value=1e300),
    cap=SECONDS,
    steps=st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
)
def test_a_delay_never_falls_from_step_to_step_and_never_passes_the_cap(
    base: float, factor: float, cap: float, steps: tuple[int, int]
) -> None:
    """X4: at any step, however far the power lies beyond what a float can hold."""
    phase = Backoff(base, factor, cap)

    earlier, later = (phase.delay(step, 0.0) for step in sorted(steps))

    assert 0 <= earlier <= later <= cap


def test_a_flat_curve_reaches_its_cap_in_the_end() -> None:
    """X4"""
    assert Backoff(30, factor=1.01, cap=3600).delay(1000, 0.0) == 3600


def test_a_power_beyond_all_floats_is_the_cap_and_nothing_stays_nothing() -> None:
    """X4"""
    assert Backoff(30, factor=1e10).delay(64, 0.0) == 3600
    assert Backoff(0, factor=1e10).delay(64, 0.0) == 0


@pytest.mark.parametrize(("asked", "delay"), [(None, 30), (10, 30), (90, 90), (7200, 7200)])
def test_retry_after_is_a_floor_even_above_the_cap(asked: float | None, delay: float) -> None:
    """X4"""
    assert delay == RetryPolicy.of(cap="1h").delay(1, 0.0, asked)


def test_jitter_does_not_shorten_what_the_other_side_asked_for() -> None:
    """X4"""
    assert RetryPolicy.of(jitter=1.0).delay(1, 0.99, 30) == 30


def test_an_attempt_before_the_first_counts_as_the_first() -> None:
    """X4"""
    assert RetryPolicy().delay(0, 0.0) == 30


@pytest.mark.parametrize(("attempt", "spent"), [(0, False), (4, False), (5, True), (6, True)])
def test_a_policy_is_spent_when_all_attempts_are_used(attempt: int, spent: bool) -> None:
    """X4"""
    assert spent is RetryPolicy(5).is_spent(attempt)


def test_the_short_way_to_a_policy_has_the_same_defaults() -> None:
    """X4"""
    assert RetryPolicy(5, (Backoff(30, 2, 3600, jitter=0),)) == RetryPolicy()
    assert RetryPolicy() == RetryPolicy.of()


def test_never_allows_one_attempt_only() -> None:
    """X4"""
    assert not NEVER.is_spent(0)
    assert NEVER.is_spent(1)


@pytest.mark.parametrize("value", [-1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("name", ["base", "cap"])
def test_base_and_cap_are_finite_and_not_negative(name: str, value: float) -> None:
    """X4"""
    with pytest.raises(ValueError, match=f"backoff {name} must be a finite number"):
        Backoff(**{name: value})  # type: ignore[arg-type]  # the name is a parameter here


@pytest.mark.parametrize("factor", [0.99, -2.0, float("inf"), float("nan")])
def test_a_factor_never_shrinks_the_delay_and_is_finite(factor: float) -> None:
    """X4"""
    with pytest.raises(ValueError, match="backoff factor must be a finite number >= 1"):
        Backoff(factor=factor)


@pytest.mark.parametrize("jitter", [-0.1, 1.1, float("nan")])
def test_jitter_is_a_share(jitter: float) -> None:
    """X4"""
    with pytest.raises(ValueError, match=r"backoff jitter must lie in 0\.\.1"):
        Backoff(jitter=jitter)


def test_a_phase_covers_an_attempt_at_least() -> None:
    """X4"""
    with pytest.raises(ValueError, match="at least one attempt, not 0"):
        Backoff(attempts=0)


def test_a_policy_grants_an_attempt_at_least() -> None:
    """X4"""
    with pytest.raises(ValueError, match="max_attempts must be at least 1, not 0"):
        RetryPolicy(0)


def test_a_policy_has_a_phase_and_only_the_last_is_open_ended() -> None:
    """X4"""
    with pytest.raises(ValueError, match="needs at least one phase"):
        RetryPolicy(5, ())
    with pytest.raises(ValueError, match="only the last phase may be open-ended"):
        RetryPolicy(5, (Backoff(), Backoff()))
