"""How much of a resource a node may use, from how the machine fares.

Memory comes first: too much of it in use takes places away at once, whatever else is idle.
Between what makes a resource grow and what makes it shrink lies a range in which it rests.
"""

from typing import Final, NamedTuple

from dure.core.adaptive import Bounds

MEMORY_MAX: Final = 0.8
"""Share of the memory in use from which everything shrinks."""
CPU_IDLE: Final = 0.5
"""Share of the processors in use below which there is room for more."""
_STEPS: Final = 8


class Load(NamedTuple):
    """How the machine fares."""

    memory: float
    """Share in use, 0..1."""
    cpu: float
    """Share of what this process may use, 0..1."""


def places(bounds: Bounds, size: int, *, given: int, used: int, load: Load) -> int:
    """How many places a resource has from now on; `used` of `size` are taken.

    It comes back to the size it was given as soon as memory allows it. Beyond that it grows
    while it is used and processors are idle; busy ones are no reason to shrink, for what waits
    for the network does not use them.
    """
    size = bounds.clamp(size)
    if load.memory > MEMORY_MAX:
        return bounds.clamp(size - max(size // 4, 1))
    if size < given:
        return bounds.clamp(min(size + max(given // _STEPS, 1), given))
    if load.cpu < CPU_IDLE and used * 2 >= size:
        return bounds.clamp(size + max((bounds.high - bounds.low) // _STEPS, 1))
    return size
