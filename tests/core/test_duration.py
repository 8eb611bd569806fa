"""Durations are read as people write them, and written so that people can read them."""

from datetime import timedelta

import pytest
from hypothesis import example, given, strategies as st

from dure.core.duration import Span, seconds_of, text_of


@pytest.mark.parametrize(
    ("span", "seconds"),
    [
        (30, 30.0),
        (0, 0.0),
        (0.25, 0.25),
        ("45", 45.0),
        ("1.5", 1.5),
        ("500ms", 0.5),
        ("30s", 30.0),
        (" 15m ", 900.0),
        ("15 m", 900.0),
        ("2h", 7200.0),
        ("1d", 86400.0),
        ("2w", 1209600.0),
        ("1h30m", 5400.0),
        ("1h 30m", 5400.0),
        ("1.5h", 5400.0),
        (timedelta(minutes=15), 900.0),
        (timedelta(), 0.0),
    ],
)
def test_a_duration_is_read_from_every_form_people_write(span: Span, seconds: float) -> None:
    """X4"""
    assert seconds == pytest.approx(seconds_of(span))


@pytest.mark.parametrize("text", ["", "soon", "5min", "30S", "h", "1h30", "1 30s", "-5m", "1,5h"])
def test_a_text_that_is_no_duration_is_refused_with_an_example(text: str) -> None:
    """X4"""
    with pytest.raises(ValueError, match=r"cannot read .* as a duration: .* like .*'15m'"):
        seconds_of(text)


@pytest.mark.parametrize(
    "span", [-1, -0.001, "-1", "inf", "nan", float("inf"), float("nan"), timedelta(seconds=-1)]
)
def test_a_duration_is_finite_and_not_negative(span: Span) -> None:
    """X4"""
    with pytest.raises(ValueError, match="finite and not negative"):
        seconds_of(span)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.0004, "0s"),
        (0.25, "0.25s"),
        (1.26, "1.26s"),
        (30, "30s"),
        (59.94, "59.9s"),
        (59.95, "1m"),
        (60, "1m"),
        (90, "1m30s"),
        (900, "15m"),
        (3600, "1h"),
        (5400, "1h30m"),
        (5430, "1h30m"),
        (7199.6, "2h"),
        (86400, "1d"),
        (183600, "2d3h"),
        (86400 * 30, "30d"),
    ],
)
def test_a_length_is_written_with_at_most_two_units(seconds: float, text: str) -> None:
    """X19"""
    assert text == text_of(seconds)


@given(st.floats(min_value=0, max_value=10**9))
@example(59.95)
@example(59.9499999)
@example(0.0005)
def test_what_is_written_can_be_read_and_is_right_to_two_units(seconds: float) -> None:
    """X19"""
    again = seconds_of(text_of(seconds))

    assert again == pytest.approx(seconds, rel=0.05, abs=0.0006)
