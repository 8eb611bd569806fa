"""The provider as a site: the protocol of OpenAI around a deterministic writer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from dure_sandbox.ai.composing import Composer, SchemaRefused
from dure_sandbox.ai.embedding import embedding, packed
from dure_sandbox.ai.quota import Limits, Quota, span_text
from dure_sandbox.ai.reading_text import source_of, summary
from dure_sandbox.ai.refusals import OPENAI, Refusal, refusal_with, written
from dure_sandbox.ai.tokens import tokens_of
from dure_sandbox.exchange import Request, Response, json_bytes
from dure_sandbox.lots import mixed, number_of

MODELS: Final = ("sandbox-large", "sandbox-mini", "sandbox-embedding")
CONTEXT_TOKENS_MAX: Final = 128_000
DIMENSIONS_USUAL: Final = 1536
INPUTS_MAX: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class AiOptions:
    limits: Limits = field(default_factory=Limits)
    models: tuple[str, ...] = ()
    """Which models there are; empty: any name will do."""
    keys: tuple[str, ...] = ()
    """Which API keys are good; empty: any but none."""


class Wrong(Exception):
    """A request that is answered with an error."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Ai:
    name = "ai"

    def __init__(self, seed: int, options: AiOptions) -> None:
        self._seed = mixed(seed, 0xA1)
        self._options = options
        self._quota = Quota(options.limits)

    def answer(self, request: Request, now: float) -> Response:
        number = mixed(self._seed, number_of(request.body), int(now * 1000))
        try:
            key = self._key_of(request)
            match request.method, request.path.removeprefix("/v1").strip("/").split("/"):
                case "GET", ["models"]:
                    listed = [_model(each) for each in self._options.models or MODELS]
                    return json_bytes(msgspec.json.encode({"object": "list", "data": listed}))
                case "GET", ["models", name]:
                    self._check_model(name)
                    return json_bytes(msgspec.json.encode(_model(name)))
                case "POST", ["chat", "completions"]:
                    return self._chat(_asked(request), key, number, now)
                case "POST", ["embeddings"]:
                    return self._embed(_asked(request), key, number, now)
        except Wrong as wrong:
            return written(wrong.refusal, "openai", number)
        return written(
            _invalid(f"Invalid URL ({request.method} {request.path})", status=404), "openai", number
        )

    def refuse(self, status: int) -> Response:
        return refusal_with(status, "openai")

    def _key_of(self, request: Request) -> str:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise Wrong(_UNKEYED)
        if self._options.keys and key.strip() not in self._options.keys:
            raise Wrong(OPENAI["unauthorized"])
        return key.strip()

    def _check_model(self, name: object) -> str:
        if not isinstance(name, str) or not name:
            raise Wrong(_invalid("you must provide a model parameter", "model"))
        if self._options.models and name not in self._options.models:
            sentence = f"The model `{name}` does not exist or you do not have access to it."
            raise Wrong(_invalid(sentence, "model", status=404, code="model_not_found"))
        return name

    def _chat(self, asked: dict[str, Any], key: str, number: int, now: float) -> Response:
        model = self._check_model(asked.get("model"))
        prompt = _prompt(asked.get("messages"))
        if asked.get("stream"):
            raise Wrong(_invalid("This endpoint does not stream.", "stream"))
        spent = tokens_of(prompt)
        if spent > CONTEXT_TOKENS_MAX:
            raise Wrong(_too_long(spent))
        content = self._content(asked.get("response_format"), asked["messages"], prompt)
        most = asked.get("max_completion_tokens") or asked.get("max_tokens")
        reason = "stop"
        written_tokens = tokens_of(content)
        if isinstance(most, int) and 0 < most < written_tokens:
            content, reason = content[: len(content) * most // written_tokens], "length"
            written_tokens = most
        headers = self._take(key, model, spent + written_tokens, number, now)
        if isinstance(headers, Response):
            return headers
        body = {
            "id": f"chatcmpl-{number:016x}",
            "object": "chat.completion",
            "created": int(now),
            "model": model,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": content, "refusal": None},
                    "logprobs": None,
                    "finish_reason": reason,
                }
            ],
            "usage": {
                "prompt_tokens": spent,
                "completion_tokens": written_tokens,
                "total_tokens": spent + written_tokens,
            },
            "system_fingerprint": "fp_sandbox",
        }
        return json_bytes(msgspec.json.encode(body)).with_headers(*headers)

    def _content(self, form: object, messages: list[Any], prompt: str) -> str:
        """What the model writes: prose, or JSON under the schema that was given."""
        said = [_text_of(each.get("content")) for each in messages if each.get("role") == "user"]
        source = source_of(max(said, key=len, default="") or prompt)
        match form:
            case None | {"type": "text"}:
                return summary(source, 3)
            case {"type": "json_object"}:
                schema: Mapping[str, Any] = {"properties": {"answer": {"type": "string"}}}
            case {"type": "json_schema", "json_schema": {"schema": dict() as given} as outer}:
                schema = given
                if outer.get("strict"):
                    _check_strict(given, outer.get("name", "answer"))
            case _:
                raise Wrong(_invalid("Invalid value for 'response_format'.", "response_format"))
        seed = mixed(self._seed, number_of(prompt.encode()))
        try:
            return msgspec.json.encode(Composer(schema, source, seed).answer()).decode()
        except SchemaRefused as error:
            raise Wrong(_invalid(str(error), "response_format")) from error

    def _embed(self, asked: dict[str, Any], key: str, number: int, now: float) -> Response:
        model = self._check_model(asked.get("model"))
        given = asked.get("input")
        texts = [given] if isinstance(given, str) else given
        if (
            not isinstance(texts, list)
            or not 0 < len(texts) <= INPUTS_MAX
            or not all(isinstance(each, str) and each for each in texts)
        ):
            raise Wrong(_invalid("'input' must be one text or up to 2048 texts.", "input"))
        dimensions = asked.get("dimensions", DIMENSIONS_USUAL)
        if not isinstance(dimensions, int) or not 1 <= dimensions <= 4096:
            raise Wrong(_invalid("'dimensions' must be from 1 to 4096.", "dimensions"))
        spent = sum(tokens_of(each) for each in texts)
        headers = self._take(key, model, spent, number, now)
        if isinstance(headers, Response):
            return headers
        vectors = [embedding(each, dimensions) for each in texts]
        is_packed = asked.get("encoding_format") == "base64"
        body = {
            "object": "list",
            "data": [
                {
                    "object": "embedding",
                    "index": place,
                    "embedding": packed(vector) if is_packed else vector,
                }
                for place, vector in enumerate(vectors)
            ],
            "model": model,
            "usage": {"prompt_tokens": spent, "total_tokens": spent},
        }
        return json_bytes(msgspec.json.encode(body)).with_headers(*headers)

    def _take(
        self, key: str, model: str, tokens: int, number: int, now: float
    ) -> tuple[tuple[str, str], ...] | Response:
        """Spend a request and its tokens: the headers of a good answer, or the 429."""
        verdict = self._quota.take(key, tokens, now)
        headers = (("x-request-id", f"req_{number:016x}"), *verdict.headers)
        if verdict.exceeded is None:
            return headers
        subject = "tokens" if verdict.exceeded == "TPM" else "requests"
        span = "day" if verdict.exceeded == "RPD" else "min"
        sentence = (
            f"Rate limit reached for {model} in organization org-sandbox on {subject} per {span} "
            f"({verdict.exceeded}). Please try again in {span_text(verdict.wait_seconds)}."
        )
        refusal = Refusal(status=429, kind=subject, code="rate_limit_exceeded", message=sentence)
        waits = (
            ("retry-after", str(max(1, -int(-verdict.wait_seconds // 1)))),
            ("retry-after-ms", str(round(verdict.wait_seconds * 1000))),
        )
        return written(refusal, "openai", number).with_headers(*waits, *verdict.headers)


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 1_767_225_600, "owned_by": "sandbox"}


def _invalid(
    sentence: str, param: str | None = None, *, status: int = 400, code: str | None = None
) -> Refusal:
    return Refusal(
        status=status, kind="invalid_request_error", code=code, message=sentence, param=param
    )


_UNKEYED: Final = _invalid(
    "You didn't provide an API key. You need to provide your API key in an Authorization header "
    "using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    status=401,
)


def _too_long(spent: int) -> Refusal:
    sentence = (
        f"This model's maximum context length is {CONTEXT_TOKENS_MAX} tokens. However, your "
        f"messages resulted in {spent} tokens. Please reduce the length of the messages."
    )
    return _invalid(sentence, "messages", code="context_length_exceeded")


def _asked(request: Request) -> dict[str, Any]:
    try:
        asked = msgspec.json.decode(request.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        asked = None
    if not isinstance(asked, dict):
        raise Wrong(_invalid("We could not parse the JSON body of your request."))
    return asked


def _prompt(messages: object) -> str:
    if not isinstance(messages, list) or not messages:
        raise Wrong(OPENAI["bad_request"])
    if not all(isinstance(each, dict) and isinstance(each.get("role"), str) for each in messages):
        raise Wrong(OPENAI["bad_request"])
    return "\n".join(_text_of(each.get("content")) for each in messages)


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(each.get("text", "")) for each in content if isinstance(each, dict))
    return ""


def _check_strict(schema: Mapping[str, Any], name: str) -> None:
    """What strict mode demands of every object: all required, nothing else allowed."""
    for place, part in _objects(schema, ()):
        if part.get("additionalProperties") is not False:
            complaint = "'additionalProperties' is required to be supplied and to be false."
        elif set(part.get("properties", {})) - set(part.get("required", [])):
            missing = next(p for p in part["properties"] if p not in part.get("required", []))
            complaint = (
                "'required' is required to be supplied and to be an array including every key "
                f"in properties. Missing '{missing}'."
            )
        else:
            continue
        context = ", ".join(repr(each) for each in place)
        raise Wrong(
            _invalid(
                f"Invalid schema for response_format '{name}': In context=({context}), {complaint}",
                "response_format",
            )
        )
    if schema.get("type") != "object":
        raise Wrong(
            _invalid(
                f"Invalid schema for response_format '{name}': schema must be a JSON Schema of "
                f"'type: \"object\"', got 'type: \"{schema.get('type')}\"'.",
                "response_format",
            )
        )


def _objects(
    schema: object, place: tuple[str, ...]
) -> list[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Every object schema in a schema, with where it stands."""
    if isinstance(schema, list):
        return [found for part in schema for found in _objects(part, place)]
    if not isinstance(schema, Mapping):
        return []
    found = [(place, schema)] if isinstance(schema.get("properties"), Mapping) else []
    for name, part in schema.items():
        if name not in {"enum", "const", "required", "type", "description"}:
            found += _objects(part, (*place, name))
    return found
