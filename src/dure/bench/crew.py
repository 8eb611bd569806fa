"""The worker processes of a measurement: started, released together, and surely ended."""

import asyncio
import itertools
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from dure.core.errors import DureError

PATIENCE_SECONDS: Final = 60.0
"""How long nothing may happen before a measurement counts as broken."""
_LEAVE_SECONDS: Final = 5.0
WORKER: Final = "dure.bench.worker"


class BenchFailed(DureError):
    """A measurement did not come to its end."""

    code = "bench_failed"


class Crew:
    """Processes on one store. Leaving the `async with` block ends them."""

    def __init__(self, url: str, log: Path) -> None:
        self._url = url
        self._log = log
        self._complaints = log.with_suffix(".err")
        self._numbers = itertools.count()
        self.members: list[Process] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.dismiss()

    async def hire(
        self, count: int, flags: Sequence[str] = (), *, module: str = WORKER
    ) -> list[Process]:
        """Start processes and return when all of them are connected; none works yet."""
        hired = [await self._start(module, flags) for _ in range(count)]
        for process in hired:
            await self._until_ready(process)
        return hired

    async def _start(self, module: str, flags: Sequence[str]) -> Process:
        arguments = ["--store", self._url, "--log", str(self._log), "--wait"]
        number = ["--number", str(next(self._numbers))]
        with self._complaints.open("ab") as complaints:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", module),
                *arguments,
                *number,
                *flags,
                stdin=PIPE,
                stdout=PIPE,
                stderr=complaints,
                start_new_session=True,
            )
        self.members.append(process)
        return process

    async def _until_ready(self, process: Process) -> None:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE_SECONDS)
        if line.strip() != b"ready":
            raise BenchFailed(f"A worker did not start: {self.said()}")

    def go(self) -> None:
        """Let everybody begin."""
        for process in self.members:
            assert process.stdin is not None
            process.stdin.write(b"go\n")

    def check(self) -> None:
        """Raise BenchFailed when somebody has ended who should still work."""
        for process in self.members:
            if process.returncode not in {None, -signal.SIGKILL}:
                raise BenchFailed(f"A worker has ended: {self.said()}")

    async def ended(self) -> None:
        """Return when everybody has ended on its own."""
        for process in self.members:
            if await process.wait():
                raise BenchFailed(f"A process failed: {self.said()}")

    async def kill(self, process: Process) -> None:
        """End one at once, as a crash would."""
        process.kill()
        await process.wait()

    async def dismiss(self) -> None:
        """End everybody: politely, then surely."""
        for process in self.members:
            with suppress(ProcessLookupError):
                if process.returncode is None:
                    process.terminate()
        for process in self.members:
            try:
                await asyncio.wait_for(process.wait(), _LEAVE_SECONDS)
            except TimeoutError:
                await self.kill(process)
        self.members.clear()

    def said(self) -> str:
        """The end of what the processes wrote to standard error."""
        text = self._complaints.read_text(errors="replace") if self._complaints.exists() else ""
        return "\n".join(text.strip().splitlines()[-15:]) or "it said nothing"
