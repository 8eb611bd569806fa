"""A wire without a network: pages answered by a script, in virtual time as well.

wire = ScriptedWire(lambda call: Answer(body=b"<h1>hello</h1>"))
async with Fetcher(wire=wire, clock=VirtualClock()) as fetcher:
    page = await fetcher.get("https://example.org/")
assert wire.calls[0].url == "https://example.org/"
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from multidict import CIMultiDict

from dure.fetch.wire import Call, Headers, Reply

_CHUNK: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answers, after so many seconds."""

    status: int = 200
    body: bytes = b"ok"
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    peer: str | None = None
    error: Exception | None = None
    """Raised instead of answering."""


Script = Callable[[Call], Answer]


class ScriptedWire:
    """Answers by a script, and remembers what was asked and when."""

    def __init__(self, script: Script, robots: Script = lambda _: Answer(404)) -> None:
        self._script = script
        self._robots = robots
        self.calls: list[Call] = []
        self.times: list[float] = []
        """When each call came, by the loop's clock."""
        self.asked_robots = 0
        self.most = 0
        """The most calls under way at once."""
        self._running = 0

    async def send(self, call: Call) -> Reply:
        if call.url.endswith("/robots.txt"):
            self.asked_robots += 1
            return await self._reply(self._robots(call))
        self.calls.append(call)
        self.times.append(asyncio.get_running_loop().time())
        self._running += 1
        self.most = max(self.most, self._running)
        try:
            return await self._reply(self._script(call))
        finally:
            self._running -= 1

    async def close(self) -> None:
        """Nothing is open."""

    async def _reply(self, answer: Answer) -> Reply:
        await asyncio.sleep(answer.seconds)
        if answer.error is not None:
            raise answer.error
        return _Reply(answer)


class _Reply:
    def __init__(self, answer: Answer) -> None:
        self._body = answer.body
        self.status = answer.status
        self.headers: Headers = CIMultiDict(answer.headers)
        self.peer = answer.peer

    async def chunks(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._body), _CHUNK):
            yield self._body[start : start + _CHUNK]

    def close(self) -> None:
        """Nothing is open."""
