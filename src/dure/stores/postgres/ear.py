"""Listening for notifications, and turning them into hints. Everything here may be lost."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

import asyncpg

from dure.ports.store import Hint
from dure.stores.postgres.jobs import CHANNEL

_QUEUE_MAX: Final = 1000
_TEXT_MAX: Final = 7900
"""PostgreSQL refuses notifications of 8000 bytes."""
_RETRY_SECONDS: Final = 1.0
_PING_SECONDS: Final = 10.0


def encode(hint: Hint) -> str:
    """A hint as a notification's text; one that is too long asks for a scan."""
    text = f"{hint.topic} {','.join(map(str, hint.streams))}" if hint.streams else hint.topic
    return text if len(text) <= _TEXT_MAX else "scan"


def decode(text: str) -> Hint:
    """A notification's text as a hint; one that cannot be read asks for a scan."""
    topic, _, rest = text.partition(" ")
    try:
        return Hint(topic, tuple(int(part) for part in rest.split(",")) if rest else ())
    except ValueError:
        return Hint("scan")


async def listen(dsn: str, settings: Mapping[str, str]) -> AsyncGenerator[Hint, None]:
    """Hints as they come. After a broken connection the first one asks for a scan."""
    queue: asyncio.Queue[Hint] = asyncio.Queue(_QUEUE_MAX)

    def offer(hint: Hint) -> None:
        try:
            queue.put_nowait(hint)
        except asyncio.QueueFull:
            queue.get_nowait()
            queue.put_nowait(Hint("scan"))

    def heard(_connection: object, _pid: int, _channel: str, payload: object) -> None:
        offer(decode(str(payload)))

    def cut(_connection: object) -> None:
        """Wakes the loop below, which would otherwise notice at its next ping."""
        offer(Hint("scan"))

    while True:
        connection: Any = None
        try:
            connection = await asyncpg.connect(dsn, server_settings=dict(settings))
            connection.add_termination_listener(cut)
            await connection.add_listener(CHANNEL, heard)
            yield Hint("scan")
            while not connection.is_closed():
                try:
                    yield await asyncio.wait_for(queue.get(), _PING_SECONDS)
                except TimeoutError:
                    await asyncio.wait_for(connection.execute("select 1"), _PING_SECONDS)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            await asyncio.sleep(_RETRY_SECONDS)
        finally:
            if connection is not None and not connection.is_closed():
                with contextlib.suppress(Exception):
                    connection.terminate()
