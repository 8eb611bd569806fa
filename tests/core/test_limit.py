"""What a limit is: how windows are written, and which definitions make no sense."""

import json

import pytest
from hypothesis import given, strategies as st

from dure.core.limit import Limit, Window

MINUTE, DAY = 60.0, 86400.0


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("20/s", Window(20, 1.0)),
        ("15/m", Window(15, MINUTE)),
        ("15/min", Window(15, MINUTE)),
        (" 15 / minute ", Window(15, MINUTE)),
        ("100/h", Window(100, 3600.0)),
        ("1500/d", Window(1500, DAY)),
        ("1500/day", Window(1500, DAY)),
        ("9/week", Window(9, 7 * DAY)),
        ("300/90s", Window(300, 90.0)),
        ("300/1h30m", Window(300, 5400.0)),
        ("5/0.5s", Window(5, 0.5)),
        ("5/500ms", Window(5, 0.5)),
        ("7/10", Window(7, 10.0)),
        ("15 requests/m", Window(15, MINUTE)),
        ("15 request/m", Window(15, MINUTE)),
        ("1000000 tokens/m", Window(1_000_000, MINUTE, "tokens")),
        ("1_000_000tokens/m", Window(1_000_000, MINUTE, "tokens")),
        ("1500/day:Asia/Seoul", Window(1500, DAY, calendar="day:Asia/Seoul")),
        ("9 tokens/day:UTC", Window(9, DAY, "tokens", "day:UTC")),
    ],
)
def test_a_window_is_written_the_way_people_say_it(text: str, window: Window) -> None:
    """X8, E10"""
    assert Window.parse(text) == window


@pytest.mark.parametrize(
    ("window", "name"),
    [
        (Window(15, MINUTE), "15/m"),
        (Window(20, 1), "20/s"),
        (Window(3, 90.0), "3/90s"),
        (Window(3, 0.25), "3/0.25s"),
        (Window(3, 7200.0), "3/2h"),
        (Window(1_000_000, MINUTE, "tokens"), "1000000 tokens/m"),
        (Window(1500, DAY, calendar="day:Asia/Seoul"), "1500/day:Asia/Seoul"),
    ],
)
def test_a_window_is_named_in_its_shortest_form(window: Window, name: str) -> None:
    assert window.name == name


WINDOWS = st.builds(
    Window,
    st.integers(1, 10**12),
    st.one_of(
        st.floats(0.1, 366 * DAY),
        st.sampled_from([0.1, 0.3, 1.0, 59.9, 60.0, 90.0, 3600.0, 86400.0, 604800.0]),
    ),
    st.sampled_from(["request", "tokens", "input_tokens", "bytes", "per-page"]),
)


@given(WINDOWS)
def test_the_name_of_a_window_reads_back_as_the_same_window(window: Window) -> None:
    assert Window.parse(window.name) == window


@pytest.mark.parametrize(
    "text", ["", "15", "/m", "15/", "m/15", "-3/s", "1.5/s", "15 big tokens/m", "15 2x/m", "15//m"]
)
def test_a_text_that_is_no_window_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"as a window: .*like '"):
        Window.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0/s", "at least 1 request, not 0"),
        ("5/50ms", "0.1s to 366 days"),
        ("5/400d", "0.1s to 366 days"),
        ("5/fortnight", "'fortnight' as a duration"),
        ("5/day:Mars/Olympus", "no time zone 'Mars/Olympus'"),
        ("5/day:../etc", "no time zone"),
        ("5/day:Asia", "no time zone 'Asia'"),
        ("5/day:", "no time zone ''"),
    ],
)
def test_a_window_that_cannot_be_kept_is_refused_with_its_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        Window.parse(text)

    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize(
    ("unit", "seconds", "calendar", "message"),
    [
        ("two words", DAY, None, "one word"),
        ("", DAY, None, "one word"),
        ("tokens", DAY, "Asia/Seoul", "'day:' and a time zone"),
        ("tokens", MINUTE, "day:Asia/Seoul", "lasts 86400s, not 60"),
        ("tokens", float("nan"), None, "not nan"),
    ],
)
def test_a_window_built_by_hand_is_checked_too(
    unit: str, seconds: float, calendar: str | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Window(5, seconds, unit, calendar)


def test_a_window_that_only_changed_its_count_keeps_its_key() -> None:
    keys = [
        Window.parse(text).key
        for text in ("15/m", "20/m", "15/90s", "15 tokens/m", "15/d", "15/day:UTC")
    ]

    assert keys[0] == keys[1]
    assert len(set(keys)) == 5


def limit(*windows: str, hold: float | None = None) -> Limit:
    return Limit("gemini", tuple(Window.parse(text) for text in windows), hold=hold)


@given(
    st.lists(WINDOWS, min_size=1, max_size=4, unique_by=lambda window: window.key),
    st.none() | st.integers(1, 1000),
    st.floats(0.001, 1.0),
    st.none() | st.floats(0.0, 0.05),
)
def test_a_limit_survives_being_stored(
    windows: list[Window], max_running: int | None, rate_factor: float, hold: float | None
) -> None:
    gemini = Limit("gemini", tuple(windows), max_running, rate_factor, hold)

    assert Limit.from_dict(json.loads(json.dumps(gemini.to_dict()))) == gemini


def test_a_limit_can_be_written_with_its_name_and_windows_alone() -> None:
    """E10"""
    windows = ("15/m", "1500/day:Asia/Seoul", "1000000 tokens/m")

    assert Limit.from_dict({"name": "gemini", "windows": list(windows)}) == limit(*windows)


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"name": "gemini"},
        {"windows": ["15/m"]},
        {"name": 5, "windows": ["15/m"]},
        {"name": "gemini", "windows": "15/m"},
        {"name": "gemini", "windows": ["15/m"], "max_running": "many"},
        {"name": "gemini", "windows": ["15/m"], "rate_factor": None},
        {"name": "gemini", "windows": ["15/m"], "hold": "1s"},
    ],
)
def test_what_is_not_a_stored_limit_is_refused(stored: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="as a limit: it needs 'name', 'windows'"):
        Limit.from_dict(stored)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": ""}, "needs a name"),
        ({"windows": ()}, "limits nothing"),
        ({"windows": (Window(5, 60.0), Window(6, 60))}, "two windows for request/m"),
        ({"max_running": 0}, "max_running must be at least 1"),
        ({"rate_factor": 0.0}, "rate_factor"),
        ({"rate_factor": 1.5}, "rate_factor"),
        ({"hold": -1.0}, "hold must be 0 to"),
        ({"hold": 31.0}, r"half of the shortest window \(30s\), not 31"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(settings: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"name": "gemini", "windows": (Window(5, 60.0),)}

    with pytest.raises(ValueError, match=message):
        Limit(**{**given, **settings})  # type: ignore[arg-type]  # wrong values among them


def test_a_limit_may_have_no_window_when_it_has_a_cap_on_running_jobs() -> None:
    assert Limit("ffmpeg", max_running=2).windows == ()


@pytest.mark.parametrize(
    ("gemini", "seconds"),
    [
        (limit("15/m", "1500/d"), 1.0),
        (limit("20/s", "1500/d"), 1 / 60),
        (limit("100/h"), 1.0),
        (limit("9/day:UTC"), 1.0),
        (Limit("ffmpeg", max_running=2), 1.0),
        (limit("20/s", hold=0.25), 0.25),
        (limit("20/s", hold=0.0), 0.0),
    ],
)
def test_a_permit_may_be_held_for_a_second_or_a_sixtieth_of_the_shortest_window(
    gemini: Limit, seconds: float
) -> None:
    assert gemini.hold_seconds == seconds


@pytest.mark.parametrize(("factor", "allowed"), [(1.0, 15), (0.5, 7), (0.001, 1)])
def test_the_rate_factor_scales_the_count_but_leaves_room_for_one(
    factor: float, allowed: int
) -> None:
    gemini = Limit("gemini", (Window(15, 60.0),), rate_factor=factor)

    assert gemini.allowance(gemini.windows[0]) == allowed


def test_a_slowed_window_still_takes_a_request_that_fits_the_whole_of_it() -> None:
    gemini = Limit("gemini", (Window(1000, 60.0, "tokens"),), rate_factor=0.5)

    assert gemini.allowance(gemini.windows[0], 900) == 900
