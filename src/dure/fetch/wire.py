"""The one seam to the network: a call goes out, a reply comes back, both still raw.

A wire sends one request and nothing else: no redirects, no cookies, no decompression, no
retries of its own beyond a connection that had died unnoticed before it was used again.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from multidict import CIMultiDict, CIMultiDictProxy

Headers = CIMultiDict[str] | CIMultiDictProxy[str]
"""Header fields in order; names in any case, several values of one name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Four clocks on one request; each is in seconds."""

    connect: float = 10.0
    """Name, connection and TLS together."""
    first_byte: float = 20.0
    """From the request being sent to the head of the answer."""
    idle: float = 20.0
    """Between two pieces of the body."""
    total: float = 60.0
    """From the first to the last byte, redirects not included."""

    def __post_init__(self) -> None:
        for name in ("connect", "first_byte", "idle", "total"):
            value = getattr(self, name)
            if not 0.0 < value <= 86400.0:
                raise ValueError(f"timeout {name} must be over 0s, at most 86400s, not {value}")


@dataclass(slots=True)
class Call:
    """One request as it goes on the wire."""

    method: str
    url: str
    """Canonical, with scheme and host."""
    headers: Mapping[str, str]
    body: bytes | None
    timeouts: Timeouts


class Reply(Protocol):
    """The head of an answer, and a way to its body."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Headers: ...

    @property
    def peer(self) -> str | None:
        """The address that answered; None where there is no network in between."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, still encoded, in pieces of bounded size."""
        ...

    def close(self) -> None:
        """Done with it. A body that was not read to its end costs the connection."""
        ...


class Wire(Protocol):
    """What sends calls. Raises only FetchError."""

    async def send(self, call: Call) -> Reply: ...

    async def close(self) -> None: ...
