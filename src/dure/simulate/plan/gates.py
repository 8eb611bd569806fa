"""What may hold a stream back, asked of the engine's own rules in virtual time.

As in a node, a gate is asked before a job is claimed, and a job that may not run stays
where it is. Limits are `core.allowance`, breakers `core.breaker`. Simpler than in a node:
all nodes share one memory, so nothing is lent to one of them while another could use it,
and an answer of the store takes no time.

A stream that was refused waits at the gate, the lane that was served least in front. When
the gate has room for some, so many come back into the rotation. So a thousand lanes behind
one limit cost nothing while they wait.
"""

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Final, Protocol

from dure.core import allowance, breaker
from dure.core.allowance import Booked, Grant
from dure.core.breaker import BreakerPolicy, Phase, Standing
from dure.core.limit import Limit
from dure.core.ring import MICROSECONDS
from dure.simulate.plan.binding import Binding, Cause, Hold
from dure.simulate.plan.stream import Ended, Stream

_POLICY: Final = BreakerPolicy()
"""The engine's breakers have no other one."""
_RETRY_SECONDS_MIN: Final = 0.005
"""As in the engine, which does not ask more often."""


class Owner(Protocol):
    """What gates tell the fleet, and ask of it."""

    now: float
    free: int
    """Slots that nobody uses."""
    leased: "list[Permits]"
    """Gates that have booked permits and must say so at the end of this moment."""

    @property
    def epoch_now(self) -> float:
        """The store's clock."""
        ...

    def comes_back(self, stream: Stream) -> None:
        """A stream may have its turn again."""
        ...

    def wake_at(self, at: float, gate: "Gate") -> None:
        """Ask the gate again at this moment."""
        ...


class Gate:
    """One condition on streams, with those that wait for it."""

    __slots__ = ("_alarm_at", "_cause", "_held", "_jobs", "_ticket", "owner")

    def __init__(self, owner: Owner, cause: Cause) -> None:
        self.owner = owner
        self._cause = cause
        self._held: list[tuple[float, int, Stream]] = []
        self._jobs = 0
        self._ticket = 0
        self._alarm_at = 0.0

    @property
    def held(self) -> int:
        """Streams that wait here."""
        return len(self._held)

    def room(self, wanted: int) -> int:
        """How many of `wanted` may be claimed now."""
        raise NotImplementedError

    def take(self, count: int) -> None:
        """So many are claimed."""

    def settle(self, ended: Ended) -> None:
        """An attempt that was let through has ended."""

    def refuse(self) -> None:
        """A stream found no room: see to it that somebody asks again."""

    def wake(self) -> None:
        """The moment may have come to ask again."""

    def alarm(self, at: float) -> None:
        """Ask again at this moment, unless that is done anyway before."""
        now = self.owner.now
        if self._alarm_at <= now or at < self._alarm_at:
            self._alarm_at = at
            self.owner.wake_at(at, self)

    def hold(self, stream: Stream, virtual: float) -> None:
        """Let a stream wait; `virtual` is how often its lane has been served."""
        self._ticket += 1
        heappush(self._held, (virtual, self._ticket, stream))
        stream.held_by = self
        self.grow(stream.waiting)
        self.refuse()

    def grow(self, jobs: int) -> None:
        """More jobs wait here, or fewer."""
        self._jobs += jobs
        self._cause.jobs += jobs

    def reopen(self, count: int) -> None:
        """Let up to `count` streams have their turn again, the least served ones."""
        while count > 0 and self._held:
            _, _, stream = heappop(self._held)
            stream.held_by = None
            self.grow(-stream.waiting)
            self.owner.comes_back(stream)
            count -= 1

    def blame(self, cause: Cause) -> None:
        """What holds them is called something else now."""
        if cause is not self._cause:
            self._cause.jobs -= self._jobs
            cause.jobs += self._jobs
            self._cause = cause


class Cap(Gate):
    """So many at once: of a lane, a kind, a limit or a resource."""

    __slots__ = ("_cap", "_used")

    def __init__(self, owner: Owner, cause: Cause, cap: int) -> None:
        super().__init__(owner, cause)
        self._cap = cap
        self._used = 0

    def room(self, wanted: int) -> int:
        return min(self._cap - self._used, wanted)

    def take(self, count: int) -> None:
        self._used += count

    def settle(self, ended: Ended) -> None:  # noqa: ARG002 - a place is free however it ended
        self._used -= 1
        if self._held:
            self.reopen(1)


class Permits(Gate):
    """Permits of one or more limits. Each attempt takes one, and whatever it costs besides.

    When streams come back, the permits they will need are booked at once: asking each time
    is what costs most in a whole plan. What they do not use goes back in the same moment.
    """

    __slots__ = (
        "_answers",
        "_binding",
        "_closed_until",
        "_delta",
        "_lease",
        "_next_at",
        "_rings",
        "_units",
    )

    def __init__(
        self,
        owner: Owner,
        binding: Binding,
        rings: "tuple[Ring, ...]",
        *,
        tokens: int,
        used: int | None,
    ) -> None:
        first = rings[0]
        super().__init__(owner, binding.cause(Hold.LIMIT, first.limit.name, ""))
        self._binding = binding
        self._rings = rings
        self._units: Mapping[str, int] = {"tokens": tokens} if tokens else allowance.NO_UNITS
        self._delta = 0 if used is None else used - tokens
        self._answers: list[Grant] = []
        self._closed_until = 0.0
        self._next_at = 0.0
        """When there will be one more permit than the last answers granted."""
        self._lease = 0
        """Permits that are booked and not used yet."""
        for ring in rings:
            ring.users.append(self)

    def room(self, wanted: int) -> int:
        """As many as the scarcest limit has; they are booked when they are taken."""
        if self._lease:
            return min(self._lease, wanted)
        if self.owner.now < self._closed_until:
            return 0
        granted = self._look(wanted)
        if granted < wanted:
            self._closed_until = self._next_at
        return granted

    def take(self, count: int) -> None:
        if self._lease:
            self._lease -= count
        else:
            self._book(count)

    def settle(self, ended: Ended) -> None:
        """What was used differs from what was reserved: correct it where it was booked."""
        if not (self._delta and ended.is_good):
            return
        slot = round(ended.started_at * MICROSECONDS)
        for ring in self._rings:
            ring.settle(self.owner.epoch_now, slot, self._delta)

    def refuse(self) -> None:
        """Ask again when the window that is full longest has room for one more."""
        self.alarm(self._closed_until)

    def wake(self) -> None:
        """As many streams may come back as there are permits for."""
        if not self._held:
            return
        if self.owner.now < self._closed_until:
            self.alarm(self._closed_until)
            return
        wanted = self.held
        granted = self._look(wanted)
        if 0 < granted <= self.owner.free:
            self._book(granted)
            self._lease = granted
            self.owner.leased.append(self)
        if granted < wanted:
            self._closed_until = self._next_at if self._lease else 0.0
            self.alarm(self._next_at)
        self.reopen(granted)

    def give_back(self) -> None:
        """Let others have the permits that were booked and that nobody has used."""
        count, self._lease = self._lease, 0
        if count:
            self._closed_until = 0.0
            for ring, answer in zip(self._rings, self._answers, strict=True):
                ring.release(answer.slot, count, self._units)
                ring.ask_again(self)

    def ask_again(self) -> None:
        """Bookings were corrected: there may be room earlier than it was said."""
        if not self._lease:
            self._closed_until = 0.0
            self.wake()

    def _look(self, wanted: int) -> int:
        """How many permits there are, and when the next one comes if those are too few."""
        self._answers = self._ask(wanted)
        granted = min(answer.granted for answer in self._answers)
        if granted < wanted:
            self._next_at = self._next()
        return granted

    def _book(self, count: int) -> None:
        if any(answer.granted != count for answer in self._answers):
            self._answers = self._ask(count)
        for ring, answer in zip(self._rings, self._answers, strict=True):
            ring.value = answer.value

    def _ask(self, want: int) -> list[Grant]:
        """What each limit would book. Nothing is booked by asking."""
        now = self.owner.epoch_now
        return [ring.ask(now, want, self._units) for ring in self._rings]

    def _next(self) -> float:
        """When to ask again, and what is to blame until then."""
        latest = 0.0
        for ring, answer in zip(self._rings, self._answers, strict=True):
            if answer.retry_at is not None and answer.retry_at > latest:
                latest = answer.retry_at
                cause = self._binding.cause(Hold.LIMIT, ring.limit.name, answer.binding or "")
                self.blame(cause)
        return self.owner.now + max(latest - self.owner.epoch_now, _RETRY_SECONDS_MIN)


class Ring:
    """One limit, what is booked on it, and who asks it."""

    __slots__ = ("limit", "users", "value")

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.value: Booked = {}
        self.users: list[Permits] = []

    def ask(self, now: float, want: int, units: Mapping[str, int]) -> Grant:
        grant = allowance.acquire(self.limit, self.value, now, want, units)
        assert isinstance(grant, Grant), "a job that can never run is refused when it is read"
        return grant

    def settle(self, now: float, slot: int, delta: int) -> None:
        self.value = allowance.settle(self.limit, self.value, now, slot, unit="tokens", delta=delta)
        self.ask_again()

    def release(self, slot: int, count: int, units: Mapping[str, int]) -> None:
        self.value = allowance.release(self.limit, self.value, slot, count=count, units=units)

    def ask_again(self, but: Permits | None = None) -> None:
        """Let all ask again that share this limit."""
        for user in self.users:
            if user is not but:
                user.ask_again()


class Switch(Gate):
    """A breaker."""

    __slots__ = ("_granted", "_retry_at", "_value")

    def __init__(self, owner: Owner, cause: Cause) -> None:
        super().__init__(owner, cause)
        self._value: Standing = {}
        self._retry_at = 0.0

    def room(self, wanted: int) -> int:
        if self._is_closed:
            return wanted
        permit = breaker.permit(_POLICY, self._value, self.owner.epoch_now, wanted)
        self._retry_at = permit.retry_at or self.owner.epoch_now
        return permit.granted

    def take(self, count: int) -> None:
        if not self._is_closed:
            self._value = breaker.permit(_POLICY, self._value, self.owner.epoch_now, count).value

    def settle(self, ended: Ended) -> None:
        was_closed = self._is_closed
        good = int(ended.is_good or ended.is_blamed)
        now = self.owner.epoch_now
        self._value = breaker.record(_POLICY, self._value, now, good, 1 - good)
        if self._held and not was_closed:
            self.reopen(self.held if self._is_closed else 1)

    def refuse(self) -> None:
        ahead = max(self._retry_at - self.owner.epoch_now, _RETRY_SECONDS_MIN)
        self.alarm(self.owner.now + ahead)

    def wake(self) -> None:
        if self._held:
            self.reopen(max(self.room(self.held), 1))

    @property
    def _is_closed(self) -> bool:
        return self._value.get("phase", Phase.CLOSED) == Phase.CLOSED
