"""The faults that are switched on, and which of them strikes a request."""

import re
from collections import OrderedDict
from collections.abc import Iterator
from fnmatch import translate
from typing import Final

from dure.core.errors import ConfigError, NotFound
from dure.ports.clock import Clock
from dure_sandbox.exchange import Request
from dure_sandbox.faults.fault import AI_ONLY, ERRORS, Fault
from dure_sandbox.lots import drawn, number_of

FAULTS_MAX: Final = 1000
SEEN_MAX: Final = 100_000
"""How many different requests a fault remembers, to draw again when one is repeated."""
HOP: Final = "_hop="
"""Marks a request that an endless redirect has sent."""


class Active:
    """A fault that is switched on, with what it has done so far."""

    def __init__(self, number: int, fault: Fault, now: float) -> None:
        self.number = number
        self.fault = fault
        self.begins_at = now + fault.starts_in
        self.ends_at = None if fault.lasts is None else self.begins_at + fault.lasts
        self.matched = 0
        self.struck = 0
        self._site = "ai" if fault.kind in AI_ONLY | ERRORS else fault.site
        self._patterns = [
            (name, re.compile(translate(pattern.lower()), re.IGNORECASE))
            for name in ("hostname", "path", "method", "agent")
            if (pattern := fault.host if name == "hostname" else getattr(fault, name)) != "*"
        ]
        self._seen: OrderedDict[int, int] = OrderedDict()

    def strikes(self, site: str, request: Request, seed: int, now: float) -> bool:
        """Whether this request is struck. Counts it when it matches."""
        fault = self.fault
        if now < self.begins_at or (self.ends_at is not None and now >= self.ends_at):
            return False
        if self._site is not None and self._site != site:
            return False
        if not all(each.match(getattr(request, name)) for name, each in self._patterns):
            return False
        self.matched += 1
        if self.matched <= fault.skip:
            return False
        is_hop = fault.kind == "redirect_loop" and HOP in request.target
        if not is_hop:
            if fault.count is not None and self.struck >= fault.count:
                return False
            if fault.share < 1.0 and self._draw(request, seed) >= fault.share:
                return False
        self.struck += 1
        return True

    def _draw(self, request: Request, seed: int) -> float:
        """Depends on the request and how often it was made, not on what others do meanwhile."""
        asked = f"{request.method} {request.hostname} {request.target}\n".encode() + request.body
        key = number_of(asked)
        times = self._seen.pop(key, 0) + 1
        self._seen[key] = times
        if len(self._seen) > SEEN_MAX:
            self._seen.popitem(last=False)
        return drawn(seed, self.number, key, times)


class Faults:
    """Switched on one by one; the first that strikes decides."""

    def __init__(self, seed: int, clock: Clock) -> None:
        self._seed = seed
        self._clock = clock
        self._last = 0
        self._active: dict[int, Active] = {}

    def __iter__(self) -> Iterator[Active]:
        return iter(list(self._active.values()))

    def __len__(self) -> int:
        return len(self._active)

    def add(self, fault: Fault) -> int:
        """Switch a fault on; the number to switch it off by."""
        if len(self._active) >= FAULTS_MAX:
            raise ConfigError(f"{FAULTS_MAX} faults are on already.", "Switch some off first.")
        self._last += 1
        self._active[self._last] = Active(self._last, fault, self._clock.now())
        return self._last

    def remove(self, number: int) -> None:
        if self._active.pop(number, None) is None:
            raise NotFound(f"There is no fault {number}.", "GET /_sandbox/faults lists them.")

    def clear(self) -> None:
        self._active.clear()

    def pick(self, site: str, request: Request, now: float) -> Fault | None:
        for each in self._active.values():
            if each.strikes(site, request, self._seed, now):
                return each.fault
        return None
