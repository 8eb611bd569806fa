"""Schemas are checked against what every provider accepts, before anything is sent."""

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import pytest

from dure.ai import Prompt, schema
from dure.ai.estimate import Ratio, raw
from dure.core.errors import ConfigError


@dataclass
class Inner:
    label: Literal["a", "b"]
    score: Annotated[float, msgspec.Meta(ge=0, le=1, description="how sure")]


class Outer(msgspec.Struct):
    inner: list[Inner]
    note: str | None = None


def test_a_type_becomes_a_schema_without_references_and_with_everything_required() -> None:
    """A6"""
    made = schema.derive(Outer)

    assert "$ref" not in str(made)
    assert ["inner", "note"] == made["required"]
    item = made["properties"]["inner"]["items"]
    assert item["additionalProperties"] is False
    assert "how sure; at least 0; at most 1" == item["properties"]["score"]["description"]
    assert [] == schema.problems(made)


class Tree(msgspec.Struct):
    children: list["Tree"]


class Loose(msgspec.Struct):
    anything: dict[str, int]


class Either(msgspec.Struct):
    value: int | str


class Wide(msgspec.Struct):
    rows: list[list[list[list[list[int]]]]]


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (Tree, "contains itself"),
        (Loose, "free mapping"),
        (Either, "one type and null"),
        (Wide, "deeper than 5"),
        (int, "root must be an object"),
        (type("Plain", (), {}), "no JSON schema"),
    ],
)
def test_what_a_provider_would_refuse_is_refused_first(answer: type, complaint: str) -> None:
    """A6"""
    with pytest.raises(ConfigError, match=complaint):
        Prompt("P", version=1, answer=answer)


def test_too_many_values_and_properties_are_counted() -> None:
    many = {"type": "string", "enum": [str(n) for n in range(1001)]}
    root = {
        "type": "object",
        "properties": {"x": many},
        "required": ["x"],
        "additionalProperties": False,
    }

    assert ["1001 enumerated values, allowed are 1000"] == schema.problems(root)


@pytest.mark.parametrize(("field", "value"), [("version", -1), ("output_max", 0), ("name", "")])
def test_a_prompt_out_of_bounds_is_refused(field: str, value: object) -> None:
    given = {"name": "P", "version": 1, "answer": Outer, field: value}

    with pytest.raises(ConfigError):
        Prompt(**given)  # type: ignore[arg-type]


def test_an_estimate_learns_what_calls_really_take() -> None:
    """X8"""
    assert raw("가나다라") > raw("abcd") > raw("    ")
    ratio = Ratio()
    for actual in (190, 210, 200, 205, 195) * 20:
        ratio = ratio.learn(100.0, actual)

    assert 195 <= 100 * ratio.mean <= 205
    assert 200 <= ratio.reserve(100.0) <= 225
    assert ratio == ratio.learn(0.0, 10)
