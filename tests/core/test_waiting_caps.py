"""What `why` says of caps over all workers, of breakers held open, and of what nobody knows."""

from dure.core.state import State
from dure.core.waiting import Facts, Full, Limited, Run, Tripped, why

NOW = 1_700_000_000.0


def test_a_cap_that_is_reached_is_named() -> None:
    """X19"""
    facts = _pending(full=(Full("kind 'fetch'", 3), Full("limit 'kis'", 1)))

    reason = why(facts, NOW)

    assert (
        "PENDING: kind 'fetch' runs at most 3 jobs at a time, and as many are running; "
        "it starts the next one when one of them ends." == reason.sentence
    )
    assert (None, "cap") == (reason.until, reason.code)


def test_a_limit_that_frees_itself_comes_before_a_cap() -> None:
    """X19"""
    facts = _pending(full=(Full("kind 'fetch'", 3),), limits=(Limited("kis", "20/s", NOW + 1),))

    assert "limit" == why(facts, NOW).code


def test_a_breaker_opened_by_hand_waits_for_somebody_to_close_it() -> None:
    """X19 X9"""
    forced = Tripped("naver", None, is_forced=True)

    reason = why(_pending(breakers=(Tripped("dart", NOW + 60), forced)), NOW)

    assert (
        "PENDING: breaker 'naver' was opened by hand and waits until somebody closes it."
        == reason.sentence
    )
    assert (None, "breaker_open") == (reason.until, reason.code)


def test_a_breaker_opened_by_hand_for_some_time_ends_with_it() -> None:
    """X19 X9"""
    reason = why(_pending(breakers=(Tripped("naver", NOW + 60, is_forced=True),)), NOW)

    assert (NOW + 60, "breaker_open") == (reason.until, reason.code)


def test_what_only_the_program_knows_is_not_made_up() -> None:
    """X19"""
    run = Run("w-1", NOW - 5, NOW + 10, None, knows_timeout=False)
    facts = Facts(
        state=State.RUNNING,
        kind="fetch",
        lane="acme",
        attempt=2,
        max_attempts=None,
        running_on=run,
    )

    assert "RUNNING on worker 'w-1' for 5s, attempt 2." == why(facts, NOW).sentence


def _pending(
    full: tuple[Full, ...] = (),
    limits: tuple[Limited, ...] = (),
    breakers: tuple[Tripped, ...] = (),
) -> Facts:
    return Facts(
        state=State.PENDING,
        kind="fetch",
        lane="acme",
        workers_alive=1,
        workers_knowing_kind=1,
        full=full,
        limits=limits,
        breakers=breakers,
    )
