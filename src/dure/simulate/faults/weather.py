"""What can go wrong between a host and the store, and how often: drawn anew for each seed.

Each seed gets a few of the faults, at rates of its own. A run in which everything happens
at once hides what a single kind of trouble would show.
"""

import random
from typing import Final, NamedTuple

_NEAR_SECONDS: Final = 0.004
_FAR_SECONDS: Final = 1.5
_SHARE: Final = 0.6
"""Of the seeds have a given fault at all."""


class Trip(NamedTuple):
    """How one call to the store will go."""

    out: float
    """Seconds until the store does it."""
    is_refused: bool
    """The store never hears of it."""
    back: float
    """Seconds until the answer arrives."""
    is_lost: bool
    """It is done, and the caller hears that it may not have been."""


class Weather:
    """The dice of the network."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self.is_calm = False
        self.is_over = False
        """The run has been judged: no call is answered any more."""
        self.refused = self._rate(0.05)
        self.lost = self._rate(0.05)
        self.slow = self._rate(0.05)
        self.hints_lost = self._rate(0.7)
        self.hints_doubled = self._rate(0.3)
        self._outages: dict[str, float] = {}

    def _rate(self, most: float) -> float:
        return self._dice.random() * most if self._dice.random() < _SHARE else 0.0

    def cut_off(self, host: str, until: float) -> None:
        """The store is away for this host (`*`: for all) until then."""
        self._outages[host] = max(self._outages.get(host, 0.0), until)

    def clear_up(self) -> None:
        """From now on nothing goes wrong; calls still take a moment."""
        self.is_calm = True
        self._outages.clear()

    def is_cut_off(self, host: str, now: float) -> bool:
        return now < max(self._outages.get(host, 0.0), self._outages.get("*", 0.0))

    def trip(self) -> Trip:
        """The fate of the next call."""
        draw = self._dice.random
        out, back = _NEAR_SECONDS * draw(), _NEAR_SECONDS * draw()
        if self.is_calm:
            return Trip(out, is_refused=False, back=back, is_lost=False)
        if draw() < self.slow:
            out += _FAR_SECONDS * draw()
        if draw() < self.slow:
            back += _FAR_SECONDS * draw()
        return Trip(out, draw() < self.refused, back, draw() < self.lost)

    def copies(self) -> int:
        """How often a hint arrives."""
        if self.is_calm:
            return 1
        draw = self._dice.random()
        if draw < self.hints_lost:
            return 0
        return 2 if draw < self.hints_lost + self.hints_doubled else 1

    def delay(self) -> float:
        """How late a hint arrives."""
        return _NEAR_SECONDS * self._dice.random()
