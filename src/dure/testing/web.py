"""A web in memory for spiders under test: pages by address, and a log of every request."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field

from multidict import CIMultiDict

from dure.fetch.failure import ConnectFailed
from dure.fetch.wire import Call, Headers
from dure.testing.virtual import VirtualClock


class FakeReply:
    """An answer from memory."""

    def __init__(self, status: int, body: str, headers: Mapping[str, str]) -> None:
        self.status = status
        self.headers: Headers = CIMultiDict({"Content-Type": "text/html; charset=utf-8", **headers})
        self.peer = None
        self._body = body.encode()

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._body

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class FakeWeb:
    """A wire that answers from memory, after a while of virtual time."""

    page: Callable[[str], tuple[int, str] | tuple[int, str, Mapping[str, str]]]
    """Status, body and perhaps headers of an address."""
    latency: float = 0.01
    """Seconds an answer takes."""
    dead: set[str] = field(default_factory=set)
    """Hosts where nobody answers."""
    robots: str = ""
    """Every host's robots.txt; there is none while it is empty."""
    log: list[tuple[float, str]] = field(default_factory=list)
    """When which address was asked for; robots.txt is left out."""

    async def send(self, call: Call) -> FakeReply:
        host = call.url.split("/")[2]
        if call.url.endswith("/robots.txt"):
            await asyncio.sleep(self.latency)
            status = 200 if self.robots else 404
            return FakeReply(status, self.robots, {"Content-Type": "text/plain"})
        self.log.append((VirtualClock().monotonic(), call.url))
        if host in self.dead:
            await asyncio.sleep(call.timeouts.connect)
            raise ConnectFailed("nobody answers", url=call.url)
        await asyncio.sleep(self.latency)
        answer = self.page(call.url)
        headers = answer[2] if len(answer) == 3 else {}
        return FakeReply(answer[0], answer[1], headers)

    async def close(self) -> None:
        """Nothing is open."""

    def times(self, part: str) -> list[float]:
        """When addresses with this part were asked for."""
        return [at for at, url in self.log if part in url]

    def asked(self, part: str) -> list[str]:
        """Addresses with this part, in the order they were asked for."""
        return [url for _, url in self.log if part in url]
