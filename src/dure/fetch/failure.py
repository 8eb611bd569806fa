"""What can go wrong between asking for a page and having it, and what cures it.

One taxonomy for everything that fetches, because a wrong class drives a wrong cure: a ban
taken for a changed login is retried until the ban is permanent.

    FetchError
    ├── TRANSIENT         Unavailable · ConnectFailed · ConnectionLost · NameUnresolved · TimedOut
    ├── RATE_LIMITED      RateLimited · HostResting
    ├── BLOCKED           Blocked · RobotsDisallowed · RobotsUnreachable
    ├── AUTH              AuthRequired
    ├── NO_DATA           NotThere
    ├── CONTRACT_CHANGED  ContractChanged · BodyTooLarge · BodyBroken · RedirectsEndless
    └── OURS              UrlRefused · AddressRefused · RequestRejected

`ERRORS` says what each means to the engine: `app.kind(errors=ERRORS)`.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final

from dure.core.errors import DureError
from dure.core.outcome import Fail, Outcome, Retry, Skip, Suspend, Wait
from dure.engine.kind import ErrorRule
from dure.fetch.redact import redact, redact_url

if TYPE_CHECKING:
    from dure.fetch.page import Page

WAIT_SECONDS: Final = 60.0
"""How long a job waits for a host that did not say how long."""


class Failure(StrEnum):
    """Whose trouble it is, and so what may help."""

    TRANSIENT = "transient"
    """The other side or the road to it, for now: try again."""
    RATE_LIMITED = "rate_limited"
    """Too fast: wait, then try again."""
    BLOCKED = "blocked"
    """It does not want us: change nothing but the pace, and ask rarely."""
    AUTH = "auth"
    """Credentials are missing, wrong or expired: a person or a token refresh must act."""
    NO_DATA = "no_data"
    """There is nothing at this address, and that is an answer."""
    CONTRACT_CHANGED = "contract_changed"
    """It answers, but not what was agreed: code must change."""
    OURS = "ours"
    """We asked for something that must not or cannot be asked."""

    @property
    def is_worth_a_retry(self) -> bool:
        """Whether time alone may cure it."""
        return self in {Failure.TRANSIENT, Failure.RATE_LIMITED, Failure.BLOCKED}


class FetchError(DureError):
    """Base of all failures of a fetch; never raised itself."""

    code = "fetch"
    failure: ClassVar[Failure] = Failure.TRANSIENT

    def __init__(
        self,
        message: str,
        *,
        url: str = "",
        host: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        page: "Page | None" = None,
        hint: str = "",
    ) -> None:
        self.url = redact_url(url)
        """The address, without secrets."""
        self.host = host
        self.status = status
        self.retry_after = retry_after
        """Seconds from the failure before which another attempt is pointless."""
        self.page = page
        """The answer, where there was one; its body may say more than its status."""
        super().__init__(redact(message), hint)

    def about(self, url: str, host: str) -> None:
        """Say where it happened, if nobody has yet."""
        self.url = self.url or redact_url(url)
        self.host = self.host or host

    def __str__(self) -> str:
        return " ".join(filter(None, (self.message, self.url and f"({self.url})", self.hint)))


class Unavailable(FetchError):
    """The server says that it cannot answer now (5xx)."""

    code = "unavailable"
    retryable = True


class ConnectFailed(FetchError):
    """No connection: refused, unreachable, or TLS that cannot be agreed on."""

    code = "connect_failed"
    retryable = True


class ConnectionLost(FetchError):
    """The connection broke before the answer was complete."""

    code = "connection_lost"
    retryable = True


class NameUnresolved(FetchError):
    """The name of the host has no address, or its name server does not answer."""

    code = "name_unresolved"
    retryable = True


class TimedOut(FetchError):
    """One of the four time-outs: connect, first byte, idle, total."""

    code = "timed_out"
    retryable = True


class RateLimited(FetchError):
    """The server asks for a slower pace (429, or 503 with Retry-After)."""

    code = "rate_limited"
    failure = Failure.RATE_LIMITED
    retryable = True


class HostResting(FetchError):
    """Its pace, its rest or its breaker forbids to ask this host now. Nothing was sent."""

    code = "host_resting"
    failure = Failure.RATE_LIMITED
    retryable = True


class Blocked(FetchError):
    """The host refuses us (403, 451, a ban page)."""

    code = "blocked"
    failure = Failure.BLOCKED
    retryable = True


class RobotsDisallowed(FetchError):
    """robots.txt forbids this address. Nothing was sent."""

    code = "robots_disallowed"
    failure = Failure.BLOCKED


class RobotsUnreachable(FetchError):
    """robots.txt could not be read, which forbids everything until it can."""

    code = "robots_unreachable"
    failure = Failure.BLOCKED
    retryable = True


class AuthRequired(FetchError):
    """Credentials are missing, wrong or expired (401, 407)."""

    code = "auth_required"
    failure = Failure.AUTH


class NotThere(FetchError):
    """There is no such page (404, 410)."""

    code = "not_there"
    failure = Failure.NO_DATA


class ContractChanged(FetchError):
    """An answer that is not HTTP, or not what this address used to answer."""

    code = "contract_changed"
    failure = Failure.CONTRACT_CHANGED


class BodyTooLarge(ContractChanged):
    """The body, its decompressed size, or its head, is over the cap."""

    code = "body_too_large"


class BodyBroken(ContractChanged):
    """The body is not in the encoding its header names."""

    code = "body_broken"


class RedirectsEndless(ContractChanged):
    """More redirects than allowed."""

    code = "redirects_endless"


class UrlRefused(FetchError):
    """Not an address that may be fetched: not http or https, no host, or not a URL at all."""

    code = "url_refused"
    failure = Failure.OURS


class AddressRefused(FetchError):
    """The host's address is private, local or otherwise not to be reached from here."""

    code = "address_refused"
    failure = Failure.OURS


class RequestRejected(FetchError):
    """The server says that the request itself is wrong (other 4xx)."""

    code = "request_rejected"
    failure = Failure.OURS


def cure(error: FetchError) -> Outcome:
    """What a failed fetch means for the job that asked for it."""
    text = f"{type(error).__name__}: {error}"
    match error:
        # Nobody was asked, so the job has not used an attempt. A robots.txt that cannot be read
        # uses one: else what waits for a host that is gone would wait for ever.
        case HostResting():
            return Wait(WAIT_SECONDS if error.retry_after is None else error.retry_after, text)
        case RobotsDisallowed():
            return Skip(text)
    match error.failure:
        case Failure.TRANSIENT | Failure.RATE_LIMITED | Failure.BLOCKED:
            return Retry(text, after=error.retry_after)
        case Failure.AUTH:
            return Suspend("auth", text)
        case Failure.NO_DATA:
            return Skip(text)
        case Failure.CONTRACT_CHANGED | Failure.OURS:
            return Fail(text)


ERRORS: Final[Mapping[type[BaseException], ErrorRule]] = MappingProxyType({FetchError: cure})
"""Every failure of a fetch with its cure, for `app.kind(errors=ERRORS)`."""
