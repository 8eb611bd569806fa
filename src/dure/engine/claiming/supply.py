"""Fetching for gates what only the store can give, and giving back what was not needed."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from dure.core.allowance import Impossible
from dure.core.breaker import Condition, Phase
from dure.core.errors import NotFound
from dure.engine.gates import Cap, Caps, Gate, Lease, Permits, Switch
from dure.engine.store_clock import StoreClock
from dure.ports.clock import Clock
from dure.ports.store import Hint, Script, Store
from dure.scripts import breakers, control, limits, slots

_CAP_RETRY_SECONDS: Final = 0.25
_CAP_IDLE_SECONDS: Final = 1.0
_PROBE_IDLE_SECONDS: Final = 1.0
"""Probes that nobody sent by then go back, or they would count as failed."""
_RETRY_MIN_SECONDS: Final = 0.005
_RETRY_MAX_SECONDS: Final = 5.0
_LEASE_SECONDS_MAX: Final = 1.0
_REPORT_AT: Final = 20
"""Successes that are worth a report of their own; a failure is reported at once."""


class Supply:
    """The store's side of gates."""

    def __init__(self, store: Store, *, clock: Clock, store_clock: StoreClock) -> None:
        self._store = store
        self._clock = clock
        self._now = store_clock.now
        self.worker = 0

    async def fetch(self, gate: Gate, wanted: int) -> bool:
        """Get room for a gate; True when some came."""
        if not self.worker:
            return False
        match gate:
            case Caps():
                return await self._slots(gate, wanted)
            case Permits():
                return await self._permits(gate, wanted)
            case _:
                return False

    async def _slots(self, gate: Caps, wanted: int) -> bool:
        before, worker = gate.room(), self.worker
        needs = {cap.name: slots.Need(cap.used, cap.cap) for cap in gate.caps}
        for cap in gate.caps:
            cap.lent = max(cap.lent, min(cap.used + wanted, cap.cap))
        held = await self._store.run(slots.take(needs, worker, want=wanted, now=self._now()))
        if worker != self.worker:
            return False  # the slots are those of a worker that is dead by now
        for cap in gate.caps:
            cap.held = cap.lent = held[cap.name]
        if gate.room() > before:
            for cap in gate.caps:
                cap.idle_since = None
        else:
            gate.retry_at = self._clock.monotonic() + _CAP_RETRY_SECONDS
        return gate.room() > before

    async def _permits(self, gate: Permits, wanted: int) -> bool:
        asked = self._clock.monotonic()
        requests = [limits.Request(name, wanted, gate.units) for name in gate.names]
        try:
            answers = await self._store.run(limits.acquire(requests, self._now()))
        except NotFound:  # nobody has defined it, or somebody removed it: only its own jobs wait
            gate.retry_at = asked + _RETRY_MAX_SECONDS
            return False
        booked: dict[str, int] = {}
        granted = wanted
        wait: float | None = None
        for name, answer in answers.items():
            if isinstance(answer, Impossible):
                gate.refusal = answer.sentence
                return False
            booked[name] = answer.slot
            granted = min(granted, answer.granted)
            if answer.retry_at is not None and (wait is None or answer.retry_at > wait):
                wait, gate.binding = answer.retry_at, f"{name} ({answer.binding})"
        gate.free_at = wait if granted < wanted else None
        if wait is not None and granted < wanted:
            ahead = min(max(wait - self._now(), _RETRY_MIN_SECONDS), _RETRY_MAX_SECONDS)
            gate.retry_at = self._clock.monotonic() + ahead
        if granted:
            until = asked + await self._hold(gate)
            gate.leases.append(Lease(booked, granted, granted, until))
        return granted > 0

    async def _hold(self, gate: Permits) -> float:
        if gate.hold is None:
            known = await self._store.read(limits.defined(gate.names))
            holds = [limit.hold_seconds for limit in known.values()]
            gate.hold = min([*holds, _LEASE_SECONDS_MAX])
        return gate.hold

    async def probes(self, wants: Mapping[Switch, int]) -> set[Switch]:
        """See how breakers stand and get probes of those that are half open; which have room."""
        if not wants or not self.worker:
            return set()
        wanted = {gate.name: count for gate, count in wants.items()}
        permits = await self._store.run(breakers.permit(wanted, self._now()))
        states = await self._store.read(breakers.states(wanted, now=self._now()))
        for gate in wants:
            permit = permits[gate.name]
            self._see(gate, states)
            if not gate.is_closed:
                gate.permits += permit.granted
                gate.granted_at = self._clock.monotonic()
                if permit.retry_at is not None:
                    ahead = min(max(permit.retry_at - self._now(), 0.01), _RETRY_MAX_SECONDS)
                    gate.retry_at = self._clock.monotonic() + ahead
        return {gate for gate in wants if gate.is_closed or permits[gate.name].granted > 0}

    @staticmethod
    def _see(gate: Switch, states: Mapping[str, Condition]) -> None:
        condition = states.get(gate.name)
        gate.is_closed = condition is None or condition.phase is Phase.CLOSED
        gate.open_until = None if condition is None else condition.until
        if condition is None or condition.phase is not Phase.HALF_OPEN:
            gate.permits = gate.probing = 0

    async def look(self, switches: Iterable[Switch]) -> None:
        """See how breakers stand; operators and other nodes may have turned them."""
        gates = list(switches)
        if gates:
            names = [gate.name for gate in gates]
            states = await self._store.read(breakers.states(names, now=self._now()))
            for gate in gates:
                self._see(gate, states)

    async def tend(self, caps: Iterable[Cap], permits: Iterable[Permits]) -> bool:
        """Give back slots that lie idle and permits that were held too long."""
        now = self._clock.monotonic()
        for cap in caps:
            if cap.lent <= cap.used:
                cap.idle_since = None
            elif cap.idle_since is None:
                cap.idle_since = now
            elif now - cap.idle_since >= _CAP_IDLE_SECONDS or cap.held > cap.cap:
                await self._give_back(cap, cap.used)
                cap.idle_since = None
        unused: list[limits.Unused] = []
        for gate in permits:
            for lease in gate.lapsed(now):
                gate.retry_at = 0.0  # what goes back here may be had again at once
                unused.extend(
                    limits.Unused(name, slot, lease.left, gate.units)
                    for name, slot in lease.slots.items()
                )
        if unused:
            await self._store.run(limits.release(unused, self._now()))
        return False

    async def report(self, switches: Iterable[Switch]) -> bool:
        """Tell the store how calls behind breakers went; True when one closed again."""
        outcomes: dict[str, tuple[int, int]] = {}
        told: list[Switch] = []
        neutral: dict[str, int] = {}
        for gate in switches:
            if gate.neutral:
                if not gate.is_closed:
                    neutral[gate.name] = gate.neutral
                gate.neutral = 0
            is_idle = self._clock.monotonic() - gate.granted_at > _PROBE_IDLE_SECONDS
            if not gate.is_closed and gate.permits > 0 and is_idle:
                neutral[gate.name] = neutral.get(gate.name, 0) + gate.permits
                gate.permits = 0
            if gate.failures or gate.successes >= (_REPORT_AT if gate.is_closed else 1):
                outcomes[gate.name] = (gate.successes, gate.failures)
                gate.successes = gate.failures = 0
                told.append(gate)
        if neutral:
            await self._store.run(breakers.release(neutral, self._now()))
        if not outcomes:
            return False
        was_open = [gate for gate in told if not gate.is_closed]
        states, is_turned = await self._store.run(_recorded(outcomes, self._now()))
        for gate in told:
            self._see(gate, states)
        if is_turned:
            await self._store.hint(Hint("control"))
        return any(gate.is_closed for gate in was_open)

    async def give_all_back(self, caps: Iterable[Cap], permits: Iterable[Permits]) -> None:
        """On shutdown: leave nothing behind that others would have to wait for."""
        for cap in caps:
            if cap.lent:
                async with asyncio.timeout(5.0):
                    await self._give_back(cap, 0)
        for gate in permits:
            for lease in gate.leases:
                lease.until = 0.0
        await self.tend((), permits)

    async def _give_back(self, cap: Cap, keep: int) -> None:
        """From here on the slots are not used any more, whatever becomes of the answer."""
        cap.held, worker = keep, self.worker
        left = await self._store.run(slots.give_back(cap.name, worker, keep=keep, now=self._now()))
        if worker == self.worker:
            cap.lent = left


def _recorded(
    outcomes: Mapping[str, tuple[int, int]], now: float
) -> Script[tuple[dict[str, Condition], bool]]:
    """Report outcomes, tell other nodes when that turned a breaker, and see how all stand."""
    turned = yield from breakers.record(outcomes, now)
    states = yield from breakers.states(outcomes, now=now)
    if turned:
        yield from control.bump()
    return states, bool(turned)
