"""What a node pays attention to while it works: hints, new work, operators, jobs taken away.

All of it is read again now and then whatever the hints say, so a lost one only costs time.
"""

import contextlib
from collections.abc import Callable
from typing import Final

from dure.core.adaptive import Bounds
from dure.core.errors import StoreError
from dure.core.stream import lane_of
from dure.engine.attempts.slots import Slots
from dure.engine.claiming.claimer import Claimer
from dure.engine.duties.adapt import Adaptation
from dure.engine.journal import listen_at
from dure.engine.parts import Parts
from dure.engine.work import Stop, Work
from dure.ports.store import Hint
from dure.scripts import jobs

_OWNED_SECONDS: Final = 1.0
_CONTROL_SECONDS: Final = 1.0


class Attention:
    """Notices what changed, and lets the parts of the node act on it."""

    def __init__(
        self,
        parts: Parts,
        slots: Slots,
        claimer: Claimer,
        *,
        adaptation: Adaptation,
        nudge: Callable[[str], None],
    ) -> None:
        self._parts = parts
        self._slots = slots
        self._claimer = claimer
        self._adaptation = adaptation
        self._nudge = nudge

    async def listen(self) -> None:
        """React to hints; all of this would happen without them, only later."""
        parts = self._parts
        async with contextlib.aclosing(parts.store.hints()) as hints:
            async for hint in hints:
                match hint:
                    case Hint("streams", streams):
                        with contextlib.suppress(StoreError):  # the next scan names them
                            await parts.names.recall(s for s in streams if not self._knows(s))
                        for stream in streams:
                            parts.rotation.note(stream)
                        self._claimer.wake()
                    case Hint("control"):
                        self._nudge("control")
                    case Hint("limits"):
                        parts.pacer.ask_again()
                    case Hint("jobs"):
                        self._nudge("owned")
                    case _:
                        self._nudge("scan")

    def _knows(self, stream: int) -> bool:
        return self._parts.names.knows_lane(lane_of(stream))

    async def scan(self) -> float:
        """Look for streams with work that no hint announced."""
        rotation = self._parts.rotation
        found, delay = await self._parts.scanner.scan()
        unknown = [s for s in rotation.streams() if not self._knows(s)]
        if unknown:
            await self._parts.names.recall(unknown)
            rotation.release()
        if found:
            self._claimer.wake()
        return delay

    async def watch_operators(self) -> float:
        """Act on what operators have said since the last look."""
        parts = self._parts
        if await parts.control.refresh():
            await parts.supply.look(parts.pacer.switches.values())
            self.resize()
            parts.pacer.rebuild()
            self._interrupt_paused()
        return _CONTROL_SECONDS

    def resize(self) -> None:
        """Give every part the size that the settings ask for."""
        parts, settings = self._parts, self._parts.control.settings
        listen_at(str(settings["log.level"]))
        parts.enqueuer.pressure.default = settings["queue.length_max"] or None
        high = parts.options.claim_max or settings["worker.claim_max"]
        self._claimer.bounds = Bounds(min(settings["worker.claim_min"], high), high)
        size = int(parts.setting("worker.slots", parts.options.slots))
        if parts.options.slots_min is not None:
            self._adaptation.bounds = Bounds(min(parts.options.slots_min, size), size)
        elif size != self._slots.size:
            self._slots.resize(size)

    def _interrupt_paused(self) -> None:
        control = self._parts.control
        for work in self._here():
            pause = control.pause_of(work.kind.name, work.lane)
            session = control.pauses.get(("session", work.claims[0].session or ""))
            if session is not None and not session.drain:
                work.interrupt(Stop.HELD)
            elif pause is not None and not pause.drain:
                work.interrupt(Stop.PAUSED)

    async def check_owned(self) -> float:
        """Stop attempts whose job was taken away: cancelled, suspended, or swept."""
        now = self._parts.clock.monotonic()
        ours = [
            work
            for work in self._here()
            if len(work.claims) == 1
            and (not work.started or now - work.started > _OWNED_SECONDS / 2)
        ]
        if ours:
            ids = {work.claims[0].id for work in ours}
            owned = await self._parts.store.read(jobs.owned(self._claimer.worker, ids))
            for work in ours:
                claim = work.claims[0]
                if owned.get(claim.id) != claim.fence and not work.is_done:
                    work.interrupt(Stop.TAKEN)
        return _OWNED_SECONDS

    def _here(self) -> list[Work]:
        return [*self._slots.running, *self._slots.waiting_work()]
