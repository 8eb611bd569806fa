"""How an answer travels: at once, or step by step with pauses and breaks.

Steps are values too. A socket and the wire in memory carry out the same ones, so a fault
behaves alike in real and in virtual time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from dure_sandbox.exchange import Headers, Response


class Framing(Enum):
    """How the client learns where the body ends."""

    LENGTH = "length"
    """By a Content-Length among the headers."""
    CHUNKED = "chunked"


@dataclass(frozen=True, slots=True)
class Head:
    status: int
    headers: Headers
    framing: Framing = Framing.CHUNKED


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection ends here: as a reset, or closed in good order but too early."""

    is_reset: bool = True


Step = Head | bytes | Pause | Cut
Steps = Iterator[Step]
Delivery = Response | Steps


def head_of(response: Response) -> Head:
    """The head of a response that promises its whole body."""
    length = ("Content-Length", str(len(response.body)))
    return Head(response.status, (*response.headers, length), Framing.LENGTH)
