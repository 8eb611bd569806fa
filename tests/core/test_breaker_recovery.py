"""Whatever happens to a circuit breaker, it stays small, bounded and able to recover."""

import json
from typing import cast

from hypothesis import given, strategies as st

from dure.core.breaker import (
    BreakerPolicy,
    Phase,
    Standing,
    describe,
    force,
    permit,
    record,
    release,
)

START = 1_790_000_000.0


def stored(value: Standing) -> Standing:
    """The value as a store gives it back."""
    return cast("Standing", json.loads(json.dumps(value)))


OPERATIONS = st.tuples(
    st.sampled_from(["record", "permit", "release", "open", "closed", "hold open", "hold closed"]),
    st.integers(0, 25),
    st.integers(0, 25),
    st.sampled_from([-3.0, 0.0, 0.5, 7.0, 30.0, 59.0, 61.0, 700.0]),
)
POLICIES = st.builds(
    BreakerPolicy,
    window=st.integers(10, 30),
    minimum=st.integers(1, 10),
    threshold=st.sampled_from([0.1, 0.5, 1.0]),
    probes=st.integers(1, 5),
    successes=st.integers(1, 7),
)


def step(
    policy: BreakerPolicy, value: Standing, now: float, operation: str, *counts: int
) -> Standing:
    one, two = counts
    match operation:
        case "record":
            return record(policy, value, now, one, two)
        case "permit":
            return permit(policy, value, now, one).value
        case "release":
            return release(policy, value, now, one)
        case "open" | "closed":
            return force(value, operation, now)
        case "hold open":
            return force(value, "open", now, now + 45)
        case _:
            return force(value, "closed", now, now + 45)


@given(POLICIES, st.lists(OPERATIONS, max_size=40))
def test_whatever_happens_it_stays_small_bounded_and_never_hangs(
    policy: BreakerPolicy, operations: list[tuple[str, int, int, float]]
) -> None:
    """X9"""
    value, now, by_hand = cast("Standing", {}), START, False
    for operation, one, two, pause in operations:
        now += pause
        before = stored(value)
        by_hand = operation == "open" or (by_hand and "closed" not in operation)
        by_hand = by_hand and operation != "hold open"
        after = step(policy, value, now, operation, one, two)

        assert before == value, "a value that was handed in has changed"
        assert {type(part) for part in after.values()} <= {str, int, float, bool, list}
        value = stored(after)
        assert after == value
        assert len(json.dumps(value)) < 400
        condition = describe(policy, value, now)
        assert condition.probing <= min(policy.probes, policy.successes)
        if condition.phase is Phase.OPEN:
            assert permit(policy, value, now).granted == 0
            assert by_hand == (condition.until is None)
            assert by_hand or (condition.until or 0) <= now + 3 * len(operations) + policy.cap

    horizon = now + 3 * len(operations) + policy.probe_timeout + policy.cap
    assert by_hand == (permit(policy, value, horizon).granted == 0)
