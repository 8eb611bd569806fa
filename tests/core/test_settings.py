"""X17: settings are read strictly, and what contradicts itself is named before it does harm."""

import pytest
from hypothesis import given, strategies as st

from dure.core.errors import SettingInvalid
from dure.core.settings import SETTINGS, Form, Setting, Value, check, defaults, parse, setting_of

ALL = list(SETTINGS.values())
NUMBERS = [setting for setting in ALL if setting.form is not Form.CHOICE]
KEYS = pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting.key)


def test_every_setting_with_its_default_and_bounds() -> None:
    """X17"""
    told = {each.key: (each.show(each.default), each.bounds) for each in ALL}

    assert told == {
        "worker.slots": ("100", "1..10000 jobs"),
        "worker.claim_max": ("500", "1..5000 jobs"),
        "worker.claim_min": ("50", "1..5000 jobs"),
        "worker.lease": ("15s", "1s..1h"),
        "worker.beat": ("5s", "0.1s..20m"),
        "worker.grace": ("30s", "0s..1h"),
        "history.keep": ("14d", "1h..3650d"),
        "lane.cap_default": ("0", "0..100000 jobs"),
        "lane.failures_max_default": ("0", "0..10000 failures"),
        "queue.length_max": ("0", "0..1000000000 jobs"),
        "scan.interval": ("1s", "0.05s..1m"),
        "sweep.interval": ("5s", "0.1s..10m"),
        "promote.interval": ("1s", "0.05s..10m"),
        "log.level": ("info", "debug, info, warning, error"),
    }


@KEYS
def test_every_setting_says_in_a_sentence_why_one_would_change_it(setting: Setting) -> None:
    """X17"""
    assert setting.why.endswith(".")
    assert len(setting.why.split()) > 5


@KEYS
def test_every_default_is_admitted_and_survives_being_shown(setting: Setting) -> None:
    """X17"""
    assert setting.admits(setting.default)
    assert setting.default == parse(setting.key, setting.show(setting.default))


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("worker.slots", "250", 250),
        ("worker.slots", " 1_000 ", 1000),
        ("worker.lease", "1m30s", 90.0),
        ("worker.lease", "20", 20.0),
        ("worker.grace", "0s", 0.0),
        ("history.keep", "2w", 1209600.0),
        ("log.level", " Debug ", "debug"),
    ],
)
def test_a_text_becomes_a_value(key: str, text: str, value: Value) -> None:
    """X17"""
    read = parse(key, text)

    assert value == read
    assert type(value) is type(read)


@pytest.mark.parametrize("setting", NUMBERS, ids=lambda setting: setting.key)
def test_both_bounds_are_accepted_and_nothing_beyond_them(setting: Setting) -> None:
    """X17"""
    assert setting.low == parse(setting.key, setting.show(setting.low))
    assert setting.high == parse(setting.key, setting.show(setting.high))
    assert not setting.admits(setting.low - 1)
    assert not setting.admits(setting.high + 1)


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        (
            "worker.slots",
            "0",
            "worker.slots cannot be '0'. It accepts 1..10000 jobs.",
        ),
        (
            "worker.lease",
            "2h",
            "worker.lease cannot be '2h'. It accepts 1s..1h.",
        ),
        (
            "log.level",
            "loud",
            "log.level cannot be 'loud'. It accepts debug, info, warning, error.",
        ),
        (
            "worker.slots",
            "1.5",
            (
                "worker.slots is a count, and '1.5' cannot be read as one. "
                "Write something like 100; it accepts 1..10000 jobs."
            ),
        ),
        (
            "worker.lease",
            "-5s",
            (
                "worker.lease is a duration, and '-5s' cannot be read as one. "
                "Write something like 15s; it accepts 1s..1h."
            ),
        ),
        (
            "worker.slot",
            "5",
            "There is no setting 'worker.slot'. The nearest known name is 'worker.slots'.",
        ),
    ],
)
def test_a_refused_text_says_what_is_wrong_and_what_to_write(
    key: str, text: str, message: str
) -> None:
    """X17"""
    with pytest.raises(SettingInvalid) as refused:
        parse(key, text)

    assert message == str(refused.value)


@given(st.text(max_size=30))
def test_any_unknown_key_leads_to_a_known_one(key: str) -> None:
    """X17"""
    with pytest.raises(SettingInvalid) as refused:
        setting_of(f"{key}?")

    assert any(repr(known) in refused.value.hint for known in SETTINGS)


@given(st.sampled_from(ALL), st.text(max_size=10))
def test_a_text_is_read_as_an_admitted_value_or_refused_by_name(
    setting: Setting, text: str
) -> None:
    """X17"""
    try:
        value = parse(setting.key, text)
    except SettingInvalid as refused:
        message = refused.message
    else:
        message = setting.key
        assert setting.admits(value)

    assert message.startswith(setting.key)


@given(st.data())
def test_every_admitted_number_survives_being_shown(data: st.DataObject) -> None:
    """X17"""
    setting = data.draw(st.sampled_from(NUMBERS))
    low, high = setting.low, setting.high
    value: Value = data.draw(
        st.integers(int(low), int(high))
        if setting.form is Form.COUNT
        else st.floats(min_value=low, max_value=high).map(lambda seconds: round(seconds, 3))
    )

    assert value == parse(setting.key, setting.show(value))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("worker.slots", True),
        ("worker.slots", 5.0),
        ("worker.slots", "5"),
        ("worker.lease", "15s"),
        ("worker.lease", float("nan")),
        ("worker.lease", True),
        ("log.level", 1),
    ],
)
def test_a_value_of_another_type_is_not_admitted(key: str, value: Value) -> None:
    """X17: what another version of the program has stored is not believed."""
    assert not SETTINGS[key].admits(value)


def test_the_defaults_contradict_nothing() -> None:
    """X17"""
    assert check({}) == []
    assert check(defaults()) == []


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (
            {"worker.beat": 5.1},
            (
                "worker.lease (15s) must be at least 3 times worker.beat (5.1s), or a late beat "
                "costs a worker its jobs: raise the lease or lower the beat."
            ),
        ),
        (
            {"worker.claim_min": 501},
            (
                "worker.claim_min (501) must not exceed worker.claim_max (500): "
                "lower the first or raise the second."
            ),
        ),
        (
            {"worker.slots": 0, "worker.beat": 6.0},
            "worker.slots cannot be 0. It accepts 1..10000 jobs.",
        ),
        (
            {"worker.lease": float("inf")},
            "worker.lease cannot be inf. It accepts 1s..1h.",
        ),
        (
            {"worker.slots": "5"},
            "worker.slots cannot be '5'. It accepts 1..10000 jobs.",
        ),
        (
            {"worker.slot": 5},
            "There is no setting 'worker.slot'. The nearest known name is 'worker.slots'.",
        ),
    ],
)
def test_a_set_of_values_is_checked_as_a_whole(values: dict[str, Value], problem: str) -> None:
    """X17"""
    assert [problem] == check(values)


def test_values_that_just_fit_together_contradict_nothing() -> None:
    """X17"""
    fitting: dict[str, Value] = {
        "worker.lease": 30.0,
        "worker.beat": 10.0,
        "worker.claim_min": 70,
        "worker.claim_max": 70,
        "history.keep": 86400.0,
    }

    assert check(fitting) == []


def test_every_contradiction_is_told() -> None:
    """X17"""
    values: dict[str, Value] = {
        "worker.lease": 5.0,
        "worker.claim_max": 10,
    }

    assert len(check(values)) == 2
