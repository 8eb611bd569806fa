"""What a battery may put beside the engine: a gate before each lane of its kinds, and duties."""

from collections.abc import Callable, Mapping

import dure
from dure.engine.duties.service import Tick
from dure.engine.gates import Gate
from dure.engine.node import Node
from dure.testing import in_virtual_time, running


class Turnstile:
    """Lets as many through as it was told to."""

    def __init__(self, release: Callable[[], None]) -> None:
        self.left = 0
        self.asked = 0
        self.release = release
        self.ended = 0

    def room(self) -> int:
        self.asked += 1
        return self.left

    def take(self, count: int) -> None:
        self.left -= count

    def untake(self, count: int) -> None:
        self.left += count

    def settle(self, count: int) -> None:
        self.ended += count

    def is_thirsty(self) -> bool:
        return False


class Turnstiles:
    """A battery, and what it has on its only node."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.gates: dict[str, Turnstile] = {}
        self.rounds = 0
        self.said: list[str] = []

    async def open(self) -> None:
        self.said.append("open")

    async def close(self) -> None:
        self.said.append("close")

    def serve(self, node: Node) -> "Turnstiles":
        self.said.append("serve")
        return self

    @property
    def duties(self) -> Mapping[str, Tick]:
        return {"turnstiles": self._round}

    async def _round(self) -> float:
        self.rounds += 1
        return 1.0

    def gate(self, kind: str, lane: str, release: Callable[[], None]) -> Gate | None:
        if kind != self.kind:
            return None
        return self.gates.setdefault(lane, Turnstile(release))

    async def leave(self) -> None:
        self.said.append("leave")


@in_virtual_time
async def test_a_lane_waits_at_its_own_gate_and_others_do_not() -> None:
    app = dure.App(":memory:")
    ran: list[str] = []

    @app.kind
    async def gated(name: str) -> None:
        ran.append(name)

    @app.kind
    async def free(name: str) -> None:
        ran.append(name)

    battery = Turnstiles("gated")
    app.attach(battery)
    async with running(app) as t:
        await t.enqueue_many([gated("a"), gated("b")], lane="one")
        await t.enqueue_many([free("c")], lane="two")
        await t.run_until_idle()
        assert ran == ["c"]

        battery.gates["one"].left = 1
        await t.advance("5s")
        assert ran == ["c"], "it said no, and is not asked again before it says so"
        battery.gates["one"].release()
        await t.advance("1s")
        assert ran == ["c", "a"]
        assert battery.gates["one"].ended == 1

        battery.gates["one"].left = 1
        battery.gates["one"].release()
        await t.run_until_idle()
        assert ran == ["c", "a", "b"]
        assert battery.rounds > 5
    assert battery.said == ["open", "serve", "leave", "close"]


@in_virtual_time
async def test_a_thousand_lanes_that_wait_are_not_asked_while_others_work() -> None:
    app = dure.App(":memory:")

    @app.kind
    async def gated(name: str) -> None:
        """Never let through."""

    @app.kind
    async def free(name: str) -> None:
        """Works all the while."""

    battery = Turnstiles("gated")
    app.attach(battery)
    async with running(app) as t:
        for number in range(200):
            await t.enqueue(gated("x"), lane=f"host {number}")
        await t.run_until_idle()
        before = sum(gate.asked for gate in battery.gates.values())
        for _ in range(50):
            await t.enqueue_many([free("y")] * 10)
            await t.advance("10ms")

        asked = sum(gate.asked for gate in battery.gates.values()) - before
        assert asked < 50 * len(battery.gates) / 4
