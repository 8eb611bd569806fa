"""Gates of every stream, kept supplied: permits before claims.

`admit` answers from memory. A gate without room that could get some is noted as thirsty;
`tend` asks the store for it and wakes the claimer when room came.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from dure.core.errors import StoreError
from dure.core.fairness import Rotation
from dure.core.stream import kind_of, lane_of
from dure.engine.battery import LaneGates
from dure.engine.claiming.supply import Supply
from dure.engine.control import Control
from dure.engine.gates import ROOM_MAX, Cap, Caps, Closed, Gate, Lease, Permits, Resource, Switch
from dure.engine.kind import PER_LANE, ChunkKind, Kind
from dure.engine.names import Names
from dure.engine.store_clock import StoreClock
from dure.engine.work import Work
from dure.ports.clock import Clock

_TICK_SECONDS: Final = 0.25
_IDLE_SECONDS: Final = 1.0
_WANT_MIN: Final = 1


class Pacer:
    """Decides what may be claimed now, and fetches what is missing."""

    def __init__(
        self,
        supply: Supply,
        control: Control,
        names: Names,
        *,
        clock: Clock,
        store_clock: StoreClock,
        rotation: Rotation,
        kinds: Mapping[int, Kind[Any, Any] | ChunkKind[Any]],
        resources: Mapping[str, int],
        wake: Callable[[], None],
        lane_gates: LaneGates,
    ) -> None:
        self._supply = supply
        self._control = control
        self._names = names
        self._clock = clock
        self._rotation = rotation
        self._kinds = kinds
        self._wake = wake
        self._lane_gates = lane_gates
        self._of_one_lane: set[int] = set()
        """Gates that hold back one lane only, and release it by themselves."""
        self._is_starved = False
        """Some lane was refused by a gate that others share."""
        self.store_now = store_clock.now
        self.resources = {name: Resource(name, size) for name, size in resources.items()}
        self.shares: dict[str, Resource] = {}
        """What kinds with a range of slots may take of this node's, by kind."""
        self._gates: dict[int, tuple[Gate, ...]] = {}
        self.caps: dict[str, Cap] = {}
        self._together: dict[tuple[str, ...], Caps] = {}
        self.permits: dict[tuple[tuple[str, ...], int], Permits] = {}
        self.switches: dict[str, Switch] = {}
        self._thirsty: dict[int, Gate] = {}
        self._wanted: dict[int, int] = {}
        self._thirst = asyncio.Event()
        self.is_freed = False
        """Room came back: lanes that were held back may ask again."""

    def admit(self, stream: int, wanted: int) -> int:
        """How many jobs of a stream may be claimed; they count as taken at once."""
        gates = self._gates.get(stream)
        if gates is None:
            gates = self._gates_of(stream)
            if gates is None:
                return 0
        if not gates:
            return wanted
        room = wanted
        for gate in gates:
            here = gate.room()
            if here < wanted and gate.is_thirsty():
                self._ask(gate, wanted)
            if here <= 0 and id(gate) not in self._of_one_lane:
                self._is_starved = True
            room = min(room, here)
        if room > 0:
            for gate in gates:
                gate.take(room)
        return max(room, 0)

    def untake(self, gates: tuple[Gate, ...], count: int) -> None:
        """A claim is answered; another lane may have been refused for what it did not find."""
        for gate in gates:
            gate.untake(count)
        if gates and count:
            self.is_freed = self.is_freed or self._is_starved

    def settle(self, gates: tuple[Gate, ...]) -> None:
        """An attempt has ended that was admitted through these gates.

        The stream may have others by now: a pause, for one, has none that could hear of it.
        """
        if gates:
            for gate in gates:
                gate.settle(1)
            self.is_freed = self.is_freed or self._is_starved

    def let_go(self, work: Work, name: str) -> None:
        """A running attempt needs a resource no longer: others need not wait for its end."""
        place = self.resources[name]
        if place in work.gates:
            work.gates = tuple(gate for gate in work.gates if gate is not place)
            self.settle((place,) * len(work.claims))
            if self.is_freed:
                self._wake()

    def forget_refusals(self) -> None:
        """Every lane is about to ask again."""
        self.is_freed = self._is_starved = False

    def ask_again(self) -> None:
        """Bookings were corrected: limits may have room earlier than they said."""
        for gate in self.permits.values():
            gate.retry_at = 0.0
        self._thirst.set()

    def ungated(self) -> frozenset[int]:
        """Streams that nothing holds back, as far as known."""
        return frozenset(stream for stream, gates in self._gates.items() if not gates)

    def lease_of(self, stream: int) -> Lease | None:
        """The permits that a stream's latest claims run on."""
        for gate in self._gates.get(stream, ()):
            if isinstance(gate, Permits):
                return gate.latest()
        return None

    def switch_of(self, stream: int) -> Switch | None:
        """The breaker that watches a stream."""
        for gate in self._gates.get(stream, ()):
            if isinstance(gate, Switch):
                return gate
        return None

    def gates_of(self, stream: int) -> tuple[Gate, ...]:
        """The gates of a stream at present."""
        return self._gates.get(stream, ())

    def rebuild(self) -> None:
        """Operators changed something: work the gates out anew, and let every lane ask again."""
        old = self._gates
        self._gates = {}
        self._of_one_lane.clear()
        for stream in old:
            self._gates_of(stream)
        self._rotation.release()
        self._wake()

    def _ask(self, gate: Gate, wanted: int) -> None:
        key = id(gate)
        self._thirsty[key] = gate
        self._wanted[key] = max(self._wanted.get(key, 0), wanted)
        self._thirst.set()

    def _gates_of(self, stream: int) -> tuple[Gate, ...] | None:
        """The gates of a stream; None while its lane cannot be named yet."""
        lane_id, kind_id = lane_of(stream), kind_of(stream)
        kind = self._kinds.get(kind_id)
        if kind is None:
            gates: tuple[Gate, ...] = (Closed("no handler here"),)
        else:
            if not self._names.knows_lane(lane_id):
                return None
            gates = self._work_out(kind, lane_id)
        self._gates[stream] = gates
        if self._has_supplied:
            self._thirst.set()
        return gates

    @property
    def _has_supplied(self) -> bool:
        """Whether there is anything to fetch, give back or report."""
        return bool(self.caps or self.permits or self.switches)

    def _work_out(self, kind: Kind[Any, Any] | ChunkKind[Any], lane_id: int) -> tuple[Gate, ...]:
        terms, name = kind.terms, self._names.lane(lane_id)
        lane = self._control.lanes.get(lane_id)
        if lane is not None:
            self._rotation.weigh(lane_id, lane.weight)
        pause = self._control.pause_of(kind.name, name)
        if pause is not None:
            return (Closed("paused"),)
        if lane is not None and lane.disabled_at is not None:
            return (Closed("disabled"),)
        gates: list[Gate] = [self.resources[resource] for resource in terms.uses]
        if terms.slots is not None:
            share = Resource(kind.name, terms.slots[0])
            gates.append(self.shares.setdefault(kind.name, share))
        own = self._lane_gates(kind.name, name, lambda: self._release(lane_id))
        if own is not None:
            self._of_one_lane.add(id(own))
            gates.append(own)
        limits = tuple(sorted({*terms.limits, *(lane.limits if lane else ())}))
        caps = {
            f"lane:{name}": (lane.max_running if lane else None)
            or self._control.settings["lane.cap_default"],
            f"kind:{kind.name}": terms.max_running,
            **{
                f"limit:{limit.name}": limit.max_running
                for limit in map(self._control.limits.get, limits)
                if limit is not None
            },
        }
        if any(caps.values()):
            gates.append(self._caps({name: cap for name, cap in caps.items() if cap}))
        if terms.breaker is not None:
            breaker = f"{kind.name}:{name}" if terms.breaker == PER_LANE else terms.breaker
            gates.append(self.switches.setdefault(breaker, Switch(breaker)))
        if limits:
            key = (limits, terms.tokens)
            if key not in self.permits:
                units = {"tokens": terms.tokens} if terms.tokens else {}
                self.permits[key] = Permits(limits, units)
            gates.append(self.permits[key])
        return tuple(gates)

    def _release(self, lane_id: int) -> None:
        """The gate of one lane has room again."""
        self._rotation.release_lane(lane_id)
        self._wake()

    def _caps(self, sizes: Mapping[str, int]) -> Caps:
        for name, size in sizes.items():
            self.caps.setdefault(name, Cap(name, size)).cap = size
        together = tuple(sizes)
        if together not in self._together:
            self._together[together] = Caps(tuple(self.caps[name] for name in together))
        return self._together[together]

    async def run(self) -> None:
        """Fetch what thirsty gates ask for, and give back what lies idle."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TICK_SECONDS if self._has_supplied else None):
                    await self._thirst.wait()
            self._thirst.clear()
            try:
                await self._tend()
            except StoreError:
                await asyncio.sleep(_IDLE_SECONDS)

    async def _tend(self) -> None:
        now = self._clock.monotonic()
        if not self._rotation.is_held_back:
            self._thirsty.clear()
        switches = [gate for gate in self._thirsty.values() if isinstance(gate, Switch)]
        came = await self._ask_breakers([s for s in switches if not self._is_too_early(s, now)])
        for key, gate in list(self._thirsty.items()):
            if isinstance(gate, Switch) or self._is_too_early(gate, now):
                continue
            wanted = max(self._wanted.pop(key, _WANT_MIN), _WANT_MIN)
            if await self._supply.fetch(gate, min(wanted, ROOM_MAX)):
                came = True
                del self._thirsty[key]
            else:
                self._wanted[key] = wanted
                self._is_too_early(gate, self._clock.monotonic())
        came = (
            await self._supply.tend(list(self.caps.values()), list(self.permits.values())) or came
        )
        came = await self._supply.report(list(self.switches.values())) or came
        if came:
            self._rotation.release()
            self._wake()

    async def _ask_breakers(self, switches: list[Switch]) -> bool:
        """All at once: a crawl that meets a thousand hosts has a thousand of them."""
        wants = {gate: max(self._wanted.pop(id(gate), _WANT_MIN), _WANT_MIN) for gate in switches}
        came = await self._supply.probes(wants)
        for gate in switches:
            if gate in came:
                del self._thirsty[id(gate)]
            else:
                self._wanted[id(gate)] = wants[gate]
                self._is_too_early(gate, self._clock.monotonic())
        return bool(came)

    def _is_too_early(self, gate: Gate, now: float) -> bool:
        """Whether asking again is pointless yet; if so, remember to do it in time."""
        wait: float = getattr(gate, "retry_at", 0.0) - now
        if wait > 0:
            asyncio.get_running_loop().call_later(wait, self._thirst.set)
        return wait > 0
