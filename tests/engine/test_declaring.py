"""What a kind may say of itself; all else is refused when it is declared."""

from typing import Any

import pytest

import dure
from dure.core.errors import DureError


async def handler() -> None:
    """Never runs."""


@pytest.mark.parametrize(
    "terms",
    [
        {"retry": 0},
        {"retry": -3},
        {"retry": "often"},
        {"timeout": 0},
        {"timeout": "soon"},
        {"max_running": 0},
        {"max_running": -1},
        {"queue_max": 0},
        {"tokens": -1},
        {"lane": ""},
        {"breaker": ""},
        {"limits": ""},
        {"priority": 9},
        {"retry_priority": 9},
        {"errors": {"ValueError": dure.Fail()}},
        {"errors": {ValueError: "fail"}},
        {"timout": 3},
        {"uses": "gpu"},
        {"run": "fiber"},
    ],
)
def test_terms_that_make_no_sense_are_refused_at_once(terms: dict[str, Any]) -> None:
    """X4 X6 X14"""
    app = dure.App(":memory:")

    with pytest.raises(DureError):
        app.kind(**terms)(handler)

    assert {} == app.kinds


def test_a_chunk_cannot_be_larger_than_anything_that_waits() -> None:
    async def many(items: list[int]) -> None:
        """Never runs."""

    with pytest.raises(DureError, match="chunk must be"):
        dure.App(":memory:").chunk(10**12)(many)


@pytest.mark.parametrize(
    "terms",
    [
        {"retry": 1},
        {"retry": dure.RetryPolicy.of(3)},
        {"timeout": None},
        {"errors": {ValueError: dure.Fail(), KeyError: lambda _: dure.Skip("gone")}},
        {"priority": dure.Priority.LOW, "retry_priority": dure.Priority.HIGH},
    ],
)
def test_terms_that_make_sense_are_taken(terms: dict[str, Any]) -> None:
    kind = dure.App(":memory:").kind(**terms)(handler)

    assert "handler" == kind.name
