"""One process that asks for permits without end: `python -m dure.bench.acquirer`.

It asks as nodes do. A permit that came too late to be used within the limit's hold is given
back; for each use there is a mark with the number of permits and the store's time.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dure.bench.marks import Marks
from dure.bench.worker import released
from dure.compose import App
from dure.core.allowance import Grant
from dure.core.limit import Limit
from dure.scripts import limits

_WAIT_MAX_SECONDS = 0.05
_WAIT_MIN_SECONDS = 0.001


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="dure.bench.acquirer")
    parser.add_argument("--store", required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--number", type=int, default=0)
    parser.add_argument("--wait", action="store_true")
    parser.add_argument("--limit", required=True)
    parser.add_argument("--want", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    given = parser.parse_args(argv)
    asyncio.run(_acquire(given))


async def _acquire(given: argparse.Namespace) -> None:
    marks = Marks(given.log, given.number)
    async with App(given.store) as app:
        known = await app.store.read(limits.defined([given.limit]))
        await released()
        end = time.monotonic() + given.seconds
        while time.monotonic() < end:
            wait = await _once(app, known[given.limit], given.want, marks)
            if wait:
                await asyncio.sleep(wait)


async def _once(app: App, limit: Limit, want: int, marks: Marks) -> float:
    """Ask once; seconds until asking again makes sense."""
    store, now = app.store, app.store_clock.now
    asked = time.monotonic()
    answers = await store.run(limits.acquire([limits.Request(limit.name, want)], now()))
    grant = answers[limit.name]
    assert isinstance(grant, Grant), "the limit allows more than is wanted at a time"
    if grant.granted:
        moment = await store.now()
        if time.monotonic() <= asked + limit.hold_seconds:
            marks.write(float(grant.granted), at=moment)
        else:
            late = limits.Unused(limit.name, grant.slot, grant.granted)
            await store.run(limits.release([late], now()))
    if grant.granted == want or grant.retry_at is None:
        return 0.0
    return min(max(grant.retry_at - now(), _WAIT_MIN_SECONDS), _WAIT_MAX_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1:])
