"""What the machine has and what is used of it, read from where Linux says so.

In a container its own limits count, not the machine's. Where nothing can be read, nothing is
adjusted: the load then looks like one that calls for no change.
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from dure.core.adaptive import Bounds
from dure.core.load import Load, places
from dure.engine.gates import Resource
from dure.ports.clock import Clock

_CGROUP: Final = Path("/sys/fs/cgroup")
_MEMINFO: Final = Path("/proc/meminfo")
_SECONDS: Final = 2.0
_GROWTH: Final = 4
"""A resource may grow to so many times the size it was given."""
CALM: Final = Load(memory=0.7, cpu=0.7)


def memory_share(cgroup: Path = _CGROUP, meminfo: Path = _MEMINFO) -> float | None:
    """Share of the memory in use: of the container's limit if it has one, else of the machine's."""
    limit, used = _number(cgroup / "memory.max"), _number(cgroup / "memory.current")
    if limit and used is not None:
        # What is only cached can be had back: it is no pressure.
        return min(max(used - _inactive_file(cgroup / "memory.stat"), 0) / limit, 1.0)
    try:
        lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        total, free = (int(lines[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError):
        return None
    return 1.0 - free / total if total else None


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _inactive_file(path: Path) -> int:
    try:
        for line in path.read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == "inactive_file":
                return int(value)
    except (OSError, ValueError):
        return 0
    return 0


class Meter:
    """Watches this process and the machine, and moves the resources of its node."""

    def __init__(self, clock: Clock, resources: Mapping[str, Resource]) -> None:
        self._clock = clock
        self._resources = resources
        self.bounds = {
            name: Bounds(1, max(each.size * _GROWTH, 1)) for name, each in resources.items()
        }
        self.given = {name: each.size for name, each in resources.items()}
        self._seen = (clock.monotonic(), time.process_time())
        self._next_at = 0.0
        self.load = CALM
        self.read: Callable[[float], Load] = self._read

    def tick(self) -> None:
        """Look, and adjust; at most every two seconds."""
        now = self._clock.monotonic()
        if now < self._next_at:
            return
        self._next_at = now + _SECONDS
        self.load = self.read(now)
        for name, each in self._resources.items():
            each.size = places(
                self.bounds[name],
                each.size,
                given=self.given[name],
                used=each.used,
                load=self.load,
            )

    def peak(self) -> int:
        """Bytes this process has had resident at most."""
        return peak_memory()

    def _read(self, now: float) -> Load:
        then, before = self._seen
        cpu = time.process_time()
        self._seen = (now, cpu)
        memory = memory_share()
        passed = now - then
        return Load(
            memory=CALM.memory if memory is None else memory,
            # One process runs Python on one processor, whatever the machine has.
            cpu=min((cpu - before) / passed, 1.0) if passed > 0 else CALM.cpu,
        )


def peak_memory() -> int:
    """Bytes this process has had resident at most."""
    import resource  # noqa: PLC0415  # not on every system

    unit = 1 if os.uname().sysname == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
