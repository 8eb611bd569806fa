"""A provider's endpoint in memory: scripted answers, virtual time, and a log of what was sent."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from multidict import CIMultiDict

from dure.fetch import FetchError, Page, Timeouts
from dure.fetch.failure import TimedOut
from dure.fetch.policy import Judge


class Sent(NamedTuple):
    """One request."""

    at: float
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The question."""
        content: str = self.body["messages"][-1]["content"]
        return content


class Said(NamedTuple):
    """One answer."""

    status: int
    body: object
    headers: Mapping[str, str] = {}


def said(text: str, *, finish: str = "stop", tokens: tuple[int, int] = (100, 20)) -> Said:
    """A completion."""
    return Said(
        200,
        {
            "model": "m-2026",
            "choices": [{"message": {"content": text}, "finish_reason": finish}],
            "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]},
        },
    )


def refusal() -> Said:
    return Said(200, {"choices": [{"message": {"refusal": "I will not"}, "finish_reason": "stop"}]})


def fault(
    status: int, code: str = "", *, kind: str = "", message: str = "", **headers: str
) -> Said:
    """An error in OpenAI's shape; header names are written with `_`."""
    error = {"code": code or None, "type": kind, "message": message}
    return Said(
        status, {"error": error}, {k.replace("_", "-"): value for k, value in headers.items()}
    )


STALL = Said(0, None)
"""No answer before the time-out."""

Script = Callable[[Sent], Said]


class FakeWire:
    """Answers by a script; every call takes `latency` seconds of virtual time."""

    def __init__(self, script: Script, latency: float = 0.5) -> None:
        self.script = script
        self.latency = latency
        self.sent: list[Sent] = []
        self.running = self.most = 0

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeouts: Timeouts | None = None,
        judge: Judge | None = None,
    ) -> Page:
        now = asyncio.get_running_loop().time
        sent = Sent(now(), headers or {}, msgspec.json.decode(body or b"{}"))
        self.sent.append(sent)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            answer = self.script(sent)
            if answer.status == 0:
                assert timeouts is not None
                await asyncio.sleep(timeouts.total)
                failed: FetchError = TimedOut("nothing came", url=url)
                raise failed
            await asyncio.sleep(self.latency)
        finally:
            self.running -= 1
        raw = answer.body if isinstance(answer.body, bytes) else msgspec.json.encode(answer.body)
        return Page(
            asked=url,
            url=url,
            status=answer.status,
            headers=CIMultiDict(answer.headers),
            body=raw,
        )
