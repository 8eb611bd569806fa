"""The wire over aiohttp: it connects to the very addresses that were checked."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from dure.fetch.address import check_address
from dure.fetch.failure import (
    AddressRefused,
    BodyTooLarge,
    ConnectFailed,
    ConnectionLost,
    ContractChanged,
    FetchError,
    NameUnresolved,
    TimedOut,
)
from dure.fetch.policy import FetchPolicy, Network
from dure.fetch.wire import Call, Headers

_CHUNK: Final = 64 * 1024
_OWN_HEADERS: Final = ("Accept", "Accept-Encoding", "User-Agent", "Content-Type")
_DNS_SECONDS: Final = 60
_KEEP_ALIVE_SECONDS: Final = 30.0
_TOO_LARGE: Final = ("Got more than", "Too many headers")
"""How aiohttp says that a head is over its caps."""


class AiohttpReply:
    """One answer whose body may still be on its way."""

    def __init__(self, response: aiohttp.ClientResponse, peer: str | None) -> None:
        self._response = response
        self.status = response.status
        self.headers: Headers = response.headers
        self.peer = peer

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise failure_of(error, "the body") from error

    def close(self) -> None:
        self._response.release()


class CheckedResolver(AbstractResolver):
    """Names become addresses here and nowhere else, and only allowed ones come out."""

    def __init__(self, allowed: tuple[Network, ...], inner: AbstractResolver | None = None) -> None:
        self._allowed = allowed
        self._inner = inner or aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        for each in found:
            check_address(each["host"], self._allowed, host)
        return found

    async def close(self) -> None:
        await self._inner.close()


class AiohttpWire:
    """Sends calls over a pool of connections kept alive."""

    def __init__(self, policy: FetchPolicy, *, resolver: AbstractResolver | None = None) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=CheckedResolver(policy.networks, resolver),
                limit=policy.connections,
                ttl_dns_cache=_DNS_SECONDS,
                keepalive_timeout=_KEEP_ALIVE_SECONDS,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=_OWN_HEADERS,
            max_line_size=policy.header_bytes_max,
            max_field_size=policy.header_bytes_max,
            max_headers=policy.headers_max,
            timeout=aiohttp.ClientTimeout(total=None),
        )

    async def send(self, call: Call) -> AiohttpReply:
        limits = aiohttp.ClientTimeout(
            connect=call.timeouts.connect, sock_read=call.timeouts.first_byte
        )
        try:
            response = await self._session.request(
                call.method,
                URL(call.url, encoded=True),
                headers=call.headers,
                data=call.body,
                allow_redirects=False,
                timeout=limits,
            )
        except FetchError:
            raise
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise failure_of(error, "the head") from error
        peer: str | None = None
        connection = response.connection
        if connection is not None and connection.transport is not None:
            # A body that came with its head has given its connection back, which was checked
            # when it was made.
            address = connection.transport.get_extra_info("peername")
            peer = address[0] if address else None
            protocol = connection.protocol
            if protocol is not None and call.timeouts.idle != call.timeouts.first_byte:
                protocol.read_timeout = call.timeouts.idle
                protocol.start_timeout()
        return AiohttpReply(response, peer)

    async def close(self) -> None:
        await self._session.close()
        await asyncio.sleep(0)


def failure_of(error: BaseException, where: str) -> FetchError:
    """What aiohttp's exception means."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, AddressRefused):
            return cause
        cause = cause.__cause__
    text = f"{type(error).__name__}: {error}"
    match error:
        case aiohttp.ConnectionTimeoutError():
            return TimedOut("No connection in time")
        case TimeoutError():
            return TimedOut(f"No answer in time: {where}")
        case aiohttp.ClientConnectorDNSError():
            return NameUnresolved(text)
        case aiohttp.ClientConnectorError():
            return ConnectFailed(text)
        case aiohttp.ClientResponseError():
            if any(mark in error.message for mark in _TOO_LARGE):
                return BodyTooLarge(f"The head of the answer is too large: {error.message[:200]}")
            return ContractChanged(f"Not an HTTP answer: {error.message[:200]}")
        case _:
            return ConnectionLost(text[:300])
