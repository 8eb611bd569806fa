"""What may hold a stream back, and how much of it may run now.

A gate answers `room()` from memory, at once. What it needs from the store (permits of a
limit, slots of a fleet-wide cap, a probe of a half-open breaker) is fetched in the
background by the pacer, before a claim is spent: a job that cannot run stays where it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

ROOM_MAX: Final = 1 << 30


class Gate(Protocol):
    """One condition on a stream."""

    def room(self) -> int:
        """How many more may be claimed now."""
        ...

    def take(self, count: int) -> None:
        """Claims are being made against the room."""
        ...

    def untake(self, count: int) -> None:
        """The claims of one `take` are answered: so many fewer were found, maybe none."""
        ...

    def settle(self, count: int) -> None:
        """Attempts that were let through have ended."""
        ...

    def is_thirsty(self) -> bool:
        """Whether asking the store could make room."""
        ...


@dataclass(slots=True)
class Closed:
    """Shut until something changes: a pause, a disabled lane, an unknown kind."""

    why: str

    def room(self) -> int:
        return 0

    def take(self, count: int) -> None:
        raise AssertionError(f"took {count} through a closed gate: {self.why}")

    def untake(self, count: int) -> None:
        """Nothing was taken."""

    def settle(self, count: int) -> None:
        """What ran through before it closed."""

    def is_thirsty(self) -> bool:
        return False


class Resource:
    """A resource of this node (http, cpu, memory, db) with so many places."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.used = 0

    def room(self) -> int:
        return max(self.size - self.used, 0)

    def take(self, count: int) -> None:
        self.used += count

    def untake(self, count: int) -> None:
        self.used -= count

    def settle(self, count: int) -> None:
        self.used -= count

    def is_thirsty(self) -> bool:
        return False


class Cap:
    """A cap over all nodes, of a lane, a kind or a limit; this node holds some of its slots."""

    def __init__(self, name: str, cap: int) -> None:
        self.name = name
        self.cap = cap
        self.held = 0
        """Slots that may be used here."""
        self.lent = 0
        """Slots the store may count as ours: at least `held`, more while an answer is missing."""
        self.used = 0
        self.idle_since: float | None = None

    def room(self) -> int:
        return max(min(self.held, self.cap) - self.used, 0)


class Caps:
    """All caps of a stream. Their slots are taken together or not at all: two nodes that each
    kept one and waited for the other's would wait for ever."""

    def __init__(self, caps: tuple[Cap, ...]) -> None:
        self.caps = caps
        self.retry_at = 0.0
        """Monotonic moment before which asking again is pointless."""

    def room(self) -> int:
        return min(cap.room() for cap in self.caps)

    def take(self, count: int) -> None:
        for cap in self.caps:
            cap.used += count

    def untake(self, count: int) -> None:
        self.take(-count)

    def settle(self, count: int) -> None:
        self.take(-count)

    def is_thirsty(self) -> bool:
        tightest = min(self.caps, key=Cap.room)
        return tightest.held < tightest.cap


class Permits:
    """Permits of one or more limits, leased from the store shortly before they are used."""

    def __init__(self, names: tuple[str, ...], units: Mapping[str, int]) -> None:
        self.names = names
        self.units = dict(units)
        self.leases: list[Lease] = []
        self.retry_at = 0.0
        self.binding = ""
        self.free_at: float | None = None
        """Store's time at which the binding window has room again."""
        self.hold: float | None = None
        """Seconds a permit may be kept before it is used; None until it was looked up."""
        self.refusal = ""
        """Why a single job can never pass, when that is so."""
        self._unanswered = 0
        """Times that permits were taken for claims which are still under way."""

    def room(self) -> int:
        return sum(lease.left for lease in self.leases)

    def take(self, count: int) -> None:
        self._unanswered += 1
        for lease in self.leases:
            used = min(lease.left, count)
            lease.left -= used
            count -= used
            if not count:
                return

    def untake(self, count: int) -> None:
        self._unanswered -= 1
        for lease in reversed(self.leases):
            back = min(lease.size - lease.left, count)
            lease.left += back
            count -= back

    def lapsed(self, now: float) -> "list[Lease]":
        """What must go back at `now`; it cannot be taken any more.

        An empty lease stays until the claims it was emptied for are answered: they may find
        fewer jobs, and what they then give back must not be lost.
        """
        late = [replace(lease) for lease in self.leases if lease.left and lease.until <= now]
        for lease in self.leases:
            if lease.until <= now:
                lease.size, lease.left = lease.size - lease.left, 0
        if not self._unanswered:
            self.leases = [lease for lease in self.leases if lease.left]
        return late

    def latest(self) -> "Lease | None":
        """The lease that the latest claims run on."""
        return next((lease for lease in reversed(self.leases) if lease.left < lease.size), None)

    def settle(self, count: int) -> None:
        """A permit is spent by starting; ending changes nothing."""

    def is_thirsty(self) -> bool:
        return not self.refusal


@dataclass(slots=True)
class Lease:
    """Permits booked together."""

    slots: dict[str, int]
    """Where each limit booked them."""
    size: int
    left: int
    until: float
    """Monotonic moment at which unused ones must go back."""


class Switch:
    """A breaker as this node sees it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_closed = False
        """Not before the store has been asked."""
        self.permits = 0
        self.probing = 0
        self.granted_at = 0.0
        """Monotonic moment of the latest probe permits."""
        self.retry_at = 0.0
        self.open_until: float | None = None
        self.successes = 0
        self.failures = 0
        self.neutral = 0
        """Calls that say nothing about the resource: permits to give back."""

    def room(self) -> int:
        return ROOM_MAX if self.is_closed else self.permits

    def take(self, count: int) -> None:
        if not self.is_closed:
            self.permits -= count
            self.probing += count

    def untake(self, count: int) -> None:
        if not self.is_closed:
            self.permits += count
            self.probing -= count

    def settle(self, count: int) -> None:
        self.probing = max(self.probing - count, 0)

    def is_thirsty(self) -> bool:
        return not self.is_closed
