"""What OpenAI says, and endpoints that speak its protocol."""

from typing import Final

from dure.ai.table.rule import COMPATIBLE, LONG, OPENAI, SAFETY, Rule
from dure.ai.verdict import Disposition, Reason, Scope

_CHAT: Final = (OPENAI, COMPATIBLE)
_MONEY: Final = (
    "credit_balance_exhausted|insufficient_balance|organization_spend_limit_exceeded|"
    "project_spend_limit_exceeded|organization_usage_limit_exceeded|"
    "billing_hard_limit_reached|billing_not_active|payment_required"
)
_GIANT: Final = r"request too large|reduce (the )?(length|your)|too many tokens in (this|one)"

CHAT: Final = (
    Rule(
        of=_CHAT,
        code=_MONEY,
        do=Disposition.SUSPEND,
        reason=Reason.QUOTA,
        scope=Scope.ACCOUNT,
        means="no money, even where a Retry-After is given",
    ),
    Rule(
        of=(COMPATIBLE,),
        code="insufficient_quota|quota_exceeded",
        hint=True,
        do=Disposition.THROTTLE,
        means="elsewhere the word also means a minute's limit: a reset is announced",
    ),
    Rule(
        of=_CHAT,
        code="insufficient_quota|quota_exceeded",
        do=Disposition.SUSPEND,
        reason=Reason.QUOTA,
        scope=Scope.ACCOUNT,
        means="no money",
    ),
    Rule(
        of=_CHAT,
        code="slow_down",
        status=(429,),
        do=Disposition.THROTTLE,
        slower=True,
        means="the ramp is too steep, within the limits",
    ),
    Rule(
        of=_CHAT,
        code="slow_down|server_is_overloaded",
        do=Disposition.RETRY,
        breaker=True,
        means="no capacity at the moment",
    ),
    Rule(
        of=_CHAT,
        code="rate_limit_exceeded",
        words=_GIANT,
        do=Disposition.FAIL,
        means="this one request is larger than a whole minute's tokens",
    ),
    Rule(
        of=_CHAT,
        code="rate_limit_exceeded",
        do=Disposition.THROTTLE,
        means="requests or tokens a minute",
    ),
    Rule(
        of=_CHAT,
        code="context_length_exceeded|string_above_max_length",
        do=Disposition.SHRINK,
        means="the input is too long",
    ),
    Rule(
        of=_CHAT,
        code="content_policy_violation|content_filter|ResponsibleAIPolicyViolation",
        do=Disposition.REFUSED,
        means="the input is refused",
    ),
    Rule(
        of=_CHAT,
        code="invalid_api_key|account_deactivated|ip_not_authorized|"
        "invalid_organization|not_a_member|mismatched_organization",
        do=Disposition.SUSPEND,
        reason=Reason.AUTH,
        scope=Scope.ACCOUNT,
        means="the key, its owner or our address",
    ),
    Rule(
        of=_CHAT,
        code="unsupported_country_region_territory",
        do=Disposition.SUSPEND,
        reason=Reason.REGION,
        scope=Scope.ACCOUNT,
        means="not from this country",
    ),
    Rule(
        of=_CHAT,
        code="model_not_found|model_not_available",
        do=Disposition.SUSPEND,
        reason=Reason.MODEL,
        scope=Scope.MODEL,
        means="the model is gone, or not ours to use",
    ),
    Rule(
        of=_CHAT,
        code="service_tier_not_allowed|service_tier.*",
        do=Disposition.SUSPEND,
        reason=Reason.CONFIG,
        scope=Scope.MODEL,
        means="a setting of the account",
    ),
    Rule(
        of=_CHAT,
        code="server_error|internal_error",
        do=Disposition.RETRY,
        breaker=True,
        means="the provider failed",
    ),
    Rule(
        of=_CHAT,
        type=_MONEY,
        do=Disposition.SUSPEND,
        reason=Reason.QUOTA,
        scope=Scope.ACCOUNT,
        means="no money",
    ),
    Rule(
        of=(COMPATIBLE,),
        type="insufficient_quota",
        hint=True,
        do=Disposition.THROTTLE,
        means="a minute's limit: a reset is announced",
    ),
    Rule(
        of=_CHAT,
        type="insufficient_quota",
        do=Disposition.SUSPEND,
        reason=Reason.QUOTA,
        scope=Scope.ACCOUNT,
        means="no money",
    ),
    Rule(
        of=_CHAT,
        type="authentication_error",
        do=Disposition.SUSPEND,
        reason=Reason.AUTH,
        scope=Scope.ACCOUNT,
        means="the key",
    ),
    Rule(
        of=_CHAT,
        type="invalid_request_error",
        status=(400,),
        param="service_tier",
        do=Disposition.SUSPEND,
        reason=Reason.CONFIG,
        scope=Scope.MODEL,
        means="a setting of the account",
    ),
    Rule(
        of=_CHAT,
        type="invalid_request_error",
        status=(400,),
        words=SAFETY,
        do=Disposition.REFUSED,
        means="the input is refused",
    ),
    Rule(
        of=_CHAT,
        type="invalid_request_error",
        status=(400,),
        words=LONG,
        do=Disposition.SHRINK,
        means="the input is too long",
    ),
    Rule(
        of=_CHAT,
        type="invalid_request_error",
        status=(400,),
        do=Disposition.FAIL,
        means="the request, such as a schema outside of the strict subset",
    ),
    Rule(
        of=_CHAT,
        type="server_error|api_error|overloaded_error",
        do=Disposition.RETRY,
        breaker=True,
        means="the provider failed",
    ),
)
