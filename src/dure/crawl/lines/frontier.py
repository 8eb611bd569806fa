"""The pages of a stage that wait in the store: a queue of its own for each host, with a bound.

Earlier stages are what fills it. While a host's queue is full their pages of that host stay
where they are, so a site is discovered no faster than it is read. How many wait is counted in
the store every second and kept up in between by what this node adds and takes.
"""

from collections.abc import Callable, Mapping

from dure.crawl.belt import BeltFigures


class Frontier:
    """What waits for one stage."""

    def __init__(self, name: str, capacity: int | None) -> None:
        self.name = name
        self.capacity = capacity
        """Pages of one host; None: no bound, and nothing is counted."""
        self.max_depth = 0
        self.total_in = 0
        self.total_out = 0
        self.blocked = 0
        """How often a host's earlier pages had to wait for a place."""
        self._depths: dict[str, int] = {}
        self._held: dict[str, dict[Callable[[], None], None]] = {}

    def space(self, host: str) -> int | None:
        """How many more pages of a host may wait; None when that does not matter."""
        if self.capacity is None:
            return None
        return max(self.capacity - self._depths.get(host, 0), 0)

    def hold(self, host: str, release: Callable[[], None]) -> None:
        """Earlier pages of a host are not claimed until there is room: then call this."""
        if host not in self._held:
            self._held[host] = {}
            self.blocked += 1
        self._held[host][release] = None

    def add(self, host: str, count: int) -> None:
        """Pages were found."""
        self.total_in += count
        self._set(host, self._depths.get(host, 0) + count)

    def take(self, host: str) -> None:
        """A page is begun."""
        self.total_out += 1
        depth = self._depths.get(host, 0)
        if depth:
            self._set(host, depth - 1)

    def learn(self, depths: Mapping[str, int]) -> None:
        """What the store counted."""
        for host in self._depths.keys() - depths.keys():
            self._set(host, 0)
            del self._depths[host]
        for host, depth in depths.items():
            self._set(host, depth)

    @property
    def figures(self) -> BeltFigures:
        """Of the host whose queue is the longest; totals are of all."""
        depth = max(self._depths.values(), default=0)
        return BeltFigures(
            self.name,
            depth,
            self.capacity or 0,
            self.max_depth,
            self.total_in,
            self.total_out,
            self.blocked,
        )

    def _set(self, host: str, depth: int) -> None:
        self._depths[host] = depth
        self.max_depth = max(self.max_depth, depth)
        if host in self._held and (self.capacity is None or depth * 2 <= self.capacity):
            # Not at the first free place: one page may bring hundreds.
            for release in self._held.pop(host):
                release()
