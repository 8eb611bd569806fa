"""What any provider may say: why an answer ended, words without a code, bare statuses."""

from typing import Final

from dure.ai.table.rule import LONG, SAFETY, Rule
from dure.ai.verdict import Disposition, Reason, Scope

FINISHES: Final = (
    Rule(
        status=(200,),
        finish="refusal|blocked",
        do=Disposition.REFUSED,
        billed=True,
        means="the model refuses this input",
    ),
    Rule(
        status=(200,),
        finish="content_filter|SAFETY|RECITATION|PROHIBITED_CONTENT|BLOCKLIST|SPII",
        do=Disposition.REFUSED,
        billed=True,
        means="a filter stopped the answer",
    ),
    Rule(
        status=(200,),
        finish="length|max_tokens|MAX_TOKENS|model_context_window_exceeded",
        do=Disposition.SHRINK,
        part="output",
        billed=True,
        means="the answer was cut off",
    ),
    Rule(
        status=(200,),
        finish="empty|OTHER",
        do=Disposition.RETRY,
        billed=True,
        means="an answer without a candidate",
    ),
)


ANY: Final = (
    Rule(retry="true", status=(400, 409, 422), do=Disposition.RETRY, means="the provider says so"),
    Rule(
        words=r"insufficient (balance|credit|funds)|credit balance|exceeded your current quota|"
        r"out of credits",
        hint=False,
        status=(400, 402, 403, 429),
        do=Disposition.SUSPEND,
        reason=Reason.QUOTA,
        scope=Scope.ACCOUNT,
        means="no money, by its words",
    ),
    Rule(
        words=r"(invalid|incorrect|missing) (api )?key|unauthori[sz]ed",
        status=(400, 403),
        do=Disposition.SUSPEND,
        reason=Reason.AUTH,
        scope=Scope.ACCOUNT,
        means="the key, by its words",
    ),
    Rule(
        words=r"country|region|location is not supported",
        status=(403,),
        do=Disposition.SUSPEND,
        reason=Reason.REGION,
        scope=Scope.ACCOUNT,
        means="not from this country",
    ),
    Rule(words=LONG, status=(400, 422), do=Disposition.SHRINK, means="the input is too long"),
    Rule(words=SAFETY, status=(400, 422), do=Disposition.REFUSED, means="the input is refused"),
    Rule(
        status=(0,),
        words=r"address|not allowed|refused to send|url",
        do=Disposition.SUSPEND,
        reason=Reason.CONFIG,
        scope=Scope.ACCOUNT,
        means="our own rules forbid this address",
    ),
    Rule(
        status=(0,),
        do=Disposition.RETRY,
        breaker=True,
        billed=True,
        means="no answer in time; it may have been billed",
    ),
    Rule(
        status=(401,),
        do=Disposition.SUSPEND,
        reason=Reason.AUTH,
        scope=Scope.ACCOUNT,
        means="the key",
    ),
    Rule(
        status=(402,),
        do=Disposition.SUSPEND,
        reason=Reason.QUOTA,
        scope=Scope.ACCOUNT,
        means="no money",
    ),
    Rule(
        status=(403, 451),
        do=Disposition.SUSPEND,
        reason=Reason.PERMISSION,
        scope=Scope.ACCOUNT,
        means="not allowed to this key",
    ),
    Rule(
        status=(404, 405, 410),
        do=Disposition.SUSPEND,
        reason=Reason.MODEL,
        scope=Scope.MODEL,
        means="no such model, or no such address",
    ),
    Rule(status=(408, 409, 425, 499), do=Disposition.RETRY, means="transient"),
    Rule(status=(413,), do=Disposition.SHRINK, means="the request is too large"),
    Rule(status=(429,), do=Disposition.THROTTLE, means="too fast, without further words"),
    Rule(status=(400, 422), do=Disposition.FAIL, means="the request"),
)
