"""Schedules fire when they should, once, and say what became of the firings they missed (X11)."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, strategies as st

from dure.core.timetable import LOOK_BACK, Every, Firing, Missed, Timetable, due

NEW_YORK = "America/New_York"
MINUTE = 60.0
HOUR = 3600.0

MOMENTS = st.floats(min_value=0, max_value=4e9)
INTERVALS = st.floats(min_value=1, max_value=1e6)


def at(text: str, tz: str = "UTC", fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(tz), fold=fold).timestamp()


def firings(timetable: Timetable, after: float, count: int) -> list[float]:
    found = [after]
    for _ in range(count):
        found.append(timetable.next_after(found[-1]))
    return found[1:]


def local(moments: list[float], tz: str) -> list[str]:
    return [f"{datetime.fromtimestamp(m, ZoneInfo(tz)):%d %H:%M%z}" for m in moments]


def test_a_cron_expression_is_read_in_its_time_zone() -> None:
    """X11: 09:00 in Seoul is midnight UTC."""
    timetable = Timetable.parse("0 9 * * *", tz="Asia/Seoul")

    assert at("2026-11-19 00:00") == timetable.next_after(at("2026-11-18 00:00"))


def test_the_next_firing_is_later_than_the_moment_asked_about() -> None:
    timetable = Timetable.parse("*/5 * * * *")
    full = at("2026-11-18 10:05")

    assert full == timetable.next_after(full - 0.000001)
    assert full == timetable.next_after(full - 0.0000003)  # less than a datetime can hold
    assert full + 5 * MINUTE == timetable.next_after(full)
    assert full + 5 * MINUTE == timetable.next_after(full + 0.5)


def test_a_fixed_time_that_the_clock_skips_fires_once_right_after_the_gap() -> None:
    """X11: in New York 02:00..03:00 does not exist on 8 March 2026."""
    start = at("2026-03-07 12:00", NEW_YORK)

    once = firings(Timetable.parse("30 2 * * *", NEW_YORK), start, 2)
    twice_named = firings(Timetable.parse("15,45 2 * * *", NEW_YORK), start, 2)

    assert local(once, NEW_YORK) == ["08 03:00-0400", "09 02:30-0400"]
    assert local(twice_named, NEW_YORK) == ["08 03:00-0400", "09 02:15-0400"]


def test_a_fixed_time_that_comes_twice_fires_the_first_time_only() -> None:
    """X11: in New York 01:00..02:00 comes twice on 1 November 2026."""
    fired = firings(Timetable.parse("30 1 * * *", NEW_YORK), at("2026-10-31 12:00", NEW_YORK), 2)

    assert local(fired, NEW_YORK) == ["01 01:30-0400", "02 01:30-0500"]


def test_a_fixed_time_is_not_given_again_to_who_asks_within_the_repeated_hour() -> None:
    """X11: the answer lies in the future even when the wall clock is behind."""
    timetable = Timetable.parse("30 1 * * *", NEW_YORK)
    second_pass = at("2026-11-01 01:15", NEW_YORK, fold=1)

    assert at("2026-11-02 01:30", NEW_YORK) == timetable.next_after(second_pass)


def test_a_wildcard_schedule_keeps_firing_through_a_change_of_clocks() -> None:
    """X11: every half hour stays every half hour."""
    timetable = Timetable.parse("*/30 * * * *", NEW_YORK)

    forward = firings(timetable, at("2026-03-08 01:00", NEW_YORK), 3)
    back = firings(timetable, at("2026-11-01 01:00", NEW_YORK), 4)

    assert local(forward, NEW_YORK) == ["08 01:30-0500", "08 03:00-0400", "08 03:30-0400"]
    assert local(back, NEW_YORK) == [
        "01 01:30-0400",
        "01 01:00-0500",
        "01 01:30-0500",
        "01 02:00-0500",
    ]


def test_a_wildcard_minute_in_a_skipped_hour_does_not_fire_that_day() -> None:
    timetable = Timetable.parse("*/30 2 * * *", NEW_YORK)

    fired = firings(timetable, at("2026-03-07 12:00", NEW_YORK), 1)

    assert local(fired, NEW_YORK) == ["09 02:00-0400"]


FIELD = st.sampled_from(["*", "*/7", "*/30", "0", "5", "1,2", "2-4", "1-5/2"])
CHANGES = st.sampled_from(
    [
        (NEW_YORK, datetime(2026, 3, 7, tzinfo=UTC)),
        (NEW_YORK, datetime(2026, 10, 31, tzinfo=UTC)),
        ("America/Havana", datetime(2026, 3, 7, tzinfo=UTC)),
        ("America/Havana", datetime(2026, 10, 31, tzinfo=UTC)),
        ("Europe/Berlin", datetime(2026, 3, 28, tzinfo=UTC)),
        ("Asia/Seoul", datetime(2026, 5, 1, tzinfo=UTC)),
    ]
)


@given(FIELD, FIELD, CHANGES, st.floats(0, 3 * 86400), st.floats(0, 1))
def test_every_node_gets_the_same_firings_wherever_it_begins(
    minute: str, hour: str, change: tuple[str, datetime], offset: float, share: float
) -> None:
    """X11: one firing for all nodes, since a moment has one answer."""
    tz, day = change
    timetable = Timetable.parse(f"{minute} {hour} * * *", tz)
    fired = firings(timetable, day.timestamp() + offset, 6)

    assert sorted(set(fired)) == fired
    for earlier, later in pairwise(fired):
        between = min(earlier + share * (later - earlier), later - 0.001)
        assert later == timetable.next_after(between)


@given(INTERVALS, MOMENTS)
@example(0.1 * 11, 1.1 * 3)
def test_an_interval_keeps_its_phase(seconds: float, moment: float) -> None:
    """X11: firings are multiples of the interval, however late one looks."""
    beat = Every(seconds)

    following = beat.next_after(moment)
    step = round(following / seconds)

    assert following > moment
    assert step * seconds == following
    assert (step - 1) * seconds <= moment
    assert (step + 1) * seconds == beat.next_after(following)


@pytest.mark.parametrize("rhythm", ["every 30s", "EVERY  30s", 30, 30.0, timedelta(seconds=30)])
def test_an_interval_is_read_from_text_or_number(rhythm: float | str | timedelta) -> None:
    assert Every(30.0) == Timetable.parse(rhythm).rhythm


@pytest.mark.parametrize("field", range(5))
def test_a_bad_field_is_named_with_an_example(field: int) -> None:
    """X11: the message says which of the five fields is wrong."""
    names = ["minute", "hour", "day-of-month", "month", "day-of-week"]
    parts = ["*"] * 5
    parts[field] = "61"
    expression = " ".join(parts)

    with pytest.raises(ValueError) as caught:
        Timetable.parse(expression)

    assert str(caught.value).startswith(f"the {names[field]} field '61' of {expression!r} is wrong")
    assert "'*/5 * * * *'" in str(caught.value)


@pytest.mark.parametrize("expression", ["* * * *", "0 * * * * *", "@daily", "every", "30s", ""])
def test_what_is_no_schedule_at_all_is_refused_with_both_forms(expression: str) -> None:
    with pytest.raises(ValueError, match=r"as a schedule: write five cron fields .*'every 30s'"):
        Timetable.parse(expression)


@pytest.mark.parametrize("expression", ["0 0 30 2 *", "* * */20 * 1L"])
def test_a_schedule_that_can_never_fire_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="never fires: its day-of-month"):
        Timetable.parse(expression)


def test_a_leap_day_that_is_decades_away_is_a_schedule() -> None:
    timetable = Timetable.parse("0 0 * 2 MON#5")

    assert at("2044-02-29 00:00") == timetable.next_after(at("2026-11-18 00:00"))


@pytest.mark.parametrize("tz", ["asia/nowhere", "Asia", "", "../etc/passwd"])
def test_an_unknown_time_zone_is_refused_with_an_example(tz: str) -> None:
    with pytest.raises(ValueError, match=r"unknown time zone .* like 'Asia/Seoul'"):
        Timetable.parse("* * * * *", tz)


@pytest.mark.parametrize("seconds", [0.5, 0.0, float("inf"), float("nan")])
def test_an_interval_below_a_second_or_without_end_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="at least 1s"):
        Every(seconds)


@pytest.mark.parametrize("grace", [-1.0, float("inf"), float("nan")])
def test_a_grace_that_is_no_length_of_time_is_refused(grace: float) -> None:
    with pytest.raises(ValueError, match="grace must be"):
        Timetable(rhythm=Every(30), grace=grace)


@pytest.mark.parametrize("count", [0, LOOK_BACK + 1])
def test_catching_up_is_bounded_on_both_sides(count: int) -> None:
    with pytest.raises(ValueError, match=r"catch_up_max must lie in 1\.\.1000"):
        Timetable.parse("every 30s", catch_up_max=count)


def test_a_hundred_firings_are_caught_up_at_most_unless_given() -> None:
    """X11, X14"""
    timetable = Timetable.parse("every 1s", missed=Missed.ALL)
    single = Timetable.parse("every 1s", missed=Missed.ALL, catch_up_max=1)

    assert tuple(float(second) for second in range(401, 501)) == due(timetable, 1.0, 500.0).fire_at
    assert (500.0,) == due(single, 1.0, 500.0).fire_at
    assert Timetable(rhythm=Every(1), grace=1).catch_up_max == timetable.catch_up_max


def test_the_grace_is_a_minute_or_a_shorter_interval_unless_given() -> None:
    assert Timetable.parse("0 3 * * *").grace == 60.0
    assert Timetable.parse("every 1h").grace == 60.0
    assert Timetable.parse("every 5s").grace == 5.0
    assert Timetable.parse("every 5s", grace="2m").grace == 120.0


def test_nothing_fires_before_its_time() -> None:
    timetable = Timetable.parse("every 5m")

    assert Firing((), 600.0, 0) == due(timetable, 600.0, 599.9)


def test_a_firing_is_due_at_its_moment_and_the_next_one_follows() -> None:
    timetable = Timetable.parse("every 5m")

    assert Firing((600.0,), 900.0, 0) == due(timetable, 600.0, 600.0)


def test_a_firing_at_this_very_moment_is_due_with_those_before_it() -> None:
    """X11"""
    timetable = Timetable.parse("every 5m", missed=Missed.ALL)

    assert Firing((600.0, 900.0), 1200.0, 1) == due(timetable, 600.0, 900.0)


def test_a_first_firing_may_stand_anywhere_and_the_rhythm_rules_from_then_on() -> None:
    timetable = Timetable.parse("every 5m")

    assert Firing((617.0,), 900.0, 0) == due(timetable, 617.0, 620.0)


@pytest.mark.parametrize("missed", list(Missed))
def test_a_firing_within_its_grace_is_not_missed(missed: Missed) -> None:
    """X11: late by exactly the grace is still on time, and no policy touches it."""
    timetable = Timetable.parse("every 5m", missed=missed, grace=60)

    assert Firing((600.0,), 900.0, 0) == due(timetable, 600.0, 660.0)


@pytest.mark.parametrize(
    ("missed", "fired"),
    [
        (Missed.SKIP, ()),
        (Missed.ONCE, (1200.0,)),
        (Missed.ALL, (600.0, 900.0, 1200.0)),
    ],
)
def test_the_policy_decides_about_missed_firings(missed: Missed, fired: tuple[float, ...]) -> None:
    """X11"""
    timetable = Timetable.parse("every 5m", missed=missed, grace=60)

    assert Firing(fired, 1500.0, 3) == due(timetable, 600.0, 1260.5)


@pytest.mark.parametrize(
    ("missed", "fired"),
    [
        (Missed.SKIP, (1200.0,)),
        (Missed.ONCE, (1200.0,)),
        (Missed.ALL, (600.0, 900.0, 1200.0)),
    ],
)
def test_a_firing_on_time_stands_for_the_missed_ones_before_it(
    missed: Missed, fired: tuple[float, ...]
) -> None:
    """X11: with `once` there are never two runs where one is enough."""
    timetable = Timetable.parse("every 5m", missed=missed, grace=60)

    assert Firing(fired, 1500.0, 2) == due(timetable, 600.0, 1201.0)


def test_catching_up_keeps_the_latest_firings() -> None:
    """X11: `all` is bounded; what is given up is still counted as missed."""
    timetable = Timetable.parse("every 5m", missed=Missed.ALL, catch_up_max=2)

    assert Firing((2700.0, 3000.0), 3300.0, 9) == due(timetable, 600.0, 3200.0)


@pytest.mark.parametrize("expression", ["* * * * *", "* 9 * * MON", "0 0 29 2 *", "every 1s"])
def test_a_schedule_that_slept_for_decades_looks_at_a_bounded_past(expression: str) -> None:
    """X11, X14: the latest firings are found, whatever their density."""
    now = at("2026-11-18 10:07:30.5")
    timetable = Timetable.parse(expression, missed=Missed.ALL, grace=0, catch_up_max=3)
    every = Timetable.parse(expression, missed=Missed.ALL, grace=0, catch_up_max=LOOK_BACK)

    firing = due(timetable, 0.0, now)
    whole = due(every, 0.0, now)

    assert whole.fire_at[-3:] == firing.fire_at
    assert len(whole.fire_at) == firing.missed <= LOOK_BACK
    assert firing.next_at == timetable.next_after(firing.fire_at[-1]) > now
    assert list(whole.fire_at[1:]) == firings(timetable, whole.fire_at[0], len(whole.fire_at) - 1)


def test_no_overdue_firing_is_lost_when_looking_back_far() -> None:
    now = at("2026-11-18 10:07:30")
    timetable = Timetable.parse("0 0 29 2 *", missed=Missed.ALL)

    years = [datetime.fromtimestamp(moment, UTC).year for moment in due(timetable, 0.0, now)[0]]

    assert [1970, *range(1972, 2025, 4)] == years


@given(
    st.sampled_from(["every 30s", "every 7m", "*/5 * * * *", "0,20 3-9 * * *"]),
    st.sampled_from(list(Missed)),
    st.integers(0, 10_000),
    st.lists(st.floats(min_value=0.1, max_value=50_000), min_size=1, max_size=12),
)
def test_polling_at_any_times_fires_nothing_twice_and_nothing_early(
    rhythm: str, missed: Missed, grace: int, pauses: list[float]
) -> None:
    """X11: over a whole run, firings only go forward; with `all` none is left out."""
    timetable = Timetable.parse(rhythm, missed=missed, grace=grace, catch_up_max=LOOK_BACK)
    now = at("2026-11-18 00:00")
    next_at = first = timetable.next_after(now)
    fired: list[float] = []

    for pause in pauses:
        now += pause
        firing = due(timetable, next_at, now)
        assert all(moment <= now for moment in firing.fire_at)
        assert firing.next_at > now
        fired += firing.fire_at
        next_at = firing.next_at

    assert sorted(set(fired)) == fired
    if missed is Missed.ALL and len(fired) < LOOK_BACK:
        assert [first, *firings(timetable, first, len(fired))][: len(fired)] == fired


@pytest.mark.parametrize(
    ("timetable", "sentence"),
    [
        (
            Timetable.parse("*/5 * * * *", "Asia/Seoul", missed=Missed.SKIP),
            "Every fifth minute of every hour, Asia/Seoul time; missed firings are skipped.",
        ),
        (
            Timetable.parse("every 1h30m"),
            "Every 1h30m; one firing makes up for all that were missed.",
        ),
        (
            Timetable.parse("0 4 13,22,31 * *", missed=Missed.ALL, catch_up_max=7),
            (
                "At 04:00 on the 13th, the 22nd, and the 31st day of month, UTC time; "
                "missed firings are made up for, at most 7 at once."
            ),
        ),
    ],
)
def test_a_timetable_describes_itself_in_one_sentence(timetable: Timetable, sentence: str) -> None:
    """X11"""
    assert sentence == timetable.describe()
