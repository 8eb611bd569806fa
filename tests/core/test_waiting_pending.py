"""X19: what holds up a pending job, and which of many reasons is told."""

from dataclasses import replace

import pytest

from dure.core.state import Priority, State
from dure.core.waiting import (
    Disabled,
    Facts,
    Full,
    Limited,
    Occupancy,
    Paused,
    Reason,
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
            {"breakers": (Tripped("a", NOW + 20), Tripped("b", None, is_forced=True))},
            "breaker 'b' was opened by hand and waits until somebody closes it",
            None,
            "breaker_open",
        ),
        (
            {"breakers": (Tripped("a", NOW + 20, is_forced=True),)},
            "breaker 'a' is open and lets a probe through in 20s",
            NOW + 20,
            "breaker_open",
        ),
        (
            {"limits_missing": ("kis",)},
            "limit 'kis' is not defined; it waits until somebody defines it",
            None,
            "limit_missing",
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
            {"full": (Full("kind 'fetch'", 8), Full("limit 'db'", 1)), "lane_cap": Occupancy(4, 5)},
            (
                "kind 'fetch' runs at most 8 jobs at a time, and as many are running; "
                "it starts the next one when one of them ends"
            ),
            None,
            "cap",
        ),
        (
            {"full": (Full("limit 'db'", 1),)},
            (
                "limit 'db' runs at most 1 job at a time, and as many are running; "
                "it starts the next one when one of them ends"
            ),
            None,
            "cap",
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
                "there is no estimate"
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
    ("limit_missing", {"limits_missing": ("kis",)}),
    ("limit", {"limits": (Limited("gemini", "15 per minute", NOW + 12),)}),
    ("lane_cap", {"lane_cap": Occupancy(5, 5)}),
    ("cap", {"full": (Full("kind 'fetch'", 8),)}),
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


def test_the_table_of_precedence_names_every_code_in_its_order() -> None:
    """X19"""
    assert why.__doc__ is not None
    table = [line for line in why.__doc__.splitlines() if line.strip().startswith("|")][2:]
    told = [code for line in table for code in line.split("|")[1].replace(",", " ").split()]
    states = ["success", "failed", "stale", "cancelled", "running", "lease_expired", "suspended"]
    waits = ["retry_wait", "asked_to_wait", "delayed"]
    obstacles = [code for code, _ in OBSTACLES]
    obstacles.insert(obstacles.index("limit_missing"), "breaker_half_open")

    assert states + waits + obstacles == told
