"""Any endpoint that speaks OpenAI's chat completions, over our own HTTP: no SDK, no retries."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from hashlib import sha256
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec

from dure.ai.classify import classify, provider_of
from dure.ai.provider import Answer, Question, Usage
from dure.ai.table.rule import PROVIDERS
from dure.core.duration import Span, seconds_of
from dure.core.errors import ConfigError
from dure.fetch import Fetcher, FetchError, FetchPolicy, Page, Timeouts
from dure.fetch.policy import Judge

BODY_MAX: Final = 8 * 1024 * 1024


class Sender(Protocol):
    """What a provider needs of HTTP: one request, whatever its answer."""

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeouts: Timeouts | None = None,
        judge: Judge | None = None,
    ) -> Page: ...


class OpenAICompatible:
    """One model behind one key: `OpenAICompatible("https://host/v1", key=..., model=...)`.

    The host decides how errors are read (`speaks` overrules that). Private addresses are
    refused unless `allow` names their network.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str,
        key: str = "",
        account: str = "",
        speaks: str = "",
        timeout: Span = "20s",
        allow: Sequence[str] = (),
        output_field: str = "max_completion_tokens",
        extra: Mapping[str, Any] | None = None,
        http: Sender | None = None,
    ) -> None:
        host = urlsplit(url).hostname
        if not host or urlsplit(url).scheme not in {"http", "https"}:
            raise ConfigError(
                f"{url!r} is no address of a provider.", "Write it like https://host/v1."
            )
        if not model:
            raise ConfigError("A provider needs the name of a model.", "Give model=...")
        if speaks and speaks not in PROVIDERS:
            raise ConfigError(f"Nobody speaks {speaks!r}.", f"Known are {', '.join(PROVIDERS)}.")
        self.url = f"{url.rstrip('/')}/chat/completions"
        self.speaks = speaks or provider_of(url)
        self._key = key
        self._model = model
        mark = sha256(key.encode()).hexdigest()[:6] if key else "open"
        self._account = account or f"{host}-{mark}"
        seconds = seconds_of(timeout)
        self._timeouts = Timeouts(
            connect=min(seconds, 10.0), first_byte=seconds, idle=seconds, total=seconds
        )
        self._policy = FetchPolicy.for_api(
            allow=tuple(allow), timeouts=self._timeouts, body_max=BODY_MAX, decoded_max=BODY_MAX
        )
        self._output_field = output_field
        self._extra = dict(extra or {})
        self._http = http
        self._open = AsyncExitStack()

    def __repr__(self) -> str:
        return f"<provider {self._account} {self._model}>"

    @property
    def account(self) -> str:
        return self._account

    @property
    def model(self) -> str:
        return self._model

    def tokens(self, usage: Usage) -> int:
        """Gemini's limit counts input only; the others count what may come out as well."""
        return usage.input if self.speaks == "gemini" else usage.total

    async def ask(self, question: Question) -> Answer:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        if question.key:
            headers["Idempotency-Key"] = question.key
        try:
            page = await (await self._sender()).send(
                "POST",
                self.url,
                headers=headers,
                body=self._body(question),
                timeouts=self._timeouts,
                judge=_any_answer,
            )
        except FetchError as error:
            if error.page is None:
                said = f"{error.code}: {error.message}"
                return Answer(verdict=classify(self.speaks, 0, {}, said))
            page = error.page
        return self._answer(page)

    def _body(self, question: Question) -> bytes:
        messages = [{"role": "user", "content": question.text}]
        if question.system:
            messages.insert(0, {"role": "system", "content": question.system})
        schema = {"name": _identifier(question.name), "strict": True, "schema": question.schema}
        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            "response_format": {"type": "json_schema", "json_schema": schema},
            self._output_field: question.output_max,
            **self._extra,
        }
        if question.temperature is not None:
            body.setdefault("temperature", question.temperature)
        return msgspec.json.encode(body)

    def _answer(self, page: Page) -> Answer:
        headers = dict(page.headers)
        verdict = classify(self.speaks, page.status, headers, page.body)
        lower = {name.lower(): value for name, value in headers.items()}
        request = lower.get("x-request-id", "")
        try:
            reply = msgspec.json.decode(page.body, type=_Reply, strict=False)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            reply = _Reply()
            if verdict is None:
                verdict = classify(self.speaks, 0, {}, "the answer is not a chat completion")
        text = (reply.choices[0].message.content or "") if reply.choices else ""
        known = reply.usage.prompt_tokens_details
        usage = Usage(
            input=max(reply.usage.prompt_tokens, 0),
            output=max(reply.usage.completion_tokens, 0),
            cached=min(max(known.cached_tokens, 0), reply.usage.prompt_tokens) if known else 0,
        )
        return Answer(
            text=text, usage=usage, model=reply.model[:200], request=request, verdict=verdict
        )

    async def _sender(self) -> Sender:
        if self._http is None:
            self._http = await self._open.enter_async_context(Fetcher(self._policy))
            self._open.callback(self._forget)
        return self._http

    def _forget(self) -> None:
        self._http = None

    async def close(self) -> None:
        """Close connections this provider opened; it may be asked again."""
        await self._open.aclose()


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message = msgspec.field(default_factory=_Message)


class _Known(msgspec.Struct):
    cached_tokens: int = 0


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Known | None = None


class _Reply(msgspec.Struct):
    """What is read of a completion; the rest is not ours."""

    choices: list[_Choice] = []
    usage: _Usage = msgspec.field(default_factory=_Usage)
    model: str = ""


def _any_answer(_: Page) -> None:
    """Every answer is one; `classify` reads it."""


def _identifier(name: str) -> str:
    """A schema's name as providers accept it."""
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)
    return kept[:64] or "answer"
