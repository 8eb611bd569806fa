"""What one page of 10 kB costs each HTTP client, with time-outs and a cap on the body in place.

    python bench/http_clients.py aiohttp|fetcher|wreq|rnet [pages]

The server is another process on loopback. `wreq` and `rnet` are not among our requirements:
run them from a virtual environment that has them.
"""

import asyncio
import datetime as dt
import multiprocessing
import socket
import sys
import time
from collections.abc import Awaitable, Callable

import uvloop

BODY = b"x" * 10_240
HEAD = b"HTTP/1.1 200 OK\r\nServer: s\r\nDate: Thu, 19 Nov 2026 00:00:00 GMT\r\n"
HEAD += b'Content-Type: text/html; charset=utf-8\r\nETag: "a"\r\nContent-Length: 10240\r\n\r\n'
CAP = 10 << 20
AT_ONCE = 16
TIMEOUT = 20.0


class Answering(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        robots = data.startswith(b"GET /robots.txt")
        answer = b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n" if robots else HEAD + BODY
        self.transport.write(answer * data.count(b"\r\n\r\n"))  # type: ignore[attr-defined]


def serve(listener: socket.socket) -> None:
    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(Answering, sock=listener)
        await server.serve_forever()

    uvloop.run(main())


async def drive(fetch: Callable[[str], Awaitable[int]], base: str, pages: int) -> None:
    numbers = iter(range(pages))

    async def work() -> None:
        for number in numbers:
            assert await fetch(f"{base}/page/{number}?a=1") == len(BODY)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))  # connections, caches
    numbers = iter(range(pages))
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{pages / wall:8.0f} pages/s   {cpu / pages * 1e6:6.0f} us CPU a page", flush=True)


async def with_aiohttp(base: str, pages: int) -> None:
    import aiohttp  # noqa: PLC0415

    limits = aiohttp.ClientTimeout(total=60, connect=10, sock_read=TIMEOUT)
    async with aiohttp.ClientSession(
        timeout=limits, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:

        async def fetch(url: str) -> int:
            async with session.get(url, allow_redirects=False) as reply:
                parts, size = [], 0
                async for part in reply.content.iter_any():
                    size += len(part)
                    assert size <= CAP
                    parts.append(part)
                return len(b"".join(parts))

        await drive(fetch, base, pages)


async def with_fetcher(base: str, pages: int) -> None:
    from dure.fetch import Fetcher, FetchPolicy, Manners  # noqa: PLC0415

    manners = Manners(delay=0.0, concurrency=AT_ONCE)
    async with Fetcher(FetchPolicy(allow=("127.0.0.0/8",), manners=manners)) as fetcher:

        async def fetch(url: str) -> int:
            return len((await fetcher.get(url)).body)

        await drive(fetch, base, pages)


async def with_wreq(base: str, pages: int) -> None:
    import wreq  # noqa: PLC0415

    seconds = dt.timedelta(seconds=TIMEOUT)
    client = wreq.Client(
        timeout=seconds * 3, connect_timeout=seconds, read_timeout=seconds, gzip=False
    )

    async def fetch(url: str) -> int:
        reply = await client.get(url)
        parts, size = [], 0
        async with reply.stream() as stream:
            async for part in stream:
                size += len(part)
                assert size <= CAP
                parts.append(part)
        return len(b"".join(parts))

    await drive(fetch, base, pages)


async def with_rnet(base: str, pages: int) -> None:
    import rnet  # noqa: PLC0415

    client = rnet.Client(timeout=60, connect_timeout=10, read_timeout=20, gzip=False)

    async def fetch(url: str) -> int:
        reply = await client.get(url)
        parts, size = [], 0
        async with reply.stream() as stream:
            async for part in stream:
                size += len(part)
                assert size <= CAP
                parts.append(part)
        return len(b"".join(parts))

    await drive(fetch, base, pages)


def main() -> None:
    name, pages = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    server = multiprocessing.get_context("fork").Process(target=serve, args=(listener,))
    server.start()
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    clients = {
        "aiohttp": with_aiohttp,
        "fetcher": with_fetcher,
        "wreq": with_wreq,
        "rnet": with_rnet,
    }
    try:
        uvloop.run(clients[name](base, pages))
    finally:
        server.terminate()
        server.join()


if __name__ == "__main__":
    main()
