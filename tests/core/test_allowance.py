"""What a limit has left: booking, settling, giving back, blocking, and redefinition."""

import json
from typing import cast

import pytest

from dure.core.allowance import (
    BLOCKED,
    Booked,
    Grant,
    Impossible,
    acquire,
    block,
    blocked_until,
    release,
    settle,
    used,
)
from dure.core.limit import Limit, Window

NOW = 1_790_000_000.0
SPAN = 62 * 1.000001
"""How long a booking counts in a minute: 62 slices, each a microsecond over a second."""


def limit(*windows: str, hold: float | None = None, rate_factor: float = 1.0) -> Limit:
    parsed = tuple(Window.parse(text) for text in windows)
    return Limit("gemini", parsed, hold=hold, rate_factor=rate_factor)


def stored(value: Booked) -> Booked:
    """The value as a store gives it back."""
    return cast("Booked", json.loads(json.dumps(value)))


def book(gemini: Limit, value: Booked, now: float, want: int = 1, tokens: int = 0) -> Grant:
    grant = acquire(gemini, value, now, want, {"tokens": tokens})
    assert isinstance(grant, Grant)
    return grant._replace(value=stored(grant.value))


def counts(gemini: Limit, value: Booked, now: float) -> list[int]:
    return [window.used for window in used(gemini, value, now)]


MINUTE = limit("15/m")
THREE = limit("15/m", "1500/d", "1000000 tokens/m")


def test_a_fresh_limit_grants_what_is_wanted() -> None:
    grant = book(MINUTE, {}, NOW, 10)

    assert (grant.granted, grant.retry_at, grant.binding) == (10, None, None)
    assert counts(MINUTE, grant.value, NOW) == [10]


def test_it_grants_the_part_that_fits_and_says_when_one_more_does() -> None:
    """X8"""
    first = book(MINUTE, {}, NOW, 10)
    second = book(MINUTE, first.value, NOW + 20, 10)

    assert (second.granted, second.binding) == (5, "15/m")
    assert second.retry_at is not None
    assert NOW + 60 < second.retry_at <= NOW + SPAN
    assert book(MINUTE, second.value, second.retry_at - 0.000002, 10).granted == 0
    assert book(MINUTE, second.value, second.retry_at, 15).granted == 10


def test_a_grant_books_all_windows_or_none() -> None:
    """X8, E10"""
    first = book(THREE, {}, NOW, 3, tokens=200_000)
    second = book(THREE, first.value, NOW, 3, tokens=200_000)
    third = book(THREE, second.value, NOW, 3, tokens=200_000)

    assert [grant.granted for grant in (first, second, third)] == [3, 2, 0]
    assert third.binding == "1000000 tokens/m"
    assert counts(THREE, third.value, NOW) == [5, 5, 1_000_000]


def test_the_binding_window_is_the_one_that_stays_full_longest() -> None:
    """E10"""
    gemini = limit("5/m", "5/d")

    grant = book(gemini, {}, NOW, 6)

    assert grant.binding == "5/d"
    assert NOW + 86400 < cast("float", grant.retry_at) <= NOW + 86400 * 62 / 60 + 1


def test_units_that_a_request_does_not_use_do_not_bind_it() -> None:
    full = book(THREE, {}, NOW, 1, tokens=1_000_000)

    assert book(THREE, full.value, NOW, 14).granted == 14


def test_wanting_nothing_books_nothing() -> None:
    full = book(MINUTE, {}, NOW, 15)

    assert book(MINUTE, full.value, NOW, 0)[1:] == (0, full.slot, None, None)


def test_a_limit_without_windows_grants_everything() -> None:
    assert book(Limit("ffmpeg", max_running=2), {}, NOW, 100).granted == 100


def test_a_request_larger_than_a_window_is_refused_for_good() -> None:
    """X8"""
    refusal = acquire(THREE, {}, NOW, 1, {"tokens": 1_000_001})

    assert isinstance(refusal, Impossible)
    assert refusal.window == "1000000 tokens/m"
    assert refusal.sentence == (
        "one request needs 1000001 tokens, but limit 'gemini' allows 1000000 tokens/m: "
        "raise the limit or make the request smaller"
    )


def test_slowing_down_makes_no_request_impossible() -> None:
    slowed = limit("15/m", "1000 tokens/m", rate_factor=0.1)

    grant = book(slowed, {}, NOW, 2, tokens=900)

    assert grant.granted == 1
    assert counts(slowed, grant.value, NOW) == [1, 900]
    assert book(slowed, grant.value, cast("float", grant.retry_at), 2, tokens=900).granted == 1


def test_numbers_below_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot acquire -1"):
        acquire(MINUTE, {}, NOW, -1)
    with pytest.raises(ValueError, match="cannot cost -5 tokens"):
        acquire(THREE, {}, NOW, 1, {"tokens": -5})
    with pytest.raises(ValueError, match="cannot release -1"):
        release(MINUTE, {}, 0, count=-1)


def test_a_value_handed_in_is_never_changed() -> None:
    value = book(limit("15/m", "20/day:UTC", "90 tokens/m"), {}, NOW, 3, tokens=9).value
    gemini = limit("15/m", "20/day:UTC", "90 tokens/m")
    before = stored(value)

    acquire(gemini, value, NOW, 1, {"tokens": 9})
    acquire(gemini, value, NOW + 5, 100, {"tokens": 9})
    settle(gemini, value, NOW, value["at"], unit="tokens", delta=7)
    release(gemini, value, value["at"], count=1, units={"tokens": 9})
    block(value, NOW + 9)
    used(gemini, value, NOW + 9)

    assert value == before


def test_a_clock_that_runs_backwards_frees_nothing_early() -> None:
    """X8: readings of one clock that reach the row out of order once let a request too many in."""
    first = book(MINUTE, {}, NOW, 10)
    second = book(MINUTE, first.value, NOW - 30, 10)

    assert (second.granted, second.slot) == (5, first.slot)
    assert book(MINUTE, second.value, NOW + 30.5, 1).granted == 0
    assert book(MINUTE, second.value, NOW + 59.999, 1).granted == 0


def test_tokens_are_settled_in_the_slice_they_were_booked_in() -> None:
    """X8"""
    grant = book(THREE, {}, NOW, 1, tokens=1000)

    value = stored(settle(THREE, grant.value, NOW + 40, grant.slot, unit="tokens", delta=500))

    assert counts(THREE, value, NOW + 40) == [1, 1, 1500]
    assert counts(THREE, value, NOW + 60) == [1, 1, 1500]
    assert counts(THREE, value, NOW + SPAN) == [0, 1, 0]


def test_tokens_that_were_not_needed_are_free_for_others_at_once() -> None:
    """X8"""
    grant = book(THREE, {}, NOW, 1, tokens=1_000_000)

    value = settle(THREE, grant.value, NOW + 5, grant.slot, unit="tokens", delta=-600_000)

    assert book(THREE, value, NOW + 5, 2, tokens=600_000).granted == 1


def test_tokens_over_the_limit_are_counted_and_waited_for() -> None:
    grant = book(THREE, {}, NOW, 1, tokens=900_000)
    value = settle(THREE, grant.value, NOW + 5, grant.slot, unit="tokens", delta=900_000)

    late = book(THREE, value, NOW + 6, 1, tokens=1)

    assert counts(THREE, value, NOW + 6)[2] == 1_800_000
    assert (late.granted, late.binding) == (0, "1000000 tokens/m")
    assert book(THREE, late.value, cast("float", late.retry_at), 1, tokens=1).granted == 1


def test_settling_after_the_slice_has_left_changes_nothing() -> None:
    grant = book(THREE, {}, NOW, 1, tokens=1000)

    value = settle(THREE, grant.value, NOW + SPAN, grant.slot, unit="tokens", delta=5000)

    assert counts(THREE, value, NOW + SPAN) == [0, 1, 0]


def test_settling_never_goes_below_zero() -> None:
    grant = book(THREE, {}, NOW, 1, tokens=1000)
    other = book(THREE, grant.value, NOW + 10, 1, tokens=1000)

    value = settle(THREE, other.value, NOW + 10, grant.slot, unit="tokens", delta=-9999)

    assert counts(THREE, value, NOW + 10) == [2, 2, 1000]


def test_permits_that_were_not_used_go_back_where_they_were_booked() -> None:
    """X8"""
    early = book(THREE, {}, NOW, 10, tokens=1000)
    late = book(THREE, early.value, NOW + 30, 5, tokens=1000)

    value = release(THREE, late.value, early.slot, count=4, units={"tokens": 1000})

    assert counts(THREE, stored(value), NOW + 30) == [11, 11, 11_000]
    assert book(THREE, value, NOW + 30, 9).granted == 4
    assert counts(THREE, value, NOW + SPAN) == [5, 11, 5000]


def test_a_slot_of_the_future_is_left_alone() -> None:
    """After a restore from a backup, grants may be younger than the value."""
    old = book(MINUTE, {}, NOW, 3).value

    assert counts(MINUTE, release(MINUTE, old, old["at"] + 5_000_000, count=3), NOW) == [3]


def test_nothing_is_granted_before_the_other_side_allows_it() -> None:
    """X8"""
    value = stored(block({}, NOW + 30))

    assert book(MINUTE, value, NOW + 29.9, 5)[1:] == (0, 1790000029900000, NOW + 30, BLOCKED)
    assert blocked_until(value, NOW + 29.9) == NOW + 30
    assert blocked_until(value, NOW + 30) is None
    assert book(MINUTE, value, NOW + 30, 5).granted == 5


def test_a_window_that_is_full_for_longer_than_the_block_binds() -> None:
    full = book(MINUTE, {}, NOW, 15)

    grant = book(MINUTE, block(full.value, NOW + 10), NOW, 1)

    assert (grant.granted, grant.binding) == (0, "15/m")
    assert grant.retry_at == book(MINUTE, full.value, NOW, 1).retry_at


def test_a_block_outlasts_a_shorter_one_and_every_other_change() -> None:
    grant = book(MINUTE, {}, NOW, 5)

    value = block(block(grant.value, NOW + 30), NOW + 10)
    value = release(MINUTE, value, grant.slot, count=1)
    value = settle(MINUTE, value, NOW, grant.slot, unit="request", delta=-1)

    assert blocked_until(stored(value), NOW) == NOW + 30
    assert counts(MINUTE, value, NOW) == [3]


def test_a_block_can_be_lifted_and_leaves_no_trace_when_it_is_over() -> None:
    value = book(MINUTE, {}, NOW, 5).value

    assert block(block(value, NOW + 30), None) == value
    assert block(value, None) == value
    assert "blocked" not in book(MINUTE, block(value, NOW + 30), NOW + 30).value


@pytest.mark.parametrize("until", [float("inf"), float("nan")])
def test_a_block_must_end(until: float) -> None:
    with pytest.raises(ValueError, match="cannot block until"):
        block({}, until)


def test_the_use_of_every_window_can_be_shown() -> None:
    """X8, E10"""
    grant = book(THREE, {}, NOW, 15, tokens=2000)

    minute, day, tokens = used(THREE, grant.value, NOW + 1)

    assert minute[:4] == ("15/m", "request", 15, 15)
    assert minute.free_at == book(THREE, grant.value, NOW + 1, 1).retry_at
    assert day == ("1500/d", "request", 15, 1500, None)
    assert tokens == ("1000000 tokens/m", "tokens", 30_000, 1_000_000, None)


def test_three_full_windows_take_little_room() -> None:
    value: Booked = {}
    gemini = limit("1500/m", "150000/d", "10000000 tokens/m")
    for second in range(120):
        value = book(gemini, value, NOW + second * 700, 40, tokens=9000).value
    for second in range(70):
        value = book(gemini, value, NOW + 84000 + second, 24, tokens=9000).value

    assert len(json.dumps(value)) < 1500


def test_a_window_that_changed_its_count_keeps_its_bookings() -> None:
    value = book(limit("15/m", "1500/d"), {}, NOW, 15).value
    redefined = limit("20/m", "100/h")

    grant = book(redefined, value, NOW + 1, 10)

    assert grant.granted == 5
    assert counts(redefined, grant.value, NOW + 1) == [20, 5]
    assert grant.value.get("rings", {}).keys() == {"request/m", "request/h"}


def test_a_count_lowered_below_what_is_booked_waits_for_it() -> None:
    value = book(limit("15/m"), {}, NOW, 15).value

    grant = book(limit("5/m"), value, NOW + 1, 1)

    assert grant.granted == 0
    assert book(limit("5/m"), grant.value, cast("float", grant.retry_at), 9).granted == 5


def test_a_longer_hold_goes_on_with_the_same_bookings() -> None:
    value = book(limit("15/m", hold=0.0), {}, NOW, 15).value

    assert book(limit("15/m", hold=0.0), value, NOW + 61.1, 1).granted == 1
    assert book(limit("15/m", hold=5.0), value, NOW + 61.1, 1).granted == 0
