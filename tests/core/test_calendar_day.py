"""A limit per calendar day: midnight is where its zone says, and late permits count twice."""

import json
from datetime import datetime
from typing import cast
from zoneinfo import ZoneInfo

import pytest

from dure.core.allowance import Booked, Grant, acquire, release, settle, used
from dure.core.limit import Limit, Window


def daily(count: int, zone: str = "Asia/Seoul", hold: float = 1.0) -> Limit:
    return Limit("gemini", (Window(count, 86400.0, calendar=f"day:{zone}"),), hold=hold)


def moment(text: str, zone: str = "Asia/Seoul") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def book(gemini: Limit, value: Booked, now: float, want: int = 1) -> Grant:
    grant = acquire(gemini, value, now, want)
    assert isinstance(grant, Grant)
    return grant._replace(value=cast("Booked", json.loads(json.dumps(grant.value))))


def count(gemini: Limit, value: Booked, now: float) -> int:
    return used(gemini, value, now)[0].used


def test_the_count_starts_over_at_midnight_in_the_zone() -> None:
    """X8"""
    full = book(daily(3), {}, moment("2026-03-01T09:00"), 5)
    midnight = moment("2026-03-02T00:00")

    assert (full.granted, full.retry_at, full.binding) == (3, midnight, "3/day:Asia/Seoul")
    assert book(daily(3), full.value, midnight - 0.000002, 5).granted == 0
    assert book(daily(3), full.value, midnight, 5).granted == 3


def test_a_permit_that_may_be_used_after_midnight_counts_in_both_days() -> None:
    """X8"""
    late = book(daily(5), {}, moment("2026-03-01T23:59:59.5"), 2)
    midnight = moment("2026-03-02T00:00")

    assert count(daily(5), late.value, midnight - 0.1) == 2
    assert count(daily(5), late.value, midnight) == 2
    assert count(daily(5), late.value, moment("2026-03-03T00:00")) == 0


def test_a_late_permit_counts_in_no_third_day() -> None:
    late = book(daily(5), {}, moment("2026-03-01T23:59:59.5"), 2)
    next_day = book(daily(5), late.value, moment("2026-03-02T12:00"), 1)

    assert count(daily(5), next_day.value, moment("2026-03-02T12:00")) == 3
    assert count(daily(5), next_day.value, moment("2026-03-03T00:00")) == 0


def test_a_permit_that_may_be_used_just_at_midnight_is_late() -> None:
    midnight = moment("2026-03-02T00:00")

    late = book(daily(5, hold=2.0), {}, midnight - 2.0, 1)
    early = book(daily(5, hold=2.0), {}, midnight - 2.000002, 1)

    assert count(daily(5, hold=2.0), late.value, midnight) == 1
    assert count(daily(5, hold=2.0), early.value, midnight) == 0


def test_giving_back_more_than_was_booked_counts_nothing_below_zero() -> None:
    midnight = moment("2026-03-02T00:00")
    late = book(daily(5), {}, midnight - 0.5, 2)

    value = release(daily(5), late.value, late.slot, count=4)

    assert count(daily(5), value, midnight - 0.5) == 0
    assert count(daily(5), value, midnight) == 0


def test_late_permits_can_fill_the_next_day_too() -> None:
    late = book(daily(2), {}, moment("2026-03-01T23:59:59.5"), 3)
    after_next = moment("2026-03-03T00:00")

    assert (late.granted, late.retry_at) == (2, after_next)
    assert book(daily(2), late.value, after_next - 0.000002).granted == 0
    assert book(daily(2), late.value, after_next, 3).granted == 2


def test_a_late_permit_that_was_not_used_is_given_back_to_both_days() -> None:
    midnight = moment("2026-03-02T00:00")
    late = book(daily(5), {}, midnight - 0.5, 3)

    value = release(daily(5), late.value, late.slot, count=1)
    assert count(daily(5), value, midnight - 0.5) == 2
    assert count(daily(5), value, midnight) == 2

    today = book(daily(5), value, midnight + 1).value
    value = settle(daily(5), today, midnight + 1, late.slot, unit="request", delta=-1)
    assert count(daily(5), value, midnight + 1) == 2


def test_yesterday_is_past_correcting() -> None:
    yesterday = book(daily(5), {}, moment("2026-03-01T12:00"), 3)
    now = moment("2026-03-02T12:00")
    today = book(daily(5), yesterday.value, now, 2)

    value = settle(daily(5), today.value, now, yesterday.slot, unit="request", delta=-1)

    assert count(daily(5), value, now) == 2


def test_a_slot_of_tomorrow_is_left_alone() -> None:
    """After a restore from a backup, grants may be younger than the value."""
    today = book(daily(5), {}, moment("2026-03-01T12:00"), 3).value
    tomorrow = int(moment("2026-03-02T12:00") * 1_000_000)

    value = release(daily(5), today, tomorrow, count=1)

    assert count(daily(5), value, moment("2026-03-01T12:00")) == 3


@pytest.mark.parametrize(
    ("zone", "start", "midnight", "hours"),
    [
        ("UTC", "2026-03-01T12:00", "2026-03-02T00:00+00:00", 12.0),
        ("Asia/Kathmandu", "2026-03-01T12:00", "2026-03-02T00:00+05:45", 12.0),
        ("America/New_York", "2026-03-08T00:00", "2026-03-09T00:00-04:00", 23.0),
        ("America/New_York", "2026-11-01T00:00", "2026-11-02T00:00-05:00", 25.0),
        ("Asia/Beirut", "2021-03-27T12:00", "2021-03-28T01:00+03:00", 12.0),
        ("America/Havana", "2021-11-07T00:00", "2021-11-08T00:00-05:00", 25.0),
        ("Pacific/Apia", "2011-12-29T12:00", "2011-12-31T00:00+14:00", 12.0),
    ],
)
def test_days_are_as_long_as_the_zone_makes_them(
    zone: str, start: str, midnight: str, hours: float
) -> None:
    """Clocks that change, a midnight that does not exist, and a whole day that does not."""
    now = moment(start, zone)

    grant = book(daily(1, zone), {}, now, 2)

    assert grant.retry_at == datetime.fromisoformat(midnight).timestamp() == now + hours * 3600
    assert book(daily(1, zone), grant.value, now + hours * 3600).granted == 1


def test_a_clock_that_steps_back_over_midnight_does_not_open_the_old_day() -> None:
    midnight = moment("2026-03-02T00:00")
    today = book(daily(3), {}, midnight + 5, 3)

    assert book(daily(3), today.value, midnight - 5).granted == 0


def test_days_and_sliding_windows_bind_together() -> None:
    """X8"""
    windows = (Window(5, 60.0), Window(7, 86400.0, calendar="day:Asia/Seoul"))
    gemini = Limit("gemini", windows)
    now = moment("2026-03-01T12:00")

    first = book(gemini, {}, now, 9)
    second = book(gemini, first.value, now + 70, 9)

    assert (first.granted, first.binding) == (5, "5/m")
    assert (second.granted, second.binding) == (2, "7/day:Asia/Seoul")
