"""The settings that can be changed while everything runs: what each accepts, and why it exists.

Values live in the store and every node watches them. This module only says which text is
a value (`parse`), how a value is shown (`Setting.show`), and which values contradict each
other (`check`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from dure.core.duration import seconds_of, text_of
from dure.core.errors import SettingInvalid

Value = int | float | str
"""A count is an int, a duration a float of seconds (an int will do), a choice a str."""

BEATS_PER_LEASE: Final = 3
"""A worker may miss two beats in a row before anybody takes its jobs."""

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


class Form(StrEnum):
    """What a value looks like."""

    COUNT = "count"
    DURATION = "duration"
    CHOICE = "choice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: its form, its default, its bounds, and why somebody would change it."""

    key: str
    form: Form
    default: Value
    low: float = 0
    high: float = 0
    unit: str = ""
    choices: tuple[str, ...] = ()
    why: str

    @property
    def bounds(self) -> str:
        """What is accepted, as text: `1..10000 jobs`, `1s..1h`, `debug, info, warning, error`."""
        if self.form is Form.CHOICE:
            return ", ".join(self.choices)
        return f"{self.show(self.low)}..{self.show(self.high)} {self.unit}".rstrip()

    def read(self, text: str) -> Value:
        """The value a text stands for, whatever the bounds. Raises ValueError."""
        match self.form:
            case Form.COUNT:
                return int(text)
            case Form.DURATION:
                return seconds_of(text)
            case _:
                return text.strip().lower()

    def show(self, value: Value) -> str:
        """A value as text; `read` turns it back, durations to the millisecond."""
        if self.form is not Form.DURATION:
            return str(value)
        text = text_of(float(value))
        return text if seconds_of(text) == value else f"{value}s"

    def admits(self, value: Value) -> bool:
        """Whether the value has the right type and lies within the bounds."""
        match self.form:
            case Form.COUNT:
                return type(value) is int and self.low <= value <= self.high
            case Form.DURATION:
                return type(value) in {int, float} and self.low <= float(value) <= self.high
            case _:
                return value in self.choices


def _count(key: str, default: int, *, low: int = 0, high: int, unit: str, why: str) -> Setting:
    return Setting(
        key=key, form=Form.COUNT, default=default, low=low, high=high, unit=unit, why=why
    )


def _duration(key: str, default: float, *, low: float, high: float, why: str) -> Setting:
    return Setting(key=key, form=Form.DURATION, default=float(default), low=low, high=high, why=why)


_ALL: Final = (
    _count(
        "worker.slots",
        100,
        low=1,
        high=10_000,
        unit="jobs",
        why="Raise it when handlers mostly wait for others; lower it when each needs much memory.",
    ),
    _count(
        "worker.claim_max",
        500,
        low=1,
        high=5_000,
        unit="jobs",
        why="Lower it when one node takes so much at once that the others stand idle.",
    ),
    _count(
        "worker.claim_min",
        50,
        low=1,
        high=5_000,
        unit="jobs",
        why="Lower it when jobs are long, so that a node does not hold what it cannot start.",
    ),
    _duration(
        "worker.lease",
        15,
        low=1,
        high=_HOUR,
        why="Raise it when busy or paused nodes lose jobs; lower it to notice dead nodes sooner.",
    ),
    _duration(
        "worker.beat",
        5,
        low=0.1,
        high=20 * _MINUTE,
        why="Lower it together with the lease, of which it is at most a third.",
    ),
    _duration(
        "worker.grace",
        30,
        low=0,
        high=_HOUR,
        why="Raise it when jobs are long and should end before a node stops, not be given back.",
    ),
    _duration(
        "history.keep",
        14 * _DAY,
        low=_HOUR,
        high=3_650 * _DAY,
        why="Raise it to look further back; lower it when the store grows too large.",
    ),
    _count(
        "lane.cap_default",
        0,
        high=100_000,
        unit="jobs",
        why="Set it to keep slow lanes from holding all slots; 0 means no cap.",
    ),
    _count(
        "lane.failures_max_default",
        0,
        high=10_000,
        unit="failures",
        why="Set it to disable a lane after that many failures in a row; 0 means never.",
    ),
    _count(
        "queue.length_max",
        0,
        high=1_000_000_000,
        unit="jobs",
        why="Set it to hold producers back once a lane has that many jobs waiting; 0: no bound.",
    ),
    _duration(
        "scan.interval",
        1,
        low=0.05,
        high=_MINUTE,
        why="Lower it when wake-ups get lost and jobs start late; raise it to spare an idle store.",
    ),
    _duration(
        "sweep.interval",
        5,
        low=0.1,
        high=10 * _MINUTE,
        why="Lower it to bring back the jobs of dead nodes sooner after their lease has ended.",
    ),
    _duration(
        "promote.interval",
        1,
        low=0.05,
        high=10 * _MINUTE,
        why="Lower it when delayed jobs and retries must start close to their due time.",
    ),
    Setting(
        key="log.level",
        form=Form.CHOICE,
        default="info",
        choices=("debug", "info", "warning", "error"),
        why="Set it to debug to follow single jobs, to warning when the log is too long.",
    ),
)

SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType({each.key: each for each in _ALL})
"""Every setting by its key, in the order in which they are shown."""


def defaults() -> dict[str, Value]:
    """The value of every setting nobody has changed."""
    return {key: setting.default for key, setting in SETTINGS.items()}


def setting_of(key: str) -> Setting:
    """The setting with this key. Raises SettingInvalid with the nearest known name."""
    setting = SETTINGS.get(key)
    if setting is None:
        nearest = get_close_matches(key, SETTINGS, n=1, cutoff=0.0)[0]
        raise SettingInvalid(
            f"There is no setting {key!r}.", f"The nearest known name is {nearest!r}."
        )
    return setting


def parse(key: str, text: str) -> Value:
    """The value of setting `key` that `text` stands for. Raises SettingInvalid."""
    setting = setting_of(key)
    try:
        value = setting.read(text)
    except ValueError as error:
        raise SettingInvalid(
            f"{key} is a {setting.form}, and {text!r} cannot be read as one.",
            f"Write something like {setting.show(setting.default)}; it accepts {setting.bounds}.",
        ) from error
    if not setting.admits(value):
        raise _out_of_bounds(setting, text)
    return value


def check(values: Mapping[str, Value]) -> list[str]:
    """What is wrong with these values, one sentence each; what is not given has its default.

    Values that are refused on their own are not compared with one another.
    """
    refused = [problem for key, value in values.items() if (problem := _problem(key, value))]
    return refused or _contradictions({**defaults(), **values})


def _problem(key: str, value: Value) -> str | None:
    try:
        setting = setting_of(key)
    except SettingInvalid as error:
        return str(error)
    return None if setting.admits(value) else str(_out_of_bounds(setting, value))


def _out_of_bounds(setting: Setting, value: Value) -> SettingInvalid:
    return SettingInvalid(f"{setting.key} cannot be {value!r}.", f"It accepts {setting.bounds}.")


def _contradictions(values: Mapping[str, Value]) -> list[str]:
    found: list[str] = []

    def seconds(key: str) -> float:
        return float(values[key])

    def shown(key: str) -> str:
        return f"{key} ({SETTINGS[key].show(values[key])})"

    if seconds("worker.lease") < BEATS_PER_LEASE * seconds("worker.beat"):
        found.append(
            f"{shown('worker.lease')} must be at least {BEATS_PER_LEASE} times "
            f"{shown('worker.beat')}, or a late beat costs a worker its jobs: raise the lease "
            "or lower the beat."
        )
    if seconds("worker.claim_min") > seconds("worker.claim_max"):
        found.append(
            f"{shown('worker.claim_min')} must not exceed {shown('worker.claim_max')}: "
            "lower the first or raise the second."
        )
    return found
