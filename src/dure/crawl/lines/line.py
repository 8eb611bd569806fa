"""A stage on one node: fetching, parsing and saving in a row, and what they have done.

waits in the store → fetch → queue → parse → queue → save → committed
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dure.crawl.belt import BeltFigures
from dure.crawl.crew import Crew
from dure.crawl.lines.frontier import Frontier
from dure.crawl.lines.step import Step
from dure.crawl.spider import Stage
from dure.engine.gates import Resource
from dure.engine.node import Node

BY_STEP: Final = ("cpu", "db")
"""Resources that one step of a page needs, and not the page as a whole."""
TO_FETCH: Final = "http"
"""Taken with the claim, so that no page waits for it here, and free once the page is fetched."""


@dataclass(slots=True)
class Tally:
    """What a stage has done on this node, in numbers that only grow."""

    fetched: int = 0
    bytes: int = 0
    fetch_seconds: float = 0.0
    parsed: int = 0
    parse_seconds: float = 0.0
    parse_failed: int = 0
    items: int = 0
    children: int = 0


class Line:
    """What a stage has on a node."""

    def __init__(self, stage: Stage, node: Node, freed: Callable[[Resource], None]) -> None:
        self.stage = stage
        self.frontier = Frontier(f"{stage.kind}.fetch", stage.frontier_max)
        self.crew = Crew(stage.crew)
        self.tally = Tally()
        self.later: list[Frontier] = []
        """Of the stages declared after it, so that no two can wait for each other."""
        places = {
            name: node.pacer.resources[name] if name in stage.uses else None for name in BY_STEP
        }
        self.parse = Step(
            f"{stage.kind}.parse",
            stage.queue_max,
            stage.parse_crew,
            place=places["cpu"],
            clock=node.clock,
            freed=freed,
        )
        self.save = Step(
            f"{stage.kind}.save",
            stage.save_max,
            stage.save_crew,
            place=places["db"],
            clock=node.clock,
            freed=freed,
        )

    @property
    def crews(self) -> list[Crew]:
        """All its workers, in the order a page meets them."""
        return [self.crew, self.parse.crew, self.save.crew]

    @property
    def queues(self) -> list[BeltFigures]:
        """All its queues that have a bound."""
        inner = [self.parse.queue.figures, self.save.queue.figures]
        return inner if self.frontier.capacity is None else [self.frontier.figures, *inner]

    def room(
        self, host: str, running: int, release: Callable[[], Callable[[], None]]
    ) -> int | None:
        """How many pages of a host may bring new ones; None when nothing is bounded."""
        room: int | None = None
        for frontier in self.later:
            space = frontier.space(host)
            if space is None:
                continue
            if space == 0:
                frontier.hold(host, release())
                return 0
            # What a page brings is known on the average only; one may always go.
            brings = max(self.tally.children / self.tally.parsed, 1.0) if self.tally.parsed else 1.0
            may = max(int(space / brings), 1) - running
            room = may if room is None else min(room, may)
        if room is not None and room <= 0:
            release()
        return room
