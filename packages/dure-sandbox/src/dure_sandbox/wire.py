"""The sandbox as a wire of `dure.fetch`: the same sites and faults without a socket.

Pauses are timers of the running loop, so on a virtual loop a stall of an hour takes no time.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from multidict import CIMultiDict

from dure.fetch.failure import ConnectionLost, NameUnresolved, TimedOut
from dure.fetch.wire import Call, Headers
from dure_sandbox.delivery import Cut, Framing, Head, Pause, Steps, head_of
from dure_sandbox.exchange import Request, Response

if TYPE_CHECKING:
    from dure_sandbox.sandbox import Sandbox

PIECE: Final = 1 << 16


class SandboxWire:
    """Sends calls to the sites of a sandbox."""

    def __init__(self, box: "Sandbox") -> None:
        self._box = box

    async def send(self, call: Call) -> "SandboxReply":
        """The head of the answer. Raises FetchError, as a wire over sockets would."""
        parts = urlsplit(call.url)
        site = self._box.site_at(parts.netloc)
        if site is None:
            raise NameUnresolved("The sandbox has no such host", url=call.url, host=parts.netloc)
        request = Request(
            method=call.method,
            scheme=parts.scheme,
            host=parts.netloc,
            target=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
            headers={name.lower(): value for name, value in call.headers.items()},
            body=call.body or b"",
        )
        delivery = self._box.respond(site, request)
        steps = _whole(delivery) if isinstance(delivery, Response) else delivery
        await asyncio.sleep(0)
        async with _within(call.timeouts.first_byte, "the head"):
            for step in steps:
                match step:
                    case Pause(seconds):
                        await asyncio.sleep(seconds)
                    case Head():
                        return SandboxReply(step, steps, call, is_empty=request.method == "HEAD")
                    case _:
                        break
        raise ConnectionLost("The connection was reset before an answer", url=call.url)

    async def close(self) -> None:
        """Nothing is open."""


class SandboxReply:
    """One answer whose body may still be on its way."""

    peer: str | None = None

    def __init__(self, head: Head, steps: Steps, call: Call, *, is_empty: bool) -> None:
        self.status = head.status
        self.headers: Headers = CIMultiDict(head.headers)
        self._framing = head.framing
        self._steps: Steps = iter(()) if is_empty else steps
        self._is_empty = is_empty or head.status == 304
        self._call = call

    async def chunks(self) -> AsyncIterator[bytes]:
        promised = int(self.headers.get("Content-Length", "0"))
        sent = 0
        while True:
            piece = await self._next()
            if piece is None:
                break
            sent += len(piece)
            for start in range(0, len(piece), PIECE):
                yield piece[start : start + PIECE]
        if self._framing is Framing.LENGTH and sent < promised and not self._is_empty:
            raise ConnectionLost(f"{sent} of {promised} bytes arrived", url=self._call.url)

    async def _next(self) -> bytes | None:
        """The next piece of the body, None at its end."""
        async with _within(self._call.timeouts.idle, "the body"):
            for step in self._steps:
                match step:
                    case Pause(seconds):
                        await asyncio.sleep(seconds)
                    case Cut(is_reset=True):
                        raise ConnectionLost("The connection was reset", url=self._call.url)
                    case Cut() | Head():
                        return None
                    case piece:
                        return piece
        return None

    def close(self) -> None:
        self._steps = iter(())


@asynccontextmanager
async def _within(seconds: float, what: str) -> AsyncIterator[None]:
    """A time limit that raises what a wire raises."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise TimedOut(f"No answer in time: {what}") from None


def _whole(response: Response) -> Steps:
    return iter([head_of(response), response.body])
