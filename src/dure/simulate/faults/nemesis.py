"""Who breaks what, and when: drawn from the seed before anything runs."""

import asyncio
import random
from typing import Final

from dure.simulate.faults.fleet import LEASE_SECONDS, Fleet, Member
from dure.simulate.faults.weather import Weather

_EVENTS_MAX: Final = 7
_NODES_MAX: Final = 5
_WORDS: Final = ("kill", "freeze", "outage", "cut", "leave", "jump", "join")


class Nemesis:
    """Breaks nodes, clocks and the way to the store."""

    def __init__(self, fleet: Fleet, weather: Weather, dice: random.Random) -> None:
        self._fleet = fleet
        self._weather = weather
        self._dice = dice
        self._number = 0

    def start_node(self) -> Member:
        """One more node, under a name of its own."""
        self._number += 1
        return self._fleet.start(f"node-{self._number}")

    async def work(self, until: float) -> None:
        """Do damage until then."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        words = self._dice.sample(_WORDS, self._dice.randint(2, len(_WORDS)))
        moments = sorted(
            start + (until - start) * self._dice.random()
            for _ in range(self._dice.randint(2, _EVENTS_MAX))
        )
        for moment in moments:
            await asyncio.sleep(max(moment - loop.time(), 0.0))
            self._strike(self._dice.choice(words), loop.time())

    def _strike(self, word: str, now: float) -> None:
        nodes = [node for node in self._fleet.nodes if not node.host.stands_still]
        if word == "outage":
            self._cut("*", now)
        elif word == "join" or not nodes:
            if len(self._fleet.nodes) < _NODES_MAX:
                self.start_node()
        else:
            self._strike_at(word, self._dice.choice(nodes), now)

    def _strike_at(self, word: str, node: Member, now: float) -> None:
        loop = asyncio.get_running_loop()
        match word:
            case "kill":
                self._fleet.kill(node)
                loop.call_later(3.0 * self._dice.random(), self.start_node)
            case "freeze":
                self._fleet.freeze(node, LEASE_SECONDS * (0.3 + 2.0 * self._dice.random()))
            case "cut":
                self._cut(node.name, now)
            case "leave":
                self._fleet.leave(node)
                loop.call_later(1.0, self.start_node)
            case _:
                seconds = 600.0 * (2.0 * self._dice.random() - 1.0)
                self._fleet.note(f"the wall clock of {node.name} jumps by {seconds:.0f}s")
                node.clock.jump(seconds)

    def _cut(self, host: str, now: float) -> None:
        seconds = 1.5 * LEASE_SECONDS * self._dice.random()
        self._fleet.note(f"the store is away for {host} for {seconds:.1f}s")
        self._weather.cut_off(host, now + seconds)
