"""The ledger of a desk: calls on their way into the store, several in one commit.

A job need not wait for the commit of its call: a node that dies within these milliseconds pays
for the answer again, as one does that dies while it waits for it. An attempt that is not the
first does wait, so that an answer which kills its node is paid for twice at most.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from dure.ai import records
from dure.ai.records import Kept, Line
from dure.core.errors import StoreError
from dure.ports.store import Store

GATHER_SECONDS: Final = 0.05
LINES_MAX: Final = 1000
"""So many wait for the store before asks wait for it, too."""
_GROUP_MAX: Final = 200
_TROUBLE_SECONDS: Final = 1.0


class Ledger:
    """Writes calls down, in groups, in the order they ended."""

    def __init__(self, store_of: Callable[[], Store]) -> None:
        self._store_of = store_of
        self._lines: list[Line] = []
        self._writing = asyncio.Lock()
        self._writer: asyncio.Task[None] | None = None

    def kept(self, key: str | None) -> Kept | None:
        """An answer that is not in the store yet."""
        return next((line.kept for line in self._lines if key and line.key == key), None)

    async def add(self, line: Line, *, at_once: bool) -> None:
        """Write it soon, or before this returns."""
        self._lines.append(line)
        if at_once or len(self._lines) >= LINES_MAX:
            await self.settle()
        elif self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write_soon())

    async def settle(self) -> None:
        """Write what there is. Raises StoreError, and then it is still there."""
        async with self._writing:
            while group := self._lines[:_GROUP_MAX]:
                await self._store_of().run(records.keep(group))
                del self._lines[: len(group)]

    async def close(self) -> None:
        """Write what there is, and stop."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.cancel()
            await asyncio.wait({writer})
        await self.settle()

    async def _write_soon(self) -> None:
        try:
            delay = GATHER_SECONDS
            while self._lines:
                await asyncio.sleep(delay)
                try:
                    await self.settle()
                except StoreError:
                    delay = _TROUBLE_SECONDS  # the store is away; `add` bounds what waits for it
        finally:
            self._writer = None
