"""X19: every job that is not running gets one exact sentence, a moment and a stable code."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from dure.core.state import State
from dure.core.waiting import (
    Disabled,
    Facts,
    Full,
    Limited,
    Occupancy,
    Paused,
    Reason,
    Run,
    Spent,
    Tripped,
    why,
)

NOW = 1_000_000.0
READY = Facts(
    state=State.PENDING,
    kind="fetch",
    lane="naver",
    session="s1",
    attempt=0,
    max_attempts=5,
    workers_alive=2,
    workers_knowing_kind=1,
)
"""A job which nothing holds up."""

BY_ANN = Paused("maintenance", "ann", NOW - 300)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param(
            {"state": State.SUCCESS, "attempt": 1, "finished_at": NOW - 300},
            Reason("SUCCESS 5m ago after attempt 1 of 5.", None, "success"),
            id="success",
        ),
        pytest.param(
            {"state": State.SUCCESS, "attempt": 1, "reason": "no trading today"},
            Reason("SUCCESS after attempt 1 of 5 (no trading today).", None, "success"),
            id="skipped",
        ),
        pytest.param(
            {"state": State.FAILED, "attempt": 5, "error": "ValueError: 7", "finished_at": NOW},
            Reason(
                "FAILED 0s ago after attempt 5 of 5 (ValueError: 7); only a replay runs it again.",
                None,
                "failed",
            ),
            id="failed",
        ),
        pytest.param(
            {"state": State.STALE, "attempt": 2, "reason": "epoch 3 is 4 now"},
            Reason(
                "STALE after attempt 2 of 5 (epoch 3 is 4 now); only a replay runs it again.",
                None,
                "stale",
            ),
            id="stale",
        ),
        pytest.param(
            {"state": State.CANCELLED, "reason": "by ann", "error": "an older one"},
            Reason("CANCELLED (by ann); only a replay runs it again.", None, "cancelled"),
            id="cancelled",
        ),
        pytest.param(
            {
                "state": State.RUNNING,
                "attempt": 2,
                "running_on": Run("w1", NOW - 12, NOW + 10, NOW + 48),
            },
            Reason(
                "RUNNING on worker 'w1' for 12s, attempt 2 of 5; it is stopped in 48s.",
                NOW + 48,
                "running",
            ),
            id="running",
        ),
        pytest.param(
            {
                "state": State.RUNNING,
                "attempt": 2,
                "running_on": Run("w1", NOW - 90, NOW + 10, None),
            },
            Reason(
                "RUNNING on worker 'w1' for 1m30s, attempt 2 of 5; it has no timeout.",
                None,
                "running",
            ),
            id="running-without-timeout",
        ),
        pytest.param(
            {"state": State.RUNNING, "attempt": 2},
            Reason("RUNNING, attempt 2 of 5.", None, "running"),
            id="running-somewhere",
        ),
        pytest.param(
            {
                "state": State.RUNNING,
                "attempt": 2,
                "running_on": Run("w1", NOW - 90, NOW - 3, None),
            },
            Reason(
                "RUNNING, but the lease of worker 'w1' expired 3s ago; "
                "the sweeper takes the job back any moment.",
                NOW - 3,
                "lease_expired",
            ),
            id="lease-expired",
        ),
        pytest.param(
            {"state": State.SUSPENDED, "reason": "QUOTA"},
            Reason("SUSPENDED (QUOTA); it waits until somebody resumes it.", None, "suspended"),
            id="suspended",
        ),
        pytest.param(
            {"state": State.SUSPENDED},
            Reason("SUSPENDED; it waits until somebody resumes it.", None, "suspended"),
            id="suspended-without-reason",
        ),
        pytest.param(
            {
                "state": State.RETRY_WAIT,
                "attempt": 2,
                "error": "TimeoutError: no answer",
                "due_at": NOW + 90,
            },
            Reason(
                "RETRY_WAIT after attempt 2 of 5 (TimeoutError: no answer); runs again in 1m30s.",
                NOW + 90,
                "retry_wait",
            ),
            id="retry",
        ),
        pytest.param(
            {"state": State.RETRY_WAIT, "attempt": 2, "due_at": NOW - 1},
            Reason(
                "RETRY_WAIT after attempt 2 of 5; runs again any moment.", NOW - 1, "retry_wait"
            ),
            id="retry-overdue",
        ),
        pytest.param(
            {"state": State.RETRY_WAIT, "attempt": 2},
            Reason("RETRY_WAIT after attempt 2 of 5; runs again any moment.", NOW, "retry_wait"),
            id="retry-without-due-time",
        ),
        pytest.param(
            {"state": State.RETRY_WAIT, "reason": "market closed", "due_at": NOW + 3600},
            Reason(
                "RETRY_WAIT as the handler asked (market closed); runs again in 1h.",
                NOW + 3600,
                "asked_to_wait",
            ),
            id="asked-to-wait",
        ),
        pytest.param(
            {"state": State.RETRY_WAIT, "due_at": NOW + 600},
            Reason(
                "RETRY_WAIT because it was enqueued for later; runs in 10m.", NOW + 600, "delayed"
            ),
            id="delayed",
        ),
    ],
)
def test_a_job_that_is_not_pending_is_explained_by_its_state(
    facts: dict[str, object], expected: Reason
) -> None:
    """X19"""
    assert expected == why(replace(READY, **facts), NOW)  # type: ignore[arg-type]  # by name


def test_a_long_error_of_many_lines_stays_one_short_line() -> None:
    """X19"""
    facts = replace(READY, state=State.FAILED, attempt=5, error="Boom:\n  at line 1\n" + "x" * 500)

    sentence = why(facts, NOW).sentence

    assert "(Boom: at line 1 xxx" in sentence
    assert "x…); only a replay" in sentence
    assert "\n" not in sentence
    assert len(sentence) < 300


def test_what_is_cut_ends_with_an_ellipsis_at_the_full_length() -> None:
    """X19"""
    facts = replace(READY, state=State.SUSPENDED, reason="x" * 201)

    assert f"({'x' * 199}…)" in why(facts, NOW).sentence


def test_a_lease_that_ends_now_has_expired() -> None:
    """X19"""
    facts = replace(READY, state=State.RUNNING, running_on=Run("w1", NOW - 15, NOW, None))

    assert why(facts, NOW).code == "lease_expired"


def test_facts_assume_nothing_that_was_not_found() -> None:
    """X19"""
    bare = Facts(state=State.PENDING, kind="fetch", lane="naver")

    assert why(bare, NOW).code == "no_worker"
    assert why(replace(bare, workers_alive=1), NOW).code == "kind_unknown"
    assert "attempt 0 of 1" in why(replace(bare, state=State.RUNNING), NOW).sentence


def test_an_error_of_just_the_right_length_is_told_in_full() -> None:
    """X19"""
    facts = replace(READY, state=State.FAILED, attempt=5, error="x" * 200)

    assert f"({'x' * 200})" in why(facts, NOW).sentence


def test_a_waiting_job_in_a_paused_lane_does_not_promise_to_run() -> None:
    """X19"""
    facts = replace(READY, state=State.RETRY_WAIT, attempt=1, due_at=NOW + 30, lane_paused=BY_ANN)

    assert why(facts, NOW) == Reason(
        "RETRY_WAIT after attempt 1 of 5; due in 30s, but lane 'naver' was paused 5m ago by ann "
        "(maintenance) and waits until somebody resumes it.",
        None,
        "retry_wait",
    )


@pytest.mark.parametrize(("enabled", "until"), [(600, 600), (10, 30)])
def test_a_waiting_job_in_a_disabled_lane_waits_for_the_later_of_the_two(
    enabled: float, until: float
) -> None:
    """X19"""
    facts = replace(
        READY,
        state=State.RETRY_WAIT,
        attempt=1,
        due_at=NOW + 30,
        lane_disabled=Disabled(3, NOW + enabled),
    )

    assert NOW + until == why(facts, NOW).until


MOMENTS = st.floats(min_value=0, max_value=2e9)
TEXTS = st.none() | st.text(max_size=300)
NAMES = st.text(min_size=1, max_size=20)
LINES = st.sampled_from(["", "ann", "two\nlines", "a tab\tand\r\n more"])
PAUSES = st.none() | st.builds(Paused, LINES, LINES, MOMENTS)
FACTS = st.builds(
    Facts,
    state=st.sampled_from(State),
    kind=NAMES,
    lane=NAMES,
    due_at=st.none() | MOMENTS,
    reason=TEXTS,
    error=TEXTS,
    attempt=st.integers(0, 10),
    finished_at=st.none() | MOMENTS,
    running_on=st.none() | st.builds(Run, NAMES, MOMENTS, MOMENTS, st.none() | MOMENTS),
    everything_paused=PAUSES,
    session_paused=PAUSES,
    lane_disabled=st.none() | st.builds(Disabled, st.integers(1, 9), st.none() | MOMENTS),
    lane_cap=st.none() | st.builds(Occupancy, st.integers(0, 9), st.integers(1, 9)),
    workers_alive=st.integers(0, 3),
    workers_knowing_kind=st.integers(0, 3),
    budget=st.none() | st.builds(Spent, NAMES, LINES, st.none() | MOMENTS),
    breakers=st.lists(
        st.builds(Tripped, NAMES, st.none() | MOMENTS, st.booleans()), max_size=3
    ).map(tuple),
    limits=st.lists(st.builds(Limited, NAMES, LINES, MOMENTS), max_size=3).map(tuple),
    full=st.lists(st.builds(Full, NAMES, st.integers(1, 9)), max_size=2).map(tuple),
    ahead=st.integers(0, 10**7),
    lanes_ahead=st.integers(0, 10**4),
    rate=st.none() | st.floats(min_value=0.001, max_value=10**5),
)


@given(facts=FACTS, now=MOMENTS)
def test_every_set_of_facts_has_one_sentence_even_if_the_facts_contradict_each_other(
    facts: Facts, now: float
) -> None:
    """X19: they are read one after the other while the job goes on."""
    sentence, until, code = why(facts, now)

    assert sentence.startswith(facts.state.name)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert until is None or until >= 0
    assert code.replace("_", "").isalpha()
