"""What Anthropic says."""

from typing import Final

from dure.ai.table.rule import ANTHROPIC, LONG, Rule
from dure.ai.verdict import Disposition, Reason, Scope

CLAUDE: Final = (
    Rule(
        of=(ANTHROPIC,),
        type="invalid_request_error",
        status=(400,),
        do=Disposition.SUSPEND,
        reason=Reason.QUOTA,
        words=r"credit balance is too low|spend(ing)? limit|usage limit",
        scope=Scope.ACCOUNT,
        means="no money; of the same type as a typing error",
    ),
    Rule(
        of=(ANTHROPIC,),
        type="invalid_request_error",
        status=(400,),
        words=LONG,
        do=Disposition.SHRINK,
        means="the input is too long",
    ),
    Rule(
        of=(ANTHROPIC,),
        type="invalid_request_error",
        status=(400,),
        do=Disposition.FAIL,
        means="the request",
    ),
    Rule(
        of=(ANTHROPIC,),
        type="authentication_error",
        do=Disposition.SUSPEND,
        reason=Reason.AUTH,
        scope=Scope.ACCOUNT,
        means="the key",
    ),
    Rule(
        of=(ANTHROPIC,),
        type="billing_error",
        do=Disposition.SUSPEND,
        reason=Reason.QUOTA,
        scope=Scope.ACCOUNT,
        means="no money",
    ),
    Rule(
        of=(ANTHROPIC,),
        type="permission_error",
        do=Disposition.SUSPEND,
        reason=Reason.PERMISSION,
        scope=Scope.ACCOUNT,
        means="not allowed to this key",
    ),
    Rule(
        of=(ANTHROPIC,),
        type="not_found_error",
        do=Disposition.SUSPEND,
        reason=Reason.MODEL,
        scope=Scope.MODEL,
        means="no such model",
    ),
    Rule(
        of=(ANTHROPIC,),
        type="conflict_error",
        do=Disposition.RETRY,
        means="a conflict of the moment",
    ),
    Rule(of=(ANTHROPIC,), type="request_too_large", do=Disposition.SHRINK, means="over 32 MB"),
    Rule(
        of=(ANTHROPIC,),
        type="rate_limit_error",
        detail="enforced_spend_limit_reached",
        do=Disposition.SUSPEND,
        reason=Reason.QUOTA,
        scope=Scope.ACCOUNT,
        until="month",
        means="the month's spend limit; it begins anew on the first, 00:00 UTC",
    ),
    Rule(
        of=(ANTHROPIC,),
        type="rate_limit_error",
        do=Disposition.THROTTLE,
        means="requests or tokens a minute",
    ),
    Rule(
        of=(ANTHROPIC,),
        type="overloaded_error|api_error|timeout_error",
        do=Disposition.RETRY,
        breaker=True,
        means="the provider's fault",
    ),
)
