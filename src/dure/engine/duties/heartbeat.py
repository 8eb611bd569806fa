"""Keeping the lease: a beat from a thread that no handler can block.

The beat says "this worker lives". Two things make it stop saying so: the store declares the
worker dead (the lease ran out before a beat came through), or the event loop has stood
still for so long that living is no longer true. Trust is counted from before the request
was sent, on the monotonic clock, and ends before the lease does.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Final

from dure.core.errors import StoreError
from dure.ports.clock import Clock
from dure.ports.store import Store

_TRUST_SHARE: Final = 0.9
"""Of the lease; the rest covers clocks that run at slightly different speeds."""
_STALL_LEASES: Final = 4.0
"""After this many leases without a turn of the loop the worker no longer counts as alive."""


class Heartbeat:
    """Beats for one worker; tells the loop when the lease is lost."""

    def __init__(
        self,
        store: Store,
        worker: int,
        *,
        clock: Clock,
        beat: float,
        lease: float,
        on_lost: Callable[[], None],
        threaded: bool,
    ) -> None:
        self._store = store
        self._worker = worker
        self._monotonic = clock.monotonic
        self.beat = beat
        self.lease = lease
        self._on_lost = on_lost
        self._threaded = threaded
        self._trusted_until = self._monotonic() + lease * _TRUST_SHARE
        self._turned_at = self._monotonic()
        self._is_lost = False
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_trusted(self) -> bool:
        """Whether the lease certainly still holds."""
        return not self._is_lost and self._monotonic() < self._trusted_until

    @property
    def is_lost(self) -> bool:
        """Whether the store declared us dead."""
        return self._is_lost

    @property
    def lag(self) -> float:
        """Seconds since the loop last turned."""
        return self._monotonic() - self._turned_at

    def start(self) -> None:
        """Begin to beat."""
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._turn(), name="dure-turn")
        if self._threaded:
            self._thread = threading.Thread(target=self._beat_on, name="dure-beat", daemon=True)
            self._thread.start()

    async def _turn(self) -> None:
        """Show that the loop turns; without a thread, beat from here."""
        while True:
            self._turned_at = self._monotonic()
            if not self._threaded:
                with contextlib.suppress(StoreError):
                    sent = self._monotonic()
                    self._heard(sent, is_alive=await self._store.beat(self._worker, self.lease))
                if self._is_lost:
                    return
            await asyncio.sleep(self.beat)

    def _beat_on(self) -> None:
        beater = self._store.beater()
        try:
            while not self._ending.wait(self.beat):
                if self.lag > _STALL_LEASES * self.lease:
                    continue
                sent = self._monotonic()
                try:
                    is_alive = beater.beat(self._worker, self.lease)
                except (StoreError, TimeoutError):
                    continue
                self._heard(sent, is_alive=is_alive)
                if self._is_lost:
                    return
        finally:
            with contextlib.suppress(StoreError, TimeoutError, RuntimeError):
                beater.close()

    def _heard(self, sent: float, *, is_alive: bool) -> None:
        if is_alive:
            self._trusted_until = sent + self.lease * _TRUST_SHARE
            return
        self._is_lost = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._on_lost)

    async def stop(self) -> None:
        """Beat no more."""
        self._ending.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._thread is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)
