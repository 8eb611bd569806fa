"""Signals: the first asks a node to leave, the second to hurry."""

import asyncio
import contextlib
import signal
from typing import Final

from dure.engine.node import Node
from dure.engine.options import Departure

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


async def depart_on_signal(node: Node) -> Departure:
    """Work until SIGINT or SIGTERM, then leave; a second one gives back what still runs."""
    loop = asyncio.get_running_loop()
    asked = asyncio.Event()

    def heard() -> None:
        if asked.is_set():
            node.hurry.set()
        asked.set()

    for number in SIGNALS:
        loop.add_signal_handler(number, heard)
    try:
        await asked.wait()
        return await node.stop()
    finally:
        for number in SIGNALS:
            with contextlib.suppress(ValueError):
                loop.remove_signal_handler(number)
