"""An application's settings from environment variables: a dataclass field is a variable."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from typing import Any, TypeVar, get_origin, get_type_hints

import msgspec

from dure.core.errors import ConfigError

T = TypeVar("T")


def from_environment(settings: type[T], prefix: str, environment: Mapping[str, str]) -> T:
    """Settings as `PREFIX_NAME` variables give them; what is not given has its default.

    Lists are separated by commas. An unknown variable with the prefix is refused: a setting
    that is misspelt must not silently keep its default. Raises ConfigError, which names the
    variable and never shows its value, for it may be a secret.
    """
    assert is_dataclass(settings), "settings are a dataclass"
    hints = get_type_hints(settings)
    known = {f"{prefix}{field.name.upper()}": field.name for field in fields(settings)}
    given: dict[str, Any] = {}
    for variable in sorted(environment):
        if not variable.startswith(prefix):
            continue
        name = known.get(variable)
        if name is None:
            nearest = get_close_matches(variable, known, n=1, cutoff=0.0)[0]
            raise ConfigError(
                f"There is no setting {variable}.", f"The nearest known one is {nearest}."
            )
        given[name] = _read(variable, environment[variable], hints[name])
    made: T = settings(**given)
    return made


def _read(variable: str, text: str, wanted: Any) -> Any:
    value: object = text
    if get_origin(wanted) in {tuple, list}:
        value = [part.strip() for part in text.split(",") if part.strip()]
    try:
        return msgspec.convert(value, wanted, strict=False)
    except msgspec.ValidationError as error:
        why = str(error).partition(" - at")[0].rstrip(".")
        raise ConfigError(f"{variable} cannot be read: {why}.") from None
