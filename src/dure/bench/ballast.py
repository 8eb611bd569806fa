"""Rows that are in the way: finished, delayed, suspended or waiting jobs, loaded directly."""

import time
from collections.abc import Iterator, Sequence

from dure.bench.ground import Ground
from dure.core.state import State

_LIVE = (
    *("id", "stream", "pos", "enqueued_at", "due", "state", "ready", "attempt"),
    *("session", "reason", "body"),
)
_HISTORY = (
    *("id", "stream", "enqueued_at", "claimed_at", "finished_at", "epoch", "fence"),
    *("worker", "tokens", "state", "attempt", "body"),
)
_BODY = '{"value":0.0}'
_DELAY_SECONDS = 86_400.0


async def waiting(
    ground: Ground, streams: Sequence[int], bodies: Sequence[str], *, analyze: bool = False
) -> None:
    """Waiting jobs, one for each stream and body; all of them appear in one moment."""
    first, now = await ground.reserve(len(streams)), time.time()

    def rows() -> Iterator[tuple[object, ...]]:
        for number, (stream, body) in enumerate(zip(streams, bodies, strict=True), first):
            state = int(State.PENDING)
            yield (number, stream, number, now, None, state, True, 0, None, None, body)

    await ground.load("dure_live", _LIVE, rows(), analyze=analyze)


async def idle(ground: Ground, stream: int, *, delayed: int, suspended: int) -> None:
    """Delayed jobs that fall due tomorrow, and suspended ones."""
    count = delayed + suspended
    if not count:
        return
    first, now = await ground.reserve(count), time.time()

    def rows() -> Iterator[tuple[object, ...]]:
        for number in range(first, first + count):
            is_delayed = number < first + delayed
            state = int(State.RETRY_WAIT if is_delayed else State.SUSPENDED)
            due = now + _DELAY_SECONDS + number if is_delayed else None
            reason = None if is_delayed else "quota"
            yield (number, stream, number, now, due, state, False, 0, None, reason, _BODY)

    await ground.load("dure_live", _LIVE, rows())


async def finished(ground: Ground, stream: int, count: int) -> None:
    """Jobs that ended well a moment ago."""
    if not count:
        return
    first, now = await ground.reserve(count), time.time()

    def rows() -> Iterator[tuple[object, ...]]:
        state = int(State.SUCCESS)
        for number in range(first, first + count):
            yield (number, stream, now - 1, now - 1, now, 0, 1, 1, 0, state, 1, _BODY)

    await ground.load("dure_history", _HISTORY, rows())
