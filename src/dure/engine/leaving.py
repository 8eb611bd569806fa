"""Giving work over: what waits goes back at once, what runs may end within a grace."""

import asyncio

from dure.engine.attempts.finisher import Finisher
from dure.engine.attempts.slots import Slots
from dure.engine.options import Departure
from dure.engine.work import Stop, Work
from dure.ports.clock import Clock

_TURN_SECONDS = 0.01
_CLAIM_SECONDS = 5.0
"""How long a claim that was under way may still take."""


async def hand_over(
    slots: Slots,
    finisher: Finisher,
    clock: Clock,
    *,
    grace: float,
    hurry: asyncio.Event,
    claiming: "asyncio.Task[None]",
) -> Departure:
    """Empty the slots. `hurry` ends the grace early."""
    slots.is_leaving = True
    waiting = _give_back(slots, finisher)
    running = len(slots.running)
    deadline = clock.monotonic() + grace
    while slots.running and clock.monotonic() < deadline and not hurry.is_set():
        await asyncio.sleep(_TURN_SECONDS)
    interrupted = list(slots.running)
    for work in interrupted:
        work.interrupt(Stop.SHUTDOWN)
    while slots.running:
        await asyncio.sleep(_TURN_SECONDS)
    await asyncio.wait({claiming}, timeout=_CLAIM_SECONDS)
    waiting += _give_back(slots, finisher)
    return Departure(
        finished=running - len(interrupted),
        given_back=sum(len(work.claims) for work in [*waiting, *interrupted]),
        interrupted=len(interrupted),
        is_clean=True,
    )


def _give_back(slots: Slots, finisher: Finisher) -> list[Work]:
    """Return what has no slot yet; a claim that is under way may still bring some later."""
    waiting = slots.take_back()
    for work in waiting:
        work.is_done = True
        finisher.add(work, Stop.SHUTDOWN)
    return waiting


async def call_off(*tasks: "asyncio.Task[None] | None") -> None:
    """Cancel these and wait for their end."""
    alive = [task for task in tasks if task is not None]
    for task in alive:
        task.cancel()
    await asyncio.gather(*alive, return_exceptions=True)
