"""What stands beside the engine and knows one field: crawling knows hosts, and when each is due.

A battery declares kinds like anybody else. What it adds is a gate before the lanes of its
kinds, answered from its own memory, and duties of its own on each node.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from dure.engine.duties.service import Tick
from dure.engine.gates import Gate

if TYPE_CHECKING:
    from dure.engine.node import Node

LaneGates = Callable[[str, str, Callable[[], None]], Gate | None]
"""(kind, lane, release) → the gate before that lane, if a battery has one.

`release` is to be called when a gate that was without room has some again: lanes that such a
gate holds back are not asked meanwhile, so a thousand hosts that wait cost nothing.
"""


class Presence(Protocol):
    """A battery on one node."""

    @property
    def duties(self) -> Mapping[str, Tick]:
        """Background rounds, by name."""
        ...

    def gate(self, kind: str, lane: str, release: Callable[[], None]) -> Gate | None:
        """The gate before a lane of one of its kinds; None for kinds that are not its own.

        It may be asked again for the same lane at any time and must answer the same gate.
        """
        ...

    async def leave(self) -> None:
        """The node leaves: nothing may stay behind that others would have to wait for."""
        ...


class Battery(Protocol):
    """Opens and closes with its app, and stands beside each node of it."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    def serve(self, node: "Node") -> Presence:
        """A node is starting."""
        ...
