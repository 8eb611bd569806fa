"""A stream: one lane's jobs of one kind and one priority, packed into one integer.

The ready index is `(stream, pos)`, so a claim names exact index ranges and the planner
in the node decides between lanes, kinds and priorities without asking the database.
"""

from typing import Final

from dure.core.state import Priority

_PRIORITY_BITS: Final = 2
_KIND_BITS: Final = 14
_LANE_SHIFT: Final = _PRIORITY_BITS + _KIND_BITS
KINDS_MAX: Final = 1 << _KIND_BITS
LANES_MAX: Final = 1 << 46

_PRIORITY_MASK: Final = (1 << _PRIORITY_BITS) - 1
_KIND_MASK: Final = KINDS_MAX - 1


def pack(lane: int, kind: int, priority: Priority | int) -> int:
    """The stream of a lane, a kind and a priority."""
    return lane << _LANE_SHIFT | kind << _PRIORITY_BITS | priority


def lane_of(stream: int) -> int:
    return stream >> _LANE_SHIFT


def kind_of(stream: int) -> int:
    return (stream >> _PRIORITY_BITS) & _KIND_MASK


def priority_of(stream: int) -> Priority:
    return Priority(stream & _PRIORITY_MASK)


def with_priority(stream: int, priority: Priority | int) -> int:
    """The same lane and kind at another priority."""
    return stream & ~_PRIORITY_MASK | priority
