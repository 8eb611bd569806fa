"""Running plain functions in child processes, where a stop is a kill.

Each child is one `python -m dure.engine.attempts.child`, fed over its standard streams with
length-prefixed JSON. A stopped attempt kills its child; the next one starts afresh.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any, Final

import msgspec

from dure.core.errors import KindInvalid
from dure.engine.attempts.context import Attempt
from dure.engine.attempts.frames import Answer, Call, Hello, pack, read_frame

_START_SECONDS: Final = 30.0


class ChildDied(Exception):
    """The child process ended before it answered; the attempt counts as failed."""


class ChildError(Exception):
    """An exception a handler raised in its child process, by name and text."""


class Children:
    """Child processes that are kept for reuse, and killed when an attempt is stopped."""

    def __init__(self, size_max: int) -> None:
        self._places = asyncio.Semaphore(size_max)
        self._idle: list[asyncio.subprocess.Process] = []
        self._all: set[asyncio.subprocess.Process] = set()

    async def run(self, call: Call, *, ready: Callable[[], None]) -> object:
        """Make a call in a child, `ready` when it starts. Cancelling this kills the child."""
        async with self._places:
            child = self._idle.pop() if self._idle else await self._start()
            try:
                ready()
                answer = await self._call(child, call)
            except BaseException:
                await self._kill(child)
                raise
            self._idle.append(child)
        if answer.error is not None:
            if answer.error_type == "KindInvalid":
                raise KindInvalid(answer.error)
            raise ChildError(answer.error)
        return answer.outcome()

    async def _start(self) -> asyncio.subprocess.Process:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "dure.engine.attempts.child",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        self._all.add(child)
        try:
            frame = await asyncio.wait_for(read_frame(_out(child)), _START_SECONDS)
            msgspec.json.decode(frame, type=Hello)
        except BaseException:
            await self._kill(child)
            raise
        return child

    async def _call(self, child: asyncio.subprocess.Process, call: Call) -> Answer:
        if child.stdin is None:
            raise ChildDied("the child process has no input")
        try:
            child.stdin.write(pack(call))
            await child.stdin.drain()
            return msgspec.json.decode(await read_frame(_out(child)), type=Answer)
        except (asyncio.IncompleteReadError, ConnectionError, BrokenPipeError) as error:
            code = await child.wait()
            raise ChildDied(
                f"the child process running {call.attempt.kind!r} ended with code {code} "
                "before it answered"
            ) from error

    async def _kill(self, child: asyncio.subprocess.Process) -> None:
        self._all.discard(child)
        if child.returncode is None:
            child.kill()
        await asyncio.shield(child.wait())

    async def close(self) -> None:
        """End all children."""
        self._idle.clear()
        for child in list(self._all):
            await self._kill(child)


def call_of(fn: Callable[..., Any], body: str, attempt: Attempt) -> Call:
    """A job's function and stored arguments, as a child can find them."""
    path = ""
    if fn.__module__ == "__main__":
        path = getattr(sys.modules["__main__"], "__file__", None) or ""
        if not path:
            raise KindInvalid(
                f"The process handler {attempt.kind!r} was defined interactively; "
                "no child can find it.",
                "Put it into a module.",
            )
    return Call(fn.__module__, path, fn.__qualname__, body, attempt)


def _out(child: asyncio.subprocess.Process) -> asyncio.StreamReader:
    if child.stdout is None:
        raise ChildDied("the child process has no output")
    return child.stdout
