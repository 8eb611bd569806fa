"""How many pages were claimed and are not begun yet, told from four counts that only grow.

The engine says when pages are claimed and when they are settled, a page says when it begins
and ends. One that is settled without having begun (it was given back) is told by the rest.
"""


class Flow:
    """Pages on their way through one gate."""

    __slots__ = ("begun", "ended", "settled", "taken")

    def __init__(self) -> None:
        self.taken = 0
        self.begun = 0
        self.ended = 0
        self.settled = 0

    @property
    def ahead(self) -> int:
        """Claimed, and not begun yet."""
        return max(self.taken - self.begun - max(self.settled - self.ended, 0), 0)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is on its way here."""
        return self.taken <= self.settled

    def settle(self, count: int) -> None:
        """Pages are committed, or given back."""
        self.settled += count
        if self.taken <= self.settled:
            # Nothing is left: what the counts cannot tell apart ends here.
            self.taken = self.begun = self.ended = self.settled = 0
