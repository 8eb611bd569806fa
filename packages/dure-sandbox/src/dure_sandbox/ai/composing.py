"""Answers that are valid under a JSON schema, made from the text of the prompt.

Names say what a field wants: a `summary` gets sentences, a `term` a word, `choices` several words
of which the `answer` is one. Everything is bound by the schema: types, enums, lengths, counts.
"""

from collections.abc import Mapping
from typing import Any, Final

from dure_sandbox.ai.reading_text import Source, about, summary
from dure_sandbox.lots import mixed

DEPTH_MAX: Final = 12
_FORMATS: Final = {
    "date": "2026-01-02",
    "time": "09:00:00Z",
    "date-time": "2026-01-02T09:00:00Z",
    "email": "reader@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
    "hostname": "example.com",
}


class SchemaRefused(Exception):
    """The schema asks for something that this provider does not do, or contradicts itself."""


Schema = Mapping[str, Any]


class Composer:
    """Writes one answer."""

    def __init__(self, root: Schema, source: Source, seed: int) -> None:
        self._root = root
        self._source = source
        self._seed = seed
        self._written = 0

    def answer(self) -> object:
        return self._value(self._root, "answer", self._seed % 3, 0)

    def _value(self, schema: Schema, name: str, place: int, depth: int) -> object:
        """A value for a field of that name, the place-th among its siblings."""
        if depth > DEPTH_MAX:
            raise SchemaRefused(f"The schema is nested deeper than {DEPTH_MAX} levels.")
        schema = self._followed(schema)
        self._written += 1
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            options = schema["enum"]
            return options[mixed(self._seed, self._written) % len(options)]
        for several in ("anyOf", "oneOf"):
            if several in schema:
                full = [s for s in schema[several] if self._followed(s).get("type") != "null"]
                return self._value((full or schema[several])[0], name, place, depth + 1)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = next((each for each in kind if each != "null"), "null")
        match kind:
            case "object":
                return self._object(schema, place, depth)
            case "array":
                return self._array(schema, name, depth)
            case "string":
                return self._string(schema, name, place)
            case "integer" | "number":
                return self._number(schema, name, is_whole=kind == "integer")
            case "boolean":
                return mixed(self._seed, self._written) % 2 == 0
            case "null":
                return None
        raise SchemaRefused(f"The schema has a type {kind!r}, which is none of JSON's.")

    def _followed(self, schema: Schema) -> Schema:
        for _ in range(DEPTH_MAX):
            if "$ref" not in schema:
                return schema
            place: Any = self._root
            for part in str(schema["$ref"]).removeprefix("#").strip("/").split("/"):
                if part:
                    place = place.get(part) if isinstance(place, Mapping) else None
            if not isinstance(place, Mapping):
                raise SchemaRefused(f"The schema refers to {schema['$ref']}, which is not there.")
            schema = place
        raise SchemaRefused("The schema refers to itself without end.")

    def _object(self, schema: Schema, place: int, depth: int) -> dict[str, object]:
        """Its fields share a place, so that they are about the same term."""
        made: dict[str, object] = {}
        for name, part in schema.get("properties", {}).items():
            made[name] = self._value(part, name, place, depth + 1)
        self._agree(schema, made, place)
        return made

    def _agree(self, schema: Schema, made: dict[str, object], place: int) -> None:
        """The answer of a question is the choice it is about, where its own schema allows that."""
        choices = made.get("choices", made.get("options"))
        if not isinstance(choices, list) or not choices:
            return
        place %= len(choices)
        for name, part in schema["properties"].items():
            if "answer" not in name and "correct" not in name:
                continue
            followed = self._followed(part)
            kind = followed.get("type")
            wanted = place + followed.get("minimum", 0) if kind == "integer" else choices[place]
            if {"enum", "const", "pattern", "format"} & set(followed):
                continue
            if isinstance(kind, str) and _is_within(wanted, followed):
                made[name] = wanted

    def _array(self, schema: Schema, name: str, depth: int) -> list[object]:
        least = schema.get("minItems", 0)
        usual = 4 if name in {"choices", "options"} else 3
        count = max(least, min(usual, schema.get("maxItems", usual)))
        items = schema.get("items", {"type": "string"})
        singular = name.removesuffix("s") or name
        made = [self._value(items, singular, place, depth + 1) for place in range(count)]
        if name in {"choices", "options"} or schema.get("uniqueItems"):
            followed = self._followed(items)
            if followed.get("type") == "string" and not {"enum", "const", "format"} & set(followed):
                _tell_apart(made, followed.get("maxLength"))
        return made

    def _string(self, schema: Schema, name: str, place: int) -> str:
        if "pattern" in schema:
            raise SchemaRefused("The schema has a pattern, which this provider does not follow.")
        if schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        text = self._words(name, place)
        text = text[: schema.get("maxLength", len(text))]
        while text and len(text) < schema.get("minLength", 0):
            text = f"{text} {text}"
        return text[: schema["maxLength"]] if "maxLength" in schema else text

    def _words(self, name: str, place: int) -> str:
        lowered = name.lower()
        terms = self._source.terms
        term = terms[place % len(terms)]
        if any(each in lowered for each in ("summary", "content", "text", "body", "요약")):
            return summary(self._source, 3)
        if any(each in lowered for each in ("title", "headline", "insight", "point", "제목")):
            return summary(self._source, 1)[:80]
        if "question" in lowered:
            return f"다음 글과 관계가 가장 깊은 것은? “{about(self._source, term)[:120]}”"
        if any(each in lowered for each in ("defin", "descr", "expla", "mean", "reason", "quote")):
            return about(self._source, term)
        return term

    def _number(self, schema: Schema, name: str, *, is_whole: bool) -> float:
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        high = schema.get("maximum", schema.get("exclusiveMaximum", max(low + 1, 1)))
        draw = (mixed(self._seed, self._written, len(name)) >> 11) / (1 << 53)
        if is_whole:
            first = int(low) + ("exclusiveMinimum" in schema)
            last = int(high) - ("exclusiveMaximum" in schema)
            return first + int(draw * (max(last, first) - first + 1))
        return round(float(low) + float(high - low) * (0.1 + 0.8 * draw), 4)


def _is_within(value: object, schema: Schema) -> bool:
    """Whether the bounds of a string or integer schema allow the value."""
    if isinstance(value, str):
        most = schema.get("maxLength", len(value))
        fits = schema.get("minLength", 0) <= len(value) <= most
        return bool(fits and schema["type"] == "string")
    if isinstance(value, int) and schema["type"] == "integer":
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return False


def _tell_apart(made: list[object], length_max: int | None) -> None:
    """Number what is there twice, as far as its length allows."""
    for place, each in enumerate(made):
        if isinstance(each, str) and each in made[:place]:
            tail = f" {place + 1}"
            stem = each if length_max is None else each[: max(0, length_max - len(tail))]
            if length_max is None or len(tail) < length_max:
                made[place] = stem + tail
