"""What an operator decides about fetching: caps, time-outs, who may be reached, and manners."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final, Self

from dure.core.breaker import BreakerPolicy
from dure.core.duration import Span, seconds_of
from dure.fetch.failure import FetchError
from dure.fetch.page import Page
from dure.fetch.verdict import judge
from dure.fetch.wire import Timeouts

MIB: Final = 1024 * 1024
AGENT_DEFAULT: Final = "Mozilla/5.0 (compatible; dure/0.1)"


class Robots(StrEnum):
    """Whether robots.txt is obeyed: a decision of the operator, shown wherever a host is shown."""

    OBEY = "obey"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How a host is treated. Times are in seconds."""

    delay: float = 0.5
    """The least time between two starts; robots.txt and the host's own trouble only add to it."""
    concurrency: int = 4
    """Requests under way at once."""
    crawl_delay_max: float = 60.0
    """A longer Crawl-delay is cut to this."""
    slow_from: float = 1.0
    """A host that takes longer to answer gets so few requests that one is under way on average."""
    pause_first: float = 5.0
    """The rest after a first 429 or 503 without Retry-After; it doubles each time in a row."""
    pause_max: float = 3600.0
    """The longest rest; a longer Retry-After is cut to this."""
    gap_max: float = 60.0
    """The longest time between two starts that 429 and 503 can lead to."""
    ban_first: float = 600.0
    """The rest after every User-Agent was refused with 403; it doubles each time in a row."""
    ban_max: float = 86400.0
    retry_share: float = 0.1
    """How many retries one success pays for."""
    retries: int = 10
    """Failures a host may have in hand before its retries are put off."""
    retry_refill: float = 60.0
    """After so many seconds one more retry is paid for, also without a success."""
    wait_max: float = 10.0
    """A fetch whose turn is later than this fails with HostResting instead of waiting."""
    breaker: BreakerPolicy | None = field(default_factory=BreakerPolicy)

    def __post_init__(self) -> None:
        _check("delay", self.delay, 0.0, 86400.0)
        _check("concurrency", self.concurrency, 1, 10_000)
        _check("crawl_delay_max", self.crawl_delay_max, 0.0, 86400.0)
        _check("slow_from", self.slow_from, 0.001, 86400.0)
        _check("pause_first", self.pause_first, 0.0, self.pause_max)
        _check("pause_max", self.pause_max, 0.0, 7 * 86400.0)
        _check("gap_max", self.gap_max, 0.0, 3600.0)
        _check("ban_first", self.ban_first, 0.0, self.ban_max)
        _check("ban_max", self.ban_max, 0.0, 30 * 86400.0)
        _check("retry_share", self.retry_share, 0.0, 1.0)
        _check("retries", self.retries, 1, 10_000)
        _check("retry_refill", self.retry_refill, 0.001, 86400.0)
        _check("wait_max", self.wait_max, 0.0, 86400.0)

    @classmethod
    def rate(cls, per_second: float, **others: Any) -> Self:
        """At most so many starts in a second, evenly spaced."""
        if not 0.0 < per_second <= 10_000.0:
            raise ValueError(f"a rate must lie over 0, at most 10000 in a second: {per_second}")
        return cls(delay=1.0 / per_second, **others)

    @classmethod
    def every(cls, span: Span, **others: Any) -> Self:
        """One start each `span`, one request under way at a time."""
        return cls(**{"delay": seconds_of(span), "concurrency": 1, **others})


Network = IPv4Network | IPv6Network
Judge = Callable[[Page], FetchError | None]
"""Says which failure an answer stands for; None for success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPolicy:
    """One fetcher's rules. The defaults are polite, careful, and fit a public web crawl."""

    user_agents: tuple[str, ...] = (AGENT_DEFAULT,)
    """Sent in turn: a host that answers 403 gets the next one from then on."""
    robots: Robots = Robots.OBEY
    robots_agent: str = "dure"
    """The name robots.txt knows us by."""
    robots_fresh: float = 86400.0
    """Seconds a robots.txt is believed (RFC 9309: at most a day)."""
    manners: Manners = field(default_factory=Manners)
    hosts: Mapping[str, Manners] = field(default_factory=dict)
    """Manners for hosts named here (`example.org` or `example.org:8080`)."""
    allow: tuple[str, ...] = ()
    """Networks that may be reached although they are private or local (`127.0.0.0/8`)."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    body_max: int = 10 * MIB
    """Bytes of a body as it arrives."""
    decoded_max: int = 50 * MIB
    """Bytes of a body when decompressed."""
    ratio_max: float = 200.0
    """How often its own size a body may have when decompressed, past its first MiB."""
    headers_max: int = 128
    """Header fields of an answer."""
    header_bytes_max: int = 8190
    """Bytes of one header line."""
    redirects_max: int = 10
    cookies: bool = True
    """Whether each host's cookies are kept and sent back."""
    hosts_max: int = 50_000
    """Hosts remembered at once; beyond it idle ones without a history are forgotten."""
    connections: int = 256
    """Connections open at once."""
    judge: Judge = judge
    """Which answers are failures, and of which class; by default the status decides."""
    is_api: bool = False
    """Whether it calls an API, for which robots.txt was never meant."""

    networks: tuple[Network, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        if not self.user_agents or not all(map(_is_header, self.user_agents)):
            raise ValueError(f"user_agents needs at least one line of text, not {self.user_agents}")
        _check("robots_fresh", self.robots_fresh, 60.0, 86400.0)
        _check("body_max", self.body_max, 1, 1 << 30)
        _check("decoded_max", self.decoded_max, 1, 1 << 30)
        _check("ratio_max", self.ratio_max, 1.0, 1e6)
        _check("headers_max", self.headers_max, 1, 10_000)
        _check("header_bytes_max", self.header_bytes_max, 256, MIB)
        _check("redirects_max", self.redirects_max, 0, 10)
        _check("hosts_max", self.hosts_max, 1, 10_000_000)
        _check("connections", self.connections, 1, 10_000)
        object.__setattr__(self, "networks", tuple(map(ip_network, self.allow)))

    @classmethod
    def for_api(cls, **others: Any) -> Self:
        """For calls of an API whose terms we know: its pace is the engine's limits, not ours."""
        manners = Manners(
            delay=0.0,
            concurrency=10_000,
            slow_from=86400.0,
            pause_first=0.0,
            pause_max=0.0,
            gap_max=0.0,
            ban_first=0.0,
            ban_max=0.0,
            retries=10_000,
            retry_refill=0.001,
            wait_max=0.0,
            breaker=None,
        )
        fixed = {"robots": Robots.IGNORE, "cookies": False, "redirects_max": 0, "is_api": True}
        return cls(**{**fixed, "manners": manners, **others})

    def manners_of(self, host: str) -> Manners:
        """How to treat `host` (with its port, unless it is the usual one)."""
        return self.hosts.get(host, self.manners)

    def but(self, **changes: Any) -> Self:
        """The same rules with some changed."""
        return replace(self, **changes)


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} must lie in {low:g}..{high:g}, not {value}")


def _is_header(text: str) -> bool:
    return bool(text.strip()) and text.isprintable() and text.isascii()
