"""Serving a site from the loop the engine runs on, for as long as a block lasts."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from dure.core.errors import ConfigError

_START_SECONDS: Final = 10.0
_STEP_SECONDS: Final = 0.01
_CONNECTIONS_MAX: Final = 200
_DRAIN_SECONDS: Final = 2


class _Quiet(uvicorn.Server):
    """Signals belong to the program."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def serve(app: ASGIApp, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """Serve inside the block, at a free port unless one is given; the address is yielded.

    Raises ConfigError when the address is taken.
    """
    loop = asyncio.get_running_loop()
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigError(
            f"Cannot serve at {host}:{port}: {error}.", "Choose another address."
        ) from error
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        limit_concurrency=_CONNECTIONS_MAX,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
    server = _Quiet(config)
    task = loop.create_task(server.serve(sockets=[listener]), name="dure-web")
    try:
        async with asyncio.timeout(_START_SECONDS):
            while not server.started and not task.done():
                await asyncio.sleep(_STEP_SECONDS)
        where, at = listener.getsockname()[:2]
        yield f"http://{f'[{where}]' if ':' in where else where}:{at}"
    finally:
        server.should_exit = True
        await asyncio.gather(task, return_exceptions=True)
        listener.close()
