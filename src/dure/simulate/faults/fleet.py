"""The nodes of a simulation: started, killed, frozen, told to leave, as the plan has it."""

import asyncio
import random
from collections.abc import Coroutine
from typing import Any, Final

from dure.core.errors import StoreError
from dure.engine.declare import Declarations
from dure.engine.duties.closing import Closing
from dure.engine.intake.enqueue import Enqueuer
from dure.engine.intake.pressure import Pressure
from dure.engine.names import Names
from dure.engine.node import Node
from dure.engine.options import NodeOptions
from dure.engine.store_clock import StoreClock
from dure.ports.clock import SystemDice
from dure.ports.store import Hint, Store
from dure.simulate.faults.auditor import Auditor
from dure.simulate.faults.faulty_store import FaultyStore
from dure.simulate.faults.hosts import Host, Machines, on_host
from dure.simulate.faults.weather import Weather
from dure.testing.virtual import VirtualClock

SLOTS: Final = 4
LEASE_SECONDS: Final = 3.0
_BEAT_SECONDS: Final = 1.0
_GRACE_SECONDS: Final = 1.0
LEAVING_SECONDS_MAX: Final = 30.0
_RECOVER_SECONDS: Final = 2.0


class Member:
    """A host of the fleet, with its own clock and its own way to the store."""

    def __init__(self, name: str, store: FaultyStore, clock: VirtualClock, dice: int) -> None:
        self.host = Host(name)
        self.store = store
        self.clock = clock
        self.names = Names(store)
        self.store_clock = StoreClock(store, clock)
        self.enqueuer = Enqueuer(store, self.names, clock, Pressure(store, clock))
        self.dice = SystemDice(dice)
        self.node: Node | None = None
        """Set once it has started to work."""
        self.is_leaving = False

    @property
    def name(self) -> str:
        return self.host.name

    @property
    def is_working(self) -> bool:
        return self.node is not None and not (self.host.is_dead or self.is_leaving)


class Fleet:
    """All hosts, and what can be done to them."""

    def __init__(
        self,
        loop: Machines,
        ledger: Store,
        auditor: Auditor,
        weather: Weather,
        dice: random.Random,
    ) -> None:
        self._loop = loop
        self._ledger = ledger
        self._auditor = auditor
        self._weather = weather
        self._dice = dice
        self._app = Declarations()
        self.members: list[Member] = []

    def serves(self, app: Declarations) -> None:
        """Say what the nodes run."""
        self._app = app

    @property
    def nodes(self) -> list[Member]:
        """Members that work, or stand still in their work."""
        return [member for member in self.members if member.is_working]

    def note(self, text: str) -> None:
        """Write down what is being done to the fleet."""
        self._auditor.history.note(self._loop.time(), text)

    def join(self, name: str) -> Member:
        """A new machine."""
        clock = VirtualClock(origin=1000.0 * self._dice.random())
        store = FaultyStore(self._ledger, name, self._weather, self._auditor)
        member = Member(name, store, clock, self._dice.getrandbits(32))
        member.enqueuer.allow(self._app.kinds)
        self.members.append(member)
        return member

    def spawn(self, member: Member, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run something on a machine."""
        context = on_host(member.host)
        return self._loop.create_task(work, name=f"{member.name}-{name}", context=context)

    def start(self, name: str) -> Member:
        """A new machine that works as soon as the store lets it."""
        member = self.join(name)
        self.note(f"{name} starts")
        self.spawn(member, self._start(member), "start")
        return member

    async def _start(self, member: Member) -> None:
        while True:
            node = self._node(member)
            try:
                await node.start()
            except StoreError:
                await asyncio.sleep(0.5)
            else:
                member.node = node
                return

    def _node(self, member: Member) -> Node:
        closing = Closing(member.store, member.enqueuer, member.store_clock, {})

        async def fold() -> float:
            await member.store_clock.sync()
            return await closing.fold()

        return Node(
            member.store,
            self._app.kinds,
            member.names,
            member.enqueuer,
            options=NodeOptions(
                name=member.name,
                slots=SLOTS,
                lease=LEASE_SECONDS,
                beat=_BEAT_SECONDS,
                grace=_GRACE_SECONDS,
                resources={"db": 3},
                recover_after=_RECOVER_SECONDS,
                threaded=False,
            ),
            clock=member.clock,
            dice=member.dice,
            duties={"closing": fold},
        )

    def kill(self, member: Member) -> None:
        """The machine is gone, in the middle of whatever it did."""
        self.note(f"{member.name} is killed")
        self._loop.stop_host(member.host, is_dead=True)

    def freeze(self, member: Member, seconds: float) -> None:
        """The machine stands still for a while and then goes on as if nothing had been."""
        self.note(f"{member.name} stands still for {seconds:.1f}s")
        self._loop.stop_host(member.host)
        self._loop.call_later(seconds, self._thaw, member)

    def _thaw(self, member: Member) -> None:
        if not member.host.is_dead:
            self.note(f"{member.name} goes on")
            self._loop.resume_host(member.host)

    def leave(self, member: Member) -> asyncio.Task[Any]:
        """Tell a node to stop, as a deployment does."""
        self.note(f"{member.name} is told to leave")
        member.is_leaving = True
        return self.spawn(member, self._leave(member), "leave")

    async def _leave(self, member: Member) -> None:
        assert member.node is not None
        is_calm = self._weather.is_calm
        try:
            async with asyncio.timeout(LEAVING_SECONDS_MAX):
                departure = await member.node.stop()
        except TimeoutError:
            self._auditor.violated("a node leaves in time", f"{member.name} did not leave.")
            return
        self.note(f"{member.name} has left: {departure}")
        if is_calm and not departure.is_clean:
            self._auditor.violated("a node leaves cleanly", f"{member.name}: {departure}")

    def thaw_all(self) -> None:
        """End every standstill."""
        for member in self.members:
            if member.host.stands_still and not member.host.is_dead:
                self._thaw(member)

    async def spread(self) -> None:
        """Carry the store's hints to the hosts, as well as the weather allows."""
        async for hint in self._ledger.hints():
            self._hear(hint)

    def _hear(self, hint: Hint) -> None:
        for member in self.nodes:
            member.store.hear(hint)

    def bury(self) -> None:
        """Let everything end: the dead go on too, but whatever they ask is called off."""
        self._weather.is_over = True
        for member in self.members:
            self._loop.resume_host(member.host)
