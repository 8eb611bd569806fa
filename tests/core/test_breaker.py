"""The circuit breaker: its table, its phases, and that it never hangs."""

import json
from typing import cast

import pytest
from hypothesis import given, strategies as st

from dure.core.breaker import (
    TABLE,
    WINDOW_MAX,
    BreakerPolicy,
    Phase,
    Row,
    Signal,
    Standing,
    Step,
    describe,
    force,
    permit,
    record,
    release,
)

POLICY = BreakerPolicy()
NOW = 1_790_000_000.0


def stored(value: Standing) -> Standing:
    """The value as a store gives it back."""
    return cast("Standing", json.loads(json.dumps(value)))


def tripped(policy: BreakerPolicy = POLICY, now: float = NOW) -> Standing:
    return stored(record(policy, {}, now, 0, policy.minimum))


def half_open(probes: int, policy: BreakerPolicy = POLICY) -> tuple[Standing, float]:
    """A breaker with `probes` of them under way, and the moment they went out."""
    now = NOW + policy.open_for
    return stored(permit(policy, tripped(policy), now, probes).value), now


def phase_of(value: Standing, now: float, policy: BreakerPolicy = POLICY) -> Phase:
    return describe(policy, value, now).phase


def test_the_table_has_a_row_for_every_change_and_no_other() -> None:
    forced = {(phase, signal) for phase in Phase for signal in Signal if "FORCE" in signal.name}

    assert {
        (Phase.CLOSED, Signal.TRIP),
        (Phase.OPEN, Signal.COOL),
        (Phase.HALF_OPEN, Signal.FAIL),
        (Phase.HALF_OPEN, Signal.RECOVER),
        *forced,
    } == set(TABLE)


def test_only_opening_by_failure_lengthens_the_next_time() -> None:
    lengthening = {key for key, row in TABLE.items() if Step.LENGTHEN in row.steps}

    assert {(Phase.CLOSED, Signal.TRIP), (Phase.HALF_OPEN, Signal.FAIL)} == lengthening
    assert Row(Phase.CLOSED, (Step.FORGET,)) == TABLE[Phase.HALF_OPEN, Signal.RECOVER]


@pytest.mark.parametrize("want", [0, 1, 1000])
def test_a_closed_breaker_permits_everything(want: int) -> None:
    answer = permit(POLICY, {}, NOW, want)

    assert (want, None) == (answer.granted, answer.retry_at)


def test_too_many_failures_open_it_for_all_nodes_that_read_the_value() -> None:
    """X9"""
    value = tripped()

    assert permit(POLICY, value, NOW, 5)[1:] == (0, NOW + 30)
    assert permit(POLICY, value, NOW + 29.9, 5)[1:] == (0, NOW + 30)


def test_it_does_not_judge_before_the_minimum_of_calls() -> None:
    value = record(POLICY, {}, NOW, 0, 9)

    assert phase_of(value, NOW) == Phase.CLOSED
    assert phase_of(record(POLICY, value, NOW, 0, 1), NOW) == Phase.OPEN


@pytest.mark.parametrize(
    ("successes", "failures", "phase"),
    [(11, 9, Phase.CLOSED), (10, 10, Phase.OPEN), (0, 10, Phase.OPEN), (20, 0, Phase.CLOSED)],
)
def test_it_opens_when_the_share_of_failures_reaches_the_threshold(
    successes: int, failures: int, phase: Phase
) -> None:
    assert phase == phase_of(record(POLICY, {}, NOW, successes, failures), NOW)


def test_a_share_that_no_float_holds_exactly_still_reaches_its_threshold() -> None:
    policy = BreakerPolicy(window=100, threshold=0.07)

    assert phase_of(record(policy, {}, NOW, 93, 7), NOW, policy) == Phase.OPEN


def test_old_outcomes_leave_the_window() -> None:
    value = record(POLICY, {}, NOW, 11, 9)

    value = stored(record(POLICY, value, NOW, 20, 0))

    assert (describe(POLICY, value, NOW).failures, describe(POLICY, value, NOW).calls) == (0, 20)
    assert phase_of(record(POLICY, value, NOW, 0, 9), NOW) == Phase.CLOSED


@pytest.mark.parametrize(("failures", "phase"), [(4999, Phase.CLOSED), (5000, Phase.OPEN)])
def test_a_batch_longer_than_the_window_is_judged_by_its_share(failures: int, phase: Phase) -> None:
    """The order inside a batch is unknown, so its end may not stand for all of it."""
    assert phase == phase_of(record(POLICY, {}, NOW, 10_000 - failures, failures), NOW)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=20))
def test_batches_that_fit_the_window_are_counted_exactly(batches: list[tuple[int, int]]) -> None:
    policy = BreakerPolicy(window=WINDOW_MAX, minimum=WINDOW_MAX, threshold=1.0)
    successes = failures = 0
    value: Standing = {}

    for good, bad in batches:
        if successes + failures + good + bad >= WINDOW_MAX:
            break
        value = record(policy, value, NOW, good, bad)
        successes, failures = successes + good, failures + bad

    condition = describe(policy, value, NOW)
    assert (failures, successes + failures) == (condition.failures, condition.calls)


def test_outcomes_that_arrive_while_it_is_open_change_nothing() -> None:
    value = tripped()

    assert value == record(POLICY, value, NOW + 1, 100, 0)
    assert value == record(POLICY, value, NOW + 1, 0, 100)


def test_half_open_lets_through_the_probes_and_no_more() -> None:
    """X9"""
    first = permit(POLICY, tripped(), NOW + 30, 2)
    second = permit(POLICY, stored(first.value), NOW + 31, 2)
    third = permit(POLICY, stored(second.value), NOW + 32, 2)

    assert first[1:] == (2, None)
    assert (1, NOW + 30 + POLICY.probe_timeout) == second[1:]
    assert (0, NOW + 30 + POLICY.probe_timeout) == third[1:]


def test_it_closes_after_enough_successes_and_forgets_the_failures() -> None:
    """X9"""
    value, now = half_open(3)

    value = stored(record(POLICY, value, now, 2, 0))
    assert phase_of(value, now) == Phase.HALF_OPEN

    value = stored(record(POLICY, value, now, 1, 0))
    assert phase_of(value, now) == Phase.CLOSED
    assert describe(POLICY, value, now).calls == 0
    assert permit(POLICY, value, now, 50).granted == 50


def test_it_sends_no_more_probes_than_it_still_needs() -> None:
    value, now = half_open(3)

    value = record(POLICY, value, now, 2, 0)
    value = release(POLICY, value, now, 1)

    assert permit(POLICY, value, now, 3).granted == 1


def test_a_place_of_a_probe_that_succeeded_is_free_for_the_next() -> None:
    policy = BreakerPolicy(probes=2, successes=5)
    value, now = half_open(2, policy)

    value = record(policy, value, now + 1, 1, 0)

    assert permit(policy, value, now + 1, 2).granted == 1


def test_a_success_without_a_probe_under_way_is_late_and_proves_nothing() -> None:
    value, now = half_open(1)

    value = record(POLICY, value, now, 3, 0)

    condition = describe(POLICY, value, now)
    assert (condition.phase, condition.passed, condition.probing) == (Phase.HALF_OPEN, 1, 0)


def test_any_failure_while_half_open_reopens_it_for_twice_as_long() -> None:
    """X9"""
    value, now = half_open(3)

    value = stored(record(POLICY, value, now + 1, 2, 1))

    assert (0, now + 1 + 60) == permit(POLICY, value, now + 1)[1:]
    assert permit(POLICY, value, now + 61, 3).granted == 3


def test_the_time_doubles_up_to_the_cap_and_starts_over_after_closing() -> None:
    value, now, waits = tripped(), NOW, []
    for _ in range(7):
        until = permit(POLICY, value, now).retry_at
        assert until is not None
        waits.append(until - now)
        now = until
        value = stored(record(POLICY, permit(POLICY, value, now).value, now, 0, 1))

    assert waits == [30, 60, 120, 240, 480, 600, 600]

    now += 600
    value = record(POLICY, permit(POLICY, value, now, 3).value, now, 3, 0)
    value = record(POLICY, value, now, 0, 10)

    assert now + 30 == permit(POLICY, value, now).retry_at


def test_it_can_double_for_ever_without_overflowing() -> None:
    assert POLICY.open_seconds(100_000) == 600


def test_a_probe_that_never_reports_has_failed_at_its_deadline() -> None:
    """X9: a breaker cannot hang half-open."""
    value, now = half_open(1)
    deadline = now + POLICY.probe_timeout

    assert phase_of(value, deadline - 0.001) == Phase.HALF_OPEN
    assert phase_of(value, deadline) == Phase.OPEN
    assert (0, deadline + 60) == permit(POLICY, value, deadline + 10)[1:]
    assert permit(POLICY, value, deadline + 60).granted == 1


def test_hours_after_a_lost_probe_the_next_one_goes_out_at_once() -> None:
    value, now = half_open(3)

    assert permit(POLICY, value, now + 7200, 3)[1:] == (3, None)


def test_an_answer_after_the_deadline_comes_too_late_to_close() -> None:
    value, now = half_open(3)

    value = record(POLICY, value, now + POLICY.probe_timeout, 3, 0)

    assert phase_of(value, now + POLICY.probe_timeout) == Phase.OPEN


def test_a_clock_that_went_back_does_not_hide_the_earliest_deadline() -> None:
    value, now = half_open(1)

    value = permit(POLICY, value, now - 5, 1).value

    assert now - 5 + POLICY.probe_timeout == permit(POLICY, value, now, 3).retry_at


def test_a_permit_that_was_not_used_is_given_back_and_missed_by_nobody() -> None:
    value, now = half_open(3)

    value = stored(release(POLICY, value, now, 3))

    assert phase_of(value, now + 7200) == Phase.HALF_OPEN
    assert permit(POLICY, value, now + 7200, 3).granted == 3


def test_giving_back_more_than_is_under_way_is_harmless() -> None:
    value, now = half_open(2)

    assert describe(POLICY, release(POLICY, value, now, 3), now).probing == 0
    assert phase_of(release(POLICY, {}, now, 9), now) == Phase.CLOSED


def test_the_probe_longest_under_way_is_still_waited_for_after_one_is_given_back() -> None:
    value, now = half_open(1)
    value = permit(POLICY, value, now + 10, 1).value

    value = release(POLICY, value, now + 11, 1)

    assert phase_of(value, now + POLICY.probe_timeout) == Phase.OPEN


def test_forced_open_it_stays_open_until_somebody_closes_it() -> None:
    """X9"""
    value = stored(force({}, "open", NOW))

    assert permit(POLICY, value, NOW + 10**9, 5)[1:] == (0, None)
    assert permit(POLICY, force(value, "closed", NOW), NOW, 5)[1:] == (5, None)


def test_forced_open_until_a_moment_it_probes_after_it() -> None:
    value = stored(force({}, "open", NOW, NOW + 100))

    assert permit(POLICY, value, NOW + 99)[1:] == (0, NOW + 100)
    assert phase_of(value, NOW + 100) == Phase.HALF_OPEN


def test_forced_closed_until_a_moment_it_watches_but_does_not_open() -> None:
    """X9"""
    value = stored(force(tripped(), "closed", NOW, NOW + 100))

    value = stored(record(POLICY, value, NOW + 1, 0, 20))
    assert permit(POLICY, value, NOW + 99, 5).granted == 5
    assert describe(POLICY, value, NOW + 99).failures == 20

    assert phase_of(value, NOW + 100) == Phase.CLOSED
    assert phase_of(record(POLICY, value, NOW + 100, 0, 1), NOW + 100) == Phase.OPEN


def test_forced_closed_without_an_end_it_watches_again_at_once() -> None:
    value = stored(force(tripped(), "closed", NOW))

    assert (describe(POLICY, value, NOW).calls, describe(POLICY, value, NOW).forced) == (0, False)
    assert permit(POLICY, record(POLICY, value, NOW, 0, 10), NOW).retry_at == NOW + 30


def test_forcing_it_resets_the_doubling() -> None:
    value, now = half_open(1)
    value = record(POLICY, value, now, 0, 1)

    value = force(value, "open", now, now + 10)
    value = record(POLICY, permit(POLICY, value, now + 10).value, now + 10, 0, 1)

    assert now + 10 + 30 == permit(POLICY, value, now + 10).retry_at


@pytest.mark.parametrize("until", [NOW, NOW - 1, float("inf"), float("nan")])
def test_it_cannot_be_forced_until_a_moment_that_never_comes(until: float) -> None:
    with pytest.raises(ValueError, match="until a moment after now"):
        force({}, "open", NOW, until)


def test_it_can_only_be_forced_open_or_closed() -> None:
    with pytest.raises(ValueError, match="'open' or 'closed', not 'ajar'"):
        force({}, "ajar", NOW)  # type: ignore[arg-type]  # what a command line may pass on


def test_negative_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be negative"):
        record(POLICY, {}, NOW, -1, 0)
    with pytest.raises(ValueError, match="cannot be negative"):
        record(POLICY, {}, NOW, 0, -1)
    with pytest.raises(ValueError, match="cannot permit -1"):
        permit(POLICY, {}, NOW, -1)
    with pytest.raises(ValueError, match="cannot release -1"):
        release(POLICY, {}, NOW, -1)


def test_each_phase_is_described_in_one_sentence() -> None:
    probing, now = half_open(2)
    forced = force({}, "open", NOW, NOW + 90)
    held = force({}, "closed", NOW, NOW + 90)
    sentences = {
        "closed; 0 of the last 0 calls failed": describe(POLICY, {}, NOW),
        "open for 25s more; 10 of the last 10 calls failed": describe(POLICY, tripped(), NOW + 5),
        "half-open; 0 of 3 probes succeeded, 2 under way": describe(POLICY, probing, now),
        "opened by hand; stays open for 1m30s more": describe(POLICY, forced, NOW),
        "opened by hand; stays open until somebody closes it": describe(
            POLICY, force({}, "open", NOW), NOW
        ),
        "held closed by hand for 1m30s more; 0 of the last 0 calls failed": describe(
            POLICY, held, NOW
        ),
    }

    for sentence, condition in sentences.items():
        assert sentence == condition.sentence


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"minimum": 0}, "minimum 0"),
        ({"minimum": 21}, "minimum 21 and window 20"),
        ({"window": WINDOW_MAX + 1}, "window 101"),
        ({"threshold": 0.0}, "threshold"),
        ({"threshold": 1.1}, "threshold"),
        ({"open_for": 0.0}, "open_for"),
        ({"open_for": 700.0}, "cap 600"),
        ({"cap": float("inf")}, "cap inf"),
        ({"probe_timeout": 0.0}, "probe_timeout"),
        ({"probes": 0}, "probes"),
        ({"successes": 0}, "successes"),
    ],
)
def test_a_policy_that_cannot_work_is_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BreakerPolicy(**settings)  # type: ignore[arg-type]  # whole numbers among them


def test_a_policy_changed_at_run_time_still_gets_its_probe() -> None:
    value, now = half_open(3)
    value = record(POLICY, value, now, 2, 0)
    value = release(POLICY, value, now, 1)

    assert permit(BreakerPolicy(successes=1), value, now, 3).granted == 1
