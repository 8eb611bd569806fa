"""Settings of an application from environment variables."""

from dataclasses import dataclass

import pytest

from dure.core.errors import ConfigError
from dure.engine.environment import from_environment


@dataclass(frozen=True)
class Settings:
    rate: float = 1.0
    pages: int = 2
    words: tuple[str, ...] = ("a",)
    key: str = ""


def read(**given: str) -> Settings:
    return from_environment(Settings, "APP_", {f"APP_{name}": text for name, text in given.items()})


def test_what_is_given_is_read_by_its_type_and_the_rest_keeps_its_default() -> None:
    read_ = read(RATE="2.5", WORDS="x, y ,")

    assert Settings(rate=2.5, words=("x", "y")) == read_
    assert Settings() == from_environment(Settings, "APP_", {"HOME": "/"})


def test_a_misspelt_variable_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match="APP_PAGES"):
        read(PAGE="3")


def test_a_value_of_the_wrong_type_is_refused_without_being_shown() -> None:
    with pytest.raises(ConfigError, match="APP_PAGES cannot be read") as refused:
        read(PAGES="secret")

    assert "secret" not in str(refused.value)
