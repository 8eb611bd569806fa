"""JSON schemas of answers: derived from types, kept to what every provider accepts.

Checked before anything is sent, because a schema outside of the strict subset fails at the
provider once for every job. The subset is the common one of OpenAI, Anthropic and Gemini;
its sizes are OpenAI's, which are the narrowest that are published.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from dure.core.errors import ConfigError

DEPTH_MAX: Final = 5
PROPERTIES_MAX: Final = 5_000
ENUM_VALUES_MAX: Final = 1_000
ENUM_LARGE: Final = 250
ENUM_LARGE_CHARACTERS_MAX: Final = 15_000
NAME_CHARACTERS_MAX: Final = 120_000

_KEPT: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf"}
)
_TOLD: Final[Mapping[str, str]] = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "pattern": "matching {}",
}
"""Limits that not every provider enforces: told in the description, checked in the answer."""
_TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})


def derive(answer: type, name: str = "") -> dict[str, Any]:
    """The strict schema of a type. Raises ConfigError where it has none."""
    try:
        (root,), parts = msgspec.json.schema_components([answer], ref_template="{name}")
    except TypeError as error:
        raise ConfigError(
            f"The answer of prompt {name!r} has no JSON schema: {error}.",
            "Use a msgspec Struct or a dataclass of texts, numbers, lists and such.",
        ) from error
    strict = _strict(root, parts, ())
    assert isinstance(strict, dict)
    return strict


def _strict(node: Any, parts: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:
        name = node["$ref"]
        if name in inside:
            raise ConfigError(
                f"The answer type {name} contains itself.", "An answer must have a fixed depth."
            )
        return _strict(parts[name], parts, (*inside, name))
    told = [text.format(node[key]) for key, text in _TOLD.items() if key in node]
    words = [node["description"]] if node.get("description") else []
    made: dict[str, Any] = {}
    for key, value in node.items():
        match key:
            case "properties":
                made[key] = {n: _strict(each, parts, inside) for n, each in value.items()}
                made["required"] = list(value)
                made["additionalProperties"] = False
            case "items":
                made[key] = _strict(value, parts, inside)
            case "anyOf":
                made[key] = [_strict(each, parts, inside) for each in value]
            case "const":
                made["enum"] = [value]
            case "required" | "title" | "default" | "description":
                pass
            case _ if key not in _TOLD:
                made[key] = value
    if made.get("type") == "object":
        made.setdefault("additionalProperties", False)
    if "enum" in made and "type" not in made:
        made["type"] = "string" if isinstance(made["enum"][0], str) else "integer"
    if words or told:
        made["description"] = "; ".join((*words, *told))
    return made


def problems(schema: Mapping[str, Any]) -> list[str]:
    """What keeps a schema out of the strict subset; empty when nothing does."""
    found: list[str] = []
    if schema.get("type") != "object":
        found.append("the root must be an object")
    names = values = properties = 0
    for path, depth, node in _walk(schema, "answer", 1):
        found.extend(_faults(path, depth, node))
        own = node.get("properties", {})
        properties += len(own)
        listed = [str(value) for value in node.get("enum", ())]
        values += len(listed)
        names += sum(map(len, own)) + sum(map(len, listed))
        if len(listed) > ENUM_LARGE and sum(map(len, listed)) > ENUM_LARGE_CHARACTERS_MAX:
            found.append(f"{path}: its enumeration has over {ENUM_LARGE_CHARACTERS_MAX} characters")
    for what, count, most in (
        ("properties", properties, PROPERTIES_MAX),
        ("enumerated values", values, ENUM_VALUES_MAX),
        ("characters in names and values", names, NAME_CHARACTERS_MAX),
    ):
        if count > most:
            found.append(f"{count} {what}, allowed are {most}")
    return found


def _faults(path: str, depth: int, node: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(node.keys() - _KEPT - {"description"}):
        yield f"{path}: {key!r} is not allowed"
    if depth > DEPTH_MAX:
        yield f"{path}: deeper than {DEPTH_MAX} levels"
    kind = node.get("type")
    if "anyOf" in node:
        others = [each for each in node["anyOf"] if each.get("type") != "null"]
        if len(others) != 1:
            yield f"{path}: a choice may only be between one type and null"
    elif kind not in _TYPES:
        yield f"{path}: the type {kind!r} says too little; any value is not allowed"
    if kind == "object":
        if node.get("additionalProperties") is not False or "properties" not in node:
            yield f"{path}: an object must list its fields; a free mapping is not allowed"
        if set(node.get("required", ())) != set(node.get("properties", ())):
            yield f"{path}: all fields must be required"
    if kind == "array" and not isinstance(node.get("items"), Mapping):
        yield f"{path}: a list must say what its items are"


def _walk(
    node: Mapping[str, Any], path: str, depth: int
) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    yield path, depth, node
    for name, each in node.get("properties", {}).items():
        yield from _walk(each, f"{path}.{name}", depth + 1)
    if isinstance(items := node.get("items"), Mapping):
        yield from _walk(items, f"{path}[]", depth + 1)
    for each in node.get("anyOf", ()):
        yield from _walk(each, path, depth)
