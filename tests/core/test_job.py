"""A job as a value: what its unique key is called and how long it is taken."""

from itertools import product
from typing import Any

import pytest

from dure.core.job import FOREVER, Options, Unique

NOW = 1_700_000_030.0


def test_a_key_is_taken_while_its_job_is_unfinished_for_a_period_or_forever() -> None:
    """X2"""
    plain, hourly = Unique(key="k"), Unique(key="k", period="1h")

    assert plain.until(NOW) is None
    assert 1_700_002_800.0 == hourly.until(NOW)
    assert FOREVER == Unique(key="k", forever=True).until(NOW)


def test_a_key_cannot_be_taken_for_a_period_and_forever() -> None:
    with pytest.raises(ValueError, match="not both"):
        Unique(key="k", period="1d", forever=True)


def test_keys_of_different_scopes_and_names_never_meet() -> None:
    """X2: a colon in a name is told from the one after it."""
    names = ["a", "a:b", "a%3Ab", "a%", ":"]
    keys = ["c", "b:c", ":c", "a:c"]
    scopes = ["kind", "lane"]

    stored = {
        Unique(key=key, scope=scope).stored(kind=name, lane=name)
        for scope, name, key in product(scopes, names, keys)
    }

    assert len(scopes) * len(names) * len(keys) == len(stored)


def test_a_unique_key_survives_being_written_down() -> None:
    for unique in (Unique(key="k", forever=True), Unique(key="k", scope="lane", period=60.0)):
        how = Options(unique=unique)

        assert how == Options.from_dict(how.to_dict())


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"priority": 9}, "Priority"),
        ({"delay": float("nan")}, "delay"),
        ({"delay": float("inf")}, "delay"),
        ({"at": float("nan")}, "at"),
        ({"at": float("inf")}, "at"),
        ({"tokens": -1}, "tokens"),
        ({"epoch": 2**63}, "epoch"),
        ({"parent": -1}, "parent"),
        ({"batch": 2**70}, "batch"),
    ],
)
def test_a_job_refuses_what_no_store_could_keep(given: dict[str, Any], word: str) -> None:
    """X2 X14: a priority out of range would make it a job of another kind."""
    with pytest.raises(ValueError, match=word):
        Options(**given)
