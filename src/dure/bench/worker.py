"""One measured worker process: `python -m dure.bench.worker --store URL --log FILE`.

With `--wait` it connects, prints `ready`, and begins when a line arrives on standard input;
it leaves when that is closed, so that no worker outlives whoever measures it.
"""

import argparse
import asyncio
import os
import signal
import sys
import threading
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from dure.bench.marks import Marks
from dure.bench.workload import node_options, work_on
from dure.engine.signals import depart_on_signal


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="dure.bench.worker")
    parser.add_argument("--store", required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--number", type=int, default=0)
    parser.add_argument("--chunk", type=int, default=0)
    parser.add_argument("--settings", choices=("default", "tuned"), default="default")
    parser.add_argument("--lease", type=float)
    parser.add_argument("--wait", action="store_true")
    given = parser.parse_args(argv)
    run(_work(given), quick=given.settings == "tuned")


def run(work: Coroutine[Any, Any, None], *, quick: bool) -> None:
    """Run it to its end; on uvloop where that is wanted and installed."""
    if quick:
        try:
            import uvloop
        except ModuleNotFoundError:
            pass
        else:
            uvloop.run(work)
            return
    asyncio.run(work)


async def _work(given: argparse.Namespace) -> None:
    options = node_options(given.settings)
    if given.lease is not None:
        options |= {"lease": given.lease, "beat": given.lease / 3}
    app = work_on(given.store, Marks(given.log, given.number), chunk=given.chunk).app
    async with app:
        if given.wait:
            await released()
        node = app.node(**options)
        await node.start()
        await depart_on_signal(node)


async def released() -> None:
    """Say that this process is ready, and wait until it may begin."""
    print("ready", flush=True)
    line = await asyncio.to_thread(sys.stdin.readline)
    if not line:
        raise SystemExit("whoever started this worker is gone")
    threading.Thread(target=_leave_at_the_end, daemon=True).start()


def _leave_at_the_end() -> None:
    while os.read(sys.stdin.fileno(), 64):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(sys.argv[1:])
