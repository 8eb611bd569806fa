"""Sites on sockets: one connection reads requests, answers them in order, and breaks on demand.

A server of our own, because a sandbox must be able to do on a socket what no web framework lets
an application do: reset, stall before the first byte, promise more than it sends.
"""

import asyncio
import ipaddress
import socket
import struct
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from dure_sandbox.delivery import Cut, Delivery, Framing, Head, Pause, Steps, head_of
from dure_sandbox.exchange import Headers, Request, Response, plain
from dure_sandbox.reading import BODY_BYTES_MAX, HEAD_BYTES_MAX, Unreadable, read

Respond = Callable[[Request], Delivery]

_BUFFER_BYTES_MAX: Final = HEAD_BYTES_MAX + BODY_BYTES_MAX + 4
_REASONS: Final = {each.value: each.phrase for each in HTTPStatus}


class Listener:
    """One port on which one site answers."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def open(self, host: str, port: int, *, has_many_hosts: bool) -> None:
        """Listen; with many hosts, on every loopback address and on no other."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self._respond, self._connections, has_many_hosts),
            "0.0.0.0" if has_many_hosts else host,  # noqa: S104 - others are refused on arrival
            port,
            backlog=1024,
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is None:
            return
        self._server.close()
        for each in list(self._connections):
            each.abort()
        await self._server.wait_closed()
        self._server = None


class Connection(asyncio.Protocol):
    def __init__(self, respond: Respond, others: "set[Connection]", is_loopback_only: bool) -> None:
        self._respond = respond
        self._others = others
        self._is_loopback_only = is_loopback_only
        self._buffer = bytearray()
        self._transport: asyncio.Transport
        self._walk: asyncio.Task[None] | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._is_over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._others.add(self)
        if self._is_loopback_only:
            address = transport.get_extra_info("sockname")[0]
            if not ipaddress.ip_address(address).is_loopback:
                self.abort()

    def connection_lost(self, _: Exception | None) -> None:
        self._is_over = True
        self._others.discard(self)
        if self._walk is not None:
            self._walk.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > _BUFFER_BYTES_MAX:
            self.abort()
        else:
            self._advance()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()
        self._advance()

    def abort(self) -> None:
        self._is_over = True
        self._transport.abort()

    def _advance(self) -> None:
        """Answer what has arrived, in order, while nothing is under way and the client reads."""
        while not self._is_over and self._walk is None and self._may_write.is_set():
            try:
                got = read(self._buffer)
            except Unreadable as error:
                self._write(plain(f"{error}\n", error.status), keeps_alive=False)
                return
            if got is None:
                self._encourage()
                return
            del self._buffer[: got.length]
            delivery = self._respond(got.request)
            if isinstance(delivery, Response):
                if got.request.method == "HEAD":
                    delivery = _bodiless(delivery)
                self._write(delivery, keeps_alive=got.keeps_alive)
            else:
                self._walk = asyncio.create_task(self._go(delivery, keeps_alive=got.keeps_alive))

    def _encourage(self) -> None:
        """Some clients wait for this before they send a long body."""
        if b"100-continue" in self._buffer[:HEAD_BYTES_MAX].lower():
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _write(self, response: Response, *, keeps_alive: bool) -> None:
        if response.header("content-length") is None and response.status not in {204, 304}:
            head = head_of(response)
        else:
            head = Head(response.status, response.headers, Framing.LENGTH)
        self._transport.write(_head_bytes(head.status, head.headers, keeps_alive) + response.body)
        if not keeps_alive:
            self._end()

    async def _go(self, steps: Steps, *, keeps_alive: bool) -> None:
        """Carry out the steps one by one; a break ends the connection."""
        framing = Framing.LENGTH
        for step in steps:
            await self._may_write.wait()
            match step:
                case Head(status, headers, framing):
                    if framing is Framing.CHUNKED:
                        headers = (*headers, ("Transfer-Encoding", "chunked"))
                    self._transport.write(_head_bytes(status, headers, keeps_alive))
                case Pause(seconds):
                    await asyncio.sleep(seconds)
                case Cut(is_reset):
                    self._break(is_reset=is_reset)
                    return
                case part if framing is Framing.CHUNKED:
                    self._transport.write(b"%x\r\n%b\r\n" % (len(part), part))
                case part:
                    self._transport.write(part)
            await asyncio.sleep(0)
        if framing is Framing.CHUNKED:
            self._transport.write(b"0\r\n\r\n")
        self._walk = None
        if keeps_alive:
            self._advance()
        else:
            self._end()

    def _break(self, *, is_reset: bool) -> None:
        if not is_reset:
            self._end()
            return
        linger = self._transport.get_extra_info("socket")
        if linger is not None:
            # Closing with a linger time of zero is what makes the kernel send a reset.
            linger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.abort()

    def _end(self) -> None:
        self._is_over = True
        self._transport.close()


def _head_bytes(status: int, headers: Headers, keeps_alive: bool) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in headers]
    if not keeps_alive:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def _bodiless(response: Response) -> Response:
    length = ("Content-Length", str(len(response.body)))
    return Response(status=response.status, headers=(*response.headers, length))
