"""What a provider's answer means: one of six dispositions, and how far it reaches."""

from dataclasses import dataclass
from enum import StrEnum


class Disposition(StrEnum):
    """What to do about an answer that is no result."""

    RETRY = "retry"
    """Transient: another attempt, by the kind's policy."""
    THROTTLE = "throttle"
    """Too fast: nothing is sent before the moment it names. Costs no attempt."""
    SUSPEND = "suspend"
    """No attempt can succeed until somebody acts, or a day is over. Costs no attempt."""
    FAIL = "fail"
    """The request itself is wrong: another attempt would not help."""
    REFUSED = "refused"
    """The model will not answer this input; an answer like any other."""
    SHRINK = "shrink"
    """Too long: once more with less, then it has failed."""


class Scope(StrEnum):
    """Who is suspended together."""

    ACCOUNT = "account"
    MODEL = "model"
    KIND = "kind"
    LANE = "lane"


class Reason(StrEnum):
    """Why jobs are SUSPENDED; `resume` takes the same word."""

    QUOTA = "QUOTA"
    AUTH = "AUTH"
    PERMISSION = "PERMISSION"
    REGION = "REGION"
    MODEL = "MODEL"
    CONFIG = "CONFIG"
    DAILY_QUOTA = "DAILY_QUOTA"
    BUDGET = "BUDGET"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer of `classify`: plain values only."""

    disposition: Disposition
    why: str
    """One sentence for the job's error, with the provider's own words in it."""
    code: str = ""
    """The provider's code or type, as found."""
    param: str = ""
    """The parameter it complains about."""
    reason: Reason | None = None
    """Of a suspension."""
    scope: Scope | None = None
    after: float | None = None
    """Seconds to wait at least, where the provider said so."""
    opens_breaker: bool = False
    """Whether it speaks against the provider's health."""
    slower: bool = False
    """The ramp is too steep: the rate itself must come down."""
    billed: bool = False
    """Whether tokens may have been charged."""
    until: str = ""
    """A suspension that ends by itself: `midnight` of the provider, or `month` (1st, 00:00 UTC)."""
