"""X19: every job that is not running gets one exact sentence, a moment and a stable code."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from dure.core.state import Priority, State
from dure.core.waiting import (
    Disabled,
    Facts,
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


def test_a_job_nothing_holds_up_is_next() -> None:
    """X19"""
    assert Reason("PENDING: it is next; a worker takes it any moment.", NOW, "turn") == why(
        READY, NOW
    )


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


@pytest.mark.parametrize(
    ("facts", "clause", "until", "code"),
    [
        (
            {"everything_paused": BY_ANN},
            "everything was paused 5m ago by ann (maintenance) and waits until somebody resumes it",
            None,
            "everything_paused",
        ),
        (
            {"kind_paused": Paused("", "", NOW - 2)},
            "kind 'fetch' was paused 2s ago and waits until somebody resumes it",
            None,
            "kind_paused",
        ),
        (
            {"lane_paused": BY_ANN},
            (
                "lane 'naver' was paused 5m ago by ann (maintenance) "
                "and waits until somebody resumes it"
            ),
            None,
            "lane_paused",
        ),
        (
            {"session_paused": Paused("", "ann", NOW)},
            "session 's1' was paused 0s ago by ann and waits until somebody resumes it",
            None,
            "session_paused",
        ),
        (
            {"lane_disabled": Disabled(3, NOW + 600)},
            "lane 'naver' is disabled after 3 failures in a row until it is tried again in 10m",
            NOW + 600,
            "lane_disabled",
        ),
        (
            {"lane_disabled": Disabled(1, None)},
            "lane 'naver' is disabled after 1 failure in a row until somebody enables it",
            None,
            "lane_disabled",
        ),
        ({"workers_alive": 0}, "no worker is alive", None, "no_worker"),
        (
            {"workers_knowing_kind": 0},
            "no worker knows kind 'fetch' (2 alive)",
            None,
            "kind_unknown",
        ),
        (
            {"budget": Spent("ai", "10.00 of 10.00 USD", NOW + 7200)},
            "budget 'ai' is spent (10.00 of 10.00 USD) and renews in 2h",
            NOW + 7200,
            "budget_spent",
        ),
        (
            {"budget": Spent("ai", "10.00 of 10.00 USD", None)},
            "budget 'ai' is spent (10.00 of 10.00 USD) and waits until somebody raises it",
            None,
            "budget_spent",
        ),
        (
            {"breakers": (Tripped("openai", NOW + 20),)},
            "breaker 'openai' is open and lets a probe through in 20s",
            NOW + 20,
            "breaker_open",
        ),
        (
            {"breakers": (Tripped("a", NOW + 20), Tripped("b", None), Tripped("c", NOW + 30))},
            "breaker 'c' is open and lets a probe through in 30s",
            NOW + 30,
            "breaker_open",
        ),
        (
            {"breakers": (Tripped("openai", None),)},
            "breaker 'openai' is half-open and lets only probes through until it closes",
            None,
            "breaker_half_open",
        ),
        (
            {"breakers": (Tripped("openai", NOW),)},
            "breaker 'openai' is half-open and lets only probes through until it closes",
            None,
            "breaker_half_open",
        ),
        (
            {"limits": (Limited("gemini", "15 per minute", NOW + 12),)},
            "limit 'gemini' is used up (15 per minute) and has room in 12s",
            NOW + 12,
            "limit",
        ),
        (
            {"limits": (Limited("a", "5/s", NOW + 1), Limited("b", "9 per day", NOW + 3600))},
            "limit 'b' is used up (9 per day) and has room in 1h",
            NOW + 3600,
            "limit",
        ),
        (
            {"lane_cap": Occupancy(5, 5)},
            "lane 'naver' runs 5 of at most 5 jobs; it starts the next one when one of them ends",
            None,
            "lane_cap",
        ),
        (
            {"ahead": 12, "lanes_ahead": 1, "rate": 0.5},
            (
                "12 jobs of its lane, kind and priority (NORMAL) and 1 lane come first; "
                "it starts in about 26s at 0.5 jobs/s"
            ),
            NOW + 26,
            "turn",
        ),
        (
            {"lanes_ahead": 3, "rate": 2.0, "priority": Priority.HIGH},
            (
                "0 jobs of its lane, kind and priority (HIGH) and 3 lanes come first; "
                "it starts in about 0.5s at 2 jobs/s"
            ),
            NOW + 0.5,
            "turn",
        ),
        (
            {"ahead": 1, "rate": None},
            (
                "1 job of its lane, kind and priority (NORMAL) and 0 lanes come first; "
                "there is no estimate, as none was served lately"
            ),
            None,
            "turn",
        ),
        (
            {"ahead": 1, "rate": 0.0},
            (
                "1 job of its lane, kind and priority (NORMAL) and 0 lanes come first; "
                "there is no estimate, as none was served lately"
            ),
            None,
            "turn",
        ),
    ],
)
def test_a_pending_job_says_what_it_waits_for_and_until_when(
    facts: dict[str, object], clause: str, until: float | None, code: str
) -> None:
    """X19"""
    expected = Reason(f"PENDING: {clause}.", until, code)

    assert expected == why(replace(READY, **facts), NOW)  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(
    "facts",
    [
        {"limits": (Limited("gemini", "15 per minute", NOW),)},
        {"lane_cap": Occupancy(4, 5)},
    ],
)
def test_what_has_room_again_holds_nothing_up(facts: dict[str, object]) -> None:
    """X19"""
    assert why(replace(READY, **facts), NOW).sentence.startswith(  # type: ignore[arg-type]  # by name
        "PENDING: it is next"
    )


OBSTACLES: list[tuple[str, dict[str, object]]] = [
    ("everything_paused", {"everything_paused": BY_ANN}),
    ("kind_paused", {"kind_paused": BY_ANN}),
    ("lane_paused", {"lane_paused": BY_ANN}),
    ("session_paused", {"session_paused": BY_ANN}),
    ("lane_disabled", {"lane_disabled": Disabled(3, None)}),
    ("no_worker", {"workers_alive": 0}),
    ("kind_unknown", {"workers_knowing_kind": 0}),
    ("budget_spent", {"budget": Spent("ai", "all", None)}),
    ("breaker_open", {"breakers": (Tripped("openai", NOW + 20),)}),
    ("limit", {"limits": (Limited("gemini", "15 per minute", NOW + 12),)}),
    ("lane_cap", {"lane_cap": Occupancy(5, 5)}),
    ("turn", {"ahead": 3}),
]
"""In the order in which they are told."""


@pytest.mark.parametrize("first", range(len(OBSTACLES)), ids=[code for code, _ in OBSTACLES])
def test_the_strongest_reason_is_told_when_many_hold(first: int) -> None:
    """X19"""
    facts = READY
    for _, obstacle in OBSTACLES[first:]:
        facts = replace(facts, **obstacle)  # type: ignore[arg-type]  # by name

    assert OBSTACLES[first][0] == why(facts, NOW).code


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (State.FAILED, "failed"),
        (State.RUNNING, "running"),
        (State.SUSPENDED, "suspended"),
        (State.RETRY_WAIT, "retry_wait"),
    ],
)
def test_the_state_of_a_job_comes_before_everything_around_it(state: State, code: str) -> None:
    """X19"""
    facts = replace(READY, state=state, attempt=1, due_at=NOW + 5)
    for _, obstacle in OBSTACLES:
        facts = replace(facts, **obstacle)  # type: ignore[arg-type]  # by name

    assert code == why(facts, NOW).code


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


def test_a_long_error_of_many_lines_stays_one_short_line() -> None:
    """X19"""
    facts = replace(READY, state=State.FAILED, attempt=5, error="Boom:\n  at line 1\n" + "x" * 500)

    sentence = why(facts, NOW).sentence

    assert "(Boom: at line 1 xxx" in sentence
    assert "x…); only a replay" in sentence
    assert "\n" not in sentence
    assert len(sentence) < 300


def test_an_error_of_just_the_right_length_is_told_in_full() -> None:
    """X19"""
    facts = replace(READY, state=State.FAILED, attempt=5, error="x" * 200)

    assert f"({'x' * 200})" in why(facts, NOW).sentence


def test_the_table_of_precedence_names_every_code_in_its_order() -> None:
    """X19"""
    assert why.__doc__ is not None
    table = [line for line in why.__doc__.splitlines() if line.strip().startswith("|")][2:]
    told = [code for line in table for code in line.split("|")[1].replace(",", " ").split()]
    states = ["success", "failed", "stale", "cancelled", "running", "lease_expired", "suspended"]
    waits = ["retry_wait", "asked_to_wait", "delayed"]
    obstacles = [code for code, _ in OBSTACLES]
    obstacles.insert(obstacles.index("limit"), "breaker_half_open")

    assert states + waits + obstacles == told


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
    breakers=st.lists(st.builds(Tripped, NAMES, st.none() | MOMENTS), max_size=3).map(tuple),
    limits=st.lists(st.builds(Limited, NAMES, LINES, MOMENTS), max_size=3).map(tuple),
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
