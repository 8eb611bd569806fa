"""Reading an answer: JSON out of a text, a value of the prompt's type, and the prompt's check."""

import re
from typing import Final, TypeVar

import msgspec

from dure.ai.prompt import Prompt

T = TypeVar("T")

TEXT_MAX: Final = 1_000_000
"""Characters of an answer that are read."""
_FENCE: Final = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)


class Slip(ValueError):
    """The model did not keep to the schema, or to the prompt's own check."""


def read(prompt: Prompt[T], text: str) -> T:
    """The value an answer stands for. Raises Slip saying what is wrong with it."""
    if len(text) > TEXT_MAX:
        raise Slip(f"the answer has {len(text)} characters, over {TEXT_MAX}")
    fenced = _FENCE.match(text)
    try:
        value = msgspec.json.decode(fenced[1] if fenced else text, type=prompt.answer)
    except msgspec.ValidationError as error:
        raise Slip(f"the answer does not fit the schema of {prompt.label}: {error}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise Slip(f"the answer to {prompt.label} is not JSON: {error}") from error
    wrong = prompt.check(value) if prompt.check is not None else None
    if wrong:
        raise Slip(f"the answer to {prompt.label} is not right: {wrong}")
    return value
