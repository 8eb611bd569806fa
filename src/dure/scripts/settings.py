"""The settings people changed while everything runs: stored as text, checked, audited.

What is not stored here has its default. A change is checked together with all others, so
two that contradict each other cannot both be stored, not even by two people at once.
"""

from collections.abc import Mapping
from typing import NamedTuple

from dure.core.errors import NotFound, SettingInvalid
from dure.core.settings import Value, check, parse, setting_of
from dure.ports.rows import Query, Row
from dure.ports.store import Script
from dure.scripts import audit
from dure.scripts.control import bump, version

__all__ = ["Override", "overrides", "set_", "unset", "version"]


class Override(NamedTuple):
    """A setting that is not at its default: the text somebody gave, and who and when."""

    value: str
    by: str
    at: float


def overrides() -> Script[dict[str, Override]]:
    """Every stored setting by its key, including keys this release does not know."""
    return _overrides((yield Query("settings_all")))


def set_(key: str, value_text: str, *, by: str, reason: str, now: float) -> Script[Value]:
    """Store a setting and return its value. Raises SettingInvalid."""
    value = parse(key, value_text)
    present = yield from _locked()
    _refuse_contradictions({**_values(present), key: value})
    text = setting_of(key).show(value)
    yield Query("setting_put", {"key": key, "value": text, "by": by, "at": now})
    before = present[key].value if key in present else None
    yield from audit.add(
        "setting.set", key, by=by, reason=reason, now=now, before=before, after=text
    )
    yield from bump()
    return value


def unset(key: str, *, by: str, reason: str, now: float) -> Script[None]:
    """Go back to the default. Raises NotFound when it is in force already."""
    present = yield from _locked()
    if key not in present:
        default = setting_of(key)
        raise NotFound(
            f"The setting {key!r} is not set.", f"It is {default.show(default.default)} already."
        )
    rest = {other: stored for other, stored in present.items() if other != key}
    _refuse_contradictions(_values(rest))
    yield Query("setting_remove", {"key": key})
    yield from audit.add(
        "setting.unset", key, by=by, reason=reason, now=now, before=present[key].value
    )
    yield from bump()


def _locked() -> Script[dict[str, Override]]:
    """What is stored, while nobody else can change a setting.

    The control row stands for all of them, also for those that have no row yet. It is
    locked first here; that is safe because nothing but settings is locked after it.
    """
    yield Query("control_lock")
    return (yield from overrides())


def _values(stored: Mapping[str, Override]) -> dict[str, Value]:
    """The values this release can read; another release may have stored others."""
    values: dict[str, Value] = {}
    for key, override in stored.items():
        try:
            values[key] = parse(key, override.value)
        except SettingInvalid:
            continue
    return values


def _refuse_contradictions(values: Mapping[str, Value]) -> None:
    problems = check(values)
    if problems:
        raise SettingInvalid(" ".join(problems))


def _overrides(rows: list[Row]) -> dict[str, Override]:
    return {row["key"]: Override(row["value"], row["by"], row["at"]) for row in rows}
