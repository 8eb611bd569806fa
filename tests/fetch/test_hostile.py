"""Servers that reset, stall, lie and flood are refused in time, in bounded memory, by name."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import brotli
import pytest
from backports import zstd

from dure.fetch import Fetcher, FetchError, FetchPolicy, Manners, Robots, Timeouts
from dure.fetch.failure import (
    BodyBroken,
    BodyTooLarge,
    ConnectFailed,
    ConnectionLost,
    ContractChanged,
    RedirectsEndless,
    TimedOut,
)

if TYPE_CHECKING:
    from tests.fetch.conftest import Handler, Serve

MIB = 1 << 20
QUICK = Timeouts(connect=1.0, first_byte=0.2, idle=0.2, total=0.6)
MEMORY_MAX = 40 * MIB


def rules(**others: object) -> FetchPolicy:
    fixed = {"allow": ("127.0.0.0/8",), "robots": Robots.IGNORE, "manners": Manners(delay=0.0)}
    return FetchPolicy(**{**fixed, **others})  # type: ignore[arg-type]


def saying(*parts: bytes, pause: float = 0.0) -> "Handler":
    async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause)

    return handle


def head(*fields: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *fields, "", ""]).encode()


async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def stall(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


async def stall_within(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(head("Content-Length: 100") + b"half")
    await asyncio.sleep(30)


async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(head("Content-Length: 100000"))
    while True:
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.05)


async def pour(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A body of a gigabyte that does not say how long it is."""
    writer.write(head("Content-Type: text/html"))
    for _megabyte in range(1024):
        writer.write(b"\0" * MIB)
        await writer.drain()


async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-Flood: yes\r\n" * 1000)
        await writer.drain()


def bomb(encoding: str, size: int = 400 * MIB) -> "Handler":
    async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head(f"Content-Encoding: {encoding}"))
        if encoding == "zstd":
            packer = zstd.ZstdCompressor()
            pieces: list[Callable[[bytes], bytes]] = [packer.compress]
        else:
            pieces = [zlib.compressobj(wbits=31).compress]
        for _megabyte in range(size // MIB):
            writer.write(pieces[0](b"\0" * MIB))
            await writer.drain()

    return handle


CASES: list[tuple[Callable[..., Awaitable[None]], type[FetchError]]] = [
    (reset, ConnectionLost),
    (stall, TimedOut),
    (stall_within, TimedOut),
    (drip, TimedOut),
    (pour, BodyTooLarge),
    (flood, BodyTooLarge),
    (bomb("gzip"), BodyTooLarge),
    (bomb("zstd"), BodyTooLarge),
    (saying(head("Content-Length: 1073741824")), BodyTooLarge),
    (saying(head("X: " + "y" * 20_000, "Content-Length: 0")), BodyTooLarge),
    (saying(head("Content-Encoding: gzip", "Content-Length: 4") + b"nope"), BodyBroken),
    (saying(head("Content-Encoding: compress", "Content-Length: 1") + b"x"), BodyBroken),
    (saying(head("Content-Length: 50") + b"cut"), ConnectionLost),
    (saying(b"SSH-2.0-OpenSSH_9.9\r\n\r\n"), ContractChanged),
    (saying(b""), ConnectionLost),
]


@pytest.mark.parametrize(("handler", "expected"), CASES)
async def test_a_hostile_server_costs_little_and_is_named(
    serve: "Serve", handler: "Handler", expected: type[FetchError]
) -> None:
    """Issue 3: resets, stalls, bombs, header floods, 1 GB bodies"""
    tracemalloc.start()
    try:
        async with serve(handler) as url, Fetcher(rules()) as fetcher:
            with pytest.raises(expected) as caught:
                await fetcher.get(url, timeouts=Timeouts() if expected is BodyTooLarge else QUICK)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert type(caught.value) is expected
    assert caught.value.host
    assert peak < MEMORY_MAX


async def test_an_endless_redirect_ends(serve: "Serve") -> None:
    async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(
            head("Location: /again", "Content-Length: 0", "Connection: close", status="302 Found")
        )

    async with serve(handle) as url, Fetcher(rules()) as fetcher:
        with pytest.raises(RedirectsEndless):
            await fetcher.get(url)


async def test_a_port_without_a_server_is_no_connection(serve: "Serve") -> None:
    async with serve(stall) as url:
        pass
    async with Fetcher(rules()) as fetcher:
        with pytest.raises(ConnectFailed):
            await fetcher.get(url)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw", "br", "zstd", "twice"])
async def test_every_encoding_that_is_offered_is_read(serve: "Serve", encoding: str) -> None:
    plain = "한국어 본문 ".encode() * 200_000
    raw = zlib.compressobj(wbits=-15)
    packed = {
        "gzip": gzip.compress(plain),
        "deflate": zlib.compress(plain),
        "raw": raw.compress(plain) + raw.flush(),
        "br": brotli.compress(plain, quality=3),
        "zstd": zstd.compress(plain),
        "twice": gzip.compress(plain[:999]) + gzip.compress(plain[999:]),
    }[encoding]
    name = {"raw": "deflate", "twice": "gzip"}.get(encoding, encoding)
    answer = head(f"Content-Encoding: {name}", f"Content-Length: {len(packed)}") + packed
    policy = rules(ratio_max=1e6)

    async with serve(saying(answer)) as url, Fetcher(policy) as fetcher:
        page = await fetcher.get(url)

    assert page.body == plain


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
async def test_a_compressed_body_that_ends_too_early_is_a_lost_connection(
    serve: "Serve", encoding: str
) -> None:
    """Z3: truncated gzip"""
    pack = {"gzip": gzip.compress, "br": brotli.compress, "zstd": zstd.compress}[encoding]
    packed = pack(bytes(range(256)) * 400)[:-9]
    answer = head(f"Content-Encoding: {encoding}", f"Content-Length: {len(packed)}") + packed

    async with serve(saying(answer)) as url, Fetcher(rules()) as fetcher:
        with pytest.raises(ConnectionLost):
            await fetcher.get(url)
