"""A limit is never exceeded, in no window and wherever the window starts, and little is wasted.

Times are compared as fractions: what holds here holds without any rounding.
"""

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple, cast
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st

from dure.core.allowance import Booked, Grant, acquire, release, settle, used
from dure.core.limit import Limit, Window

NOW = 1_790_000_000.0
WASTE_MAX = 0.05


class Booking(NamedTuple):
    at: Fraction
    amounts: dict[str, int]


def book(limit: Limit, value: Booked, now: float, want: int = 1, tokens: int = 0) -> Grant:
    grant = acquire(limit, value, now, want, {"tokens": tokens})
    assert isinstance(grant, Grant)
    return grant._replace(value=cast("Booked", json.loads(json.dumps(grant.value))))


def most(window: Window, bookings: Iterable[Booking]) -> int:
    """The most that any stretch of time as long as the window has seen."""
    seconds = Fraction(window.seconds)
    events = sorted((at, amounts.get(window.unit, 0)) for at, amounts in bookings)
    peak = total = first = 0
    for at, amount in events:
        total += amount
        while events[first][0] < at - seconds:
            total -= events[first][1]
            first += 1
        peak = max(peak, total)
    return peak


def most_in_a_day(window: Window, bookings: Iterable[Booking]) -> int:
    zone = ZoneInfo(cast("str", window.calendar).removeprefix("day:"))
    days: dict[object, int] = {}
    for at, amounts in bookings:
        day = datetime.fromtimestamp(float(at), zone).date()
        days[day] = days.get(day, 0) + amounts.get(window.unit, 0)
    return max(days.values(), default=0)


class Call(NamedTuple):
    """One `acquire`, and what became of its grant."""

    gap: float | None
    """Seconds since the call before; None for the moment at which one more was promised."""
    want: int
    tokens: int
    share: float
    """How much of the hold passes until the permits are used."""
    correction: int
    """How many permits and tokens turn out not to be needed."""


def gaps(seconds: float) -> st.SearchStrategy[float | None]:
    """Steps of a clock, many of them to where a slice or the window ends."""
    slice_seconds = seconds / 60
    return st.one_of(
        st.none(),
        st.just(0.0),
        st.floats(0.0, 2 * slice_seconds),
        st.floats(-2 * slice_seconds, 1.2 * seconds),
        st.builds(
            lambda slices, shift: slices * slice_seconds + shift * 1e-6,
            st.integers(1, 63),
            st.integers(-2, 2),
        ),
    )


@st.composite
def histories(draw: st.DrawFn) -> tuple[Limit, list[Call]]:
    seconds = draw(st.sampled_from([0.1, 0.7, 1.0, 7.0, 60.0]))
    longer = seconds * draw(st.sampled_from([2, 5, 20]))
    windows = [Window(draw(st.integers(1, 12)), seconds)]
    if draw(st.booleans()):
        windows.append(Window(draw(st.integers(1, 30)), longer))
    if draw(st.booleans()):
        windows.append(Window(draw(st.integers(9, 60)), seconds, "tokens"))
    hold = draw(st.sampled_from([0.0, None, seconds / 100, seconds / 25, seconds / 4]))
    calls = st.builds(
        Call,
        gaps(seconds),
        st.integers(0, 15),
        st.integers(0, 9),
        st.sampled_from([0.0, 1.0]) | st.floats(0.0, 1.0),
        st.integers(0, 3),
    )
    return Limit("gemini", tuple(windows), hold=hold), draw(st.lists(calls, max_size=40))


def moved(clock: float, call: Call, before: Grant | None) -> float:
    if call.gap is None:
        promised = None if before is None else before.retry_at
        return clock if promised is None else promised
    return clock + call.gap


@given(histories(), st.floats(0.0, 1000.0))
def test_no_window_is_ever_exceeded_by_bookings_or_by_uses(
    history: tuple[Limit, list[Call]], offset: float
) -> None:
    """X8: any stretch of time, clocks that step back, permits used late, settled, given back."""
    limit, calls = history
    value: Booked = {}
    grant: Grant | None = None
    clock = latest = NOW + offset
    booked, uses = list[Booking](), list[Booking]()
    for call in calls:
        clock = moved(clock, call, grant)
        latest = max(latest, clock)
        grant = book(limit, value, clock, call.want, call.tokens)
        unused = min(call.correction, grant.granted)
        kept = grant.granted - unused
        saved = min(call.correction, call.tokens * kept)
        units = {"tokens": call.tokens}
        value = release(limit, grant.value, grant.slot, count=unused, units=units)
        value = settle(limit, value, latest, grant.slot, unit="tokens", delta=-saved)
        amounts = {"request": kept, "tokens": kept * call.tokens - saved}
        held = Fraction(limit.hold_seconds) * Fraction(call.share)
        booked.append(Booking(Fraction(latest), amounts))
        uses.append(Booking(Fraction(latest) + held, amounts))

    for window in limit.windows:
        assert most(window, booked) <= window.count
        assert most(window, uses) <= window.count


def last_with_the_same_promise(limit: Limit, start: float) -> float:
    """The latest moment at which taking everything is forgotten as soon as at `start`."""
    promise = book(limit, {}, start, 2).retry_at
    low, high = 0, 60_000_000
    while high - low > 1:
        middle = (low + high) // 2
        same = book(limit, {}, start + middle / 1_000_000, 2).retry_at == promise
        low, high = (middle, high) if same else (low, middle)
    return start + low / 1_000_000


@given(
    st.sampled_from([0.1, 0.7, 1.0, 7.0, 59.9, 60.0]),
    st.sampled_from([0.0, 0.001, 1 / 60, 0.1, 0.5]),
    st.integers(0, 10**9),
)
@settings(max_examples=settings().max_examples // 2)
def test_the_worst_client_cannot_exceed_a_window(seconds: float, hold: float, offset: int) -> None:
    """X8: it takes all there is as late as it can, uses it late, and then takes all again."""
    limit = Limit("gemini", (Window(1, seconds),), hold=hold * seconds)
    late = last_with_the_same_promise(limit, NOW + offset / 1_000_000)

    first = book(limit, {}, late, 2)
    assert first.retry_at is not None
    second = book(limit, first.value, first.retry_at, 1)

    assert (first.granted, second.granted) == (1, 1)
    used_last = Fraction(late) + Fraction(limit.hold_seconds)
    assert Fraction(first.retry_at) - used_last > Fraction(seconds)


@given(
    st.sampled_from(["Asia/Seoul", "America/New_York", "America/Havana"]),
    st.integers(1, 9),
    st.sampled_from([0.0, 1.0, 300.0]),
    st.lists(
        st.tuples(
            st.one_of(st.floats(-60, 60), st.floats(0, 200_000), st.just(86400.0)),
            st.integers(0, 9),
            st.floats(0, 1),
        ),
        max_size=30,
    ),
)
def test_no_calendar_day_is_ever_exceeded_by_bookings_or_by_uses(
    zone: str, count: int, hold: float, calls: list[tuple[float, int, float]]
) -> None:
    """X8"""
    window = Window(count, 86400.0, calendar=f"day:{zone}")
    limit = Limit("gemini", (window,), hold=hold)
    value: Booked = {}
    autumn = datetime(2026, 10, 31, 23, 58, tzinfo=ZoneInfo(zone))
    clock = latest = autumn.timestamp()
    booked, uses = list[Booking](), list[Booking]()
    for gap, want, share in calls:
        clock += gap
        latest = max(latest, clock)
        grant = book(limit, value, clock, want)
        value = grant.value
        booked.append(Booking(Fraction(grant.slot, 1_000_000), {"request": grant.granted}))
        held = Fraction(hold) * Fraction(share)
        uses.append(Booking(booked[-1].at + held, {"request": grant.granted}))

    assert most_in_a_day(window, booked) <= count
    assert most_in_a_day(window, uses) <= count


@given(histories())
@settings(max_examples=settings().max_examples // 2)
def test_one_more_fits_at_the_promised_moment_and_not_before(
    history: tuple[Limit, list[Call]],
) -> None:
    """X8"""
    limit, calls = history
    value: Booked = {}
    grant: Grant | None = None
    clock = NOW
    for call in calls:
        clock = moved(clock, call, grant)
        grant = book(limit, value, clock, call.want, call.tokens)
        value = grant.value
        assert 0 <= grant.granted <= call.want
        assert (grant.granted < call.want) == (grant.retry_at is not None)
        if grant.retry_at is not None:
            assert grant.binding in {window.name for window in limit.windows}
            assert book(limit, value, grant.retry_at - 2e-6, 1, call.tokens).granted == 0
            assert book(limit, value, grant.retry_at, 1, call.tokens).granted == 1


@given(histories())
@settings(max_examples=settings().max_examples // 3)
def test_a_grant_that_is_given_back_leaves_no_trace(history: tuple[Limit, list[Call]]) -> None:
    limit, calls = history
    value: Booked = {}
    clock = NOW
    for call in calls:
        clock += abs(call.gap or 0.0)
        before = used(limit, value, clock)
        grant = book(limit, value, clock, call.want, call.tokens)
        units = {"tokens": call.tokens}

        undone = release(limit, grant.value, grant.slot, count=grant.granted, units=units)

        assert used(limit, undone, clock) == before
        value = grant.value


def greedy(limit: Limit, seconds: float, pause: Callable[[Grant, float], float]) -> list[float]:
    """When each request ran, if more was wanted at every moment."""
    value: Booked = {}
    clock, times = NOW, list[float]()
    while clock < NOW + seconds:
        grant = book(limit, value, clock, 50)
        value = grant.value
        times += [clock] * grant.granted
        clock = pause(grant, clock)
    return times


@given(
    st.integers(1, 40),
    st.sampled_from([0.1, 1.0, 7.0, 60.0, 86400.0]),
    st.sampled_from([None, 0.0, 1 / 60]),
)
@settings(max_examples=settings().max_examples // 2)
def test_continuous_demand_gets_at_least_95_percent_of_the_allowance(
    count: int, seconds: float, hold: float | None
) -> None:
    """X8"""
    held = None if hold is None else hold * seconds
    limit = Limit("gemini", (Window(count, seconds),), hold=held)

    times = greedy(limit, 20 * seconds, lambda grant, now: grant.retry_at or now)

    assert len(times) >= (1 - WASTE_MAX) * count * 20


@pytest.mark.parametrize("step", [0.37, 0.93])
def test_demand_that_looks_once_in_a_slice_gets_its_share_too(step: float) -> None:
    """X8"""
    limit = Limit("gemini", (Window(15, 60.0),))

    times = greedy(limit, 600.0, lambda _, now: now + step)

    assert len(times) >= (1 - WASTE_MAX) * 15 * 10


def test_four_nodes_whose_calls_arrive_out_of_order_share_15_a_minute_exactly() -> None:
    """X8: with a clock per node, the sixteenth got through."""
    minute = Window(15, 60.0)
    limit = Limit("gemini", (minute,))
    value: Booked = {}
    booked = list[Booking]()
    latest = NOW
    for step in range(2500):
        clock = NOW + step * 0.1 - (step * 7 % 4) * 0.4
        latest = max(latest, clock)
        grant = book(limit, value, clock)
        value = grant.value
        booked.append(Booking(Fraction(latest), {"request": grant.granted}))

    assert most(minute, booked) == 15
    assert sum(amounts["request"] for _, amounts in booked) >= 15 * 250 / 60 * (1 - WASTE_MAX)


def test_15_a_minute_1500_a_day_and_a_million_tokens_a_minute_hold_together() -> None:
    """E10: three days of greedy demand that reserves 90,000 tokens and uses 70,000."""
    windows = tuple(Window.parse(text) for text in ("15/m", "1500/d", "1000000 tokens/m"))
    limit = Limit("gemini", windows)
    value: Booked = {}
    clock, bindings = NOW, set[str | None]()
    booked = list[Booking]()
    while clock < NOW + 3 * 86400:
        grant = book(limit, value, clock, 3, tokens=90_000)
        delta = -20_000 * grant.granted
        value = settle(limit, grant.value, clock + 0.5, grant.slot, unit="tokens", delta=delta)
        amounts = {"request": grant.granted, "tokens": 70_000 * grant.granted}
        booked.append(Booking(Fraction(clock), amounts))
        bindings.add(grant.binding)
        clock = max(clock + 0.5, grant.retry_at or 0.0)

    assert [most(window, booked) for window in windows] == [14, 1500, 980_000]
    assert bindings == {None, "1500/d", "1000000 tokens/m"}
    assert sum(amounts["request"] for _, amounts in booked) >= 3 * 1500 * (1 - WASTE_MAX)


@pytest.mark.parametrize(("hold", "share"), [(0.0, 60 / 61), (1.0, 60 / 62), (12.0, 60 / 73)])
def test_a_longer_hold_costs_the_share_that_it_says(hold: float, share: float) -> None:
    """X8"""
    limit = Limit("gemini", (Window(10, 60.0),), hold=hold)

    bursts = sorted(set(greedy(limit, 600.0, lambda grant, now: grant.retry_at or now)))

    waits = [later - earlier for earlier, later in pairwise(bursts)][1:]
    assert [60 / wait for wait in waits] == pytest.approx([share] * len(waits), rel=1e-4)
