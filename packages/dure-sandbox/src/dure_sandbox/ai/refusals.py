"""Errors as providers really write them: one name of ours, the body and headers of each of them.

Two that look alike may need opposite cures (a 429 that passes and a 429 that says the money is
gone), which is why clients are tested against these and not against bare status codes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from dure_sandbox.exchange import Headers, Response

Dialect = Literal["openai", "anthropic", "gemini"]
DIALECTS: Final[tuple[Dialect, ...]] = ("openai", "anthropic", "gemini")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    status: int
    kind: str
    """`type` of OpenAI and Anthropic, `status` of Gemini."""
    code: str | None
    message: str
    param: str | None = None
    headers: Headers = ()
    details: tuple[Mapping[str, object], ...] = ()


def _openai(
    status: int, kind: str, code: str | None, message: str, param: str | None = None
) -> Refusal:
    return Refusal(status=status, kind=kind, code=code, message=message, param=param)


def _anthropic(status: int, kind: str, message: str) -> Refusal:
    return Refusal(status=status, kind=kind, code=None, message=message)


def _gemini(status: int, kind: str, message: str, *details: Mapping[str, object]) -> Refusal:
    return Refusal(status=status, kind=kind, code=None, message=message, details=details)


def _quota(metric: str, quota_id: str, value: str) -> Mapping[str, object]:
    violation = {
        "quotaMetric": f"generativelanguage.googleapis.com/{metric}",
        "quotaId": quota_id,
        "quotaDimensions": {"location": "global", "model": "sandbox-large"},
        "quotaValue": value,
    }
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}


def _retry_info(delay: str) -> Mapping[str, object]:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


_INVALID, _RATE = "invalid_request_error", "rate_limit_error"

OPENAI: Final[Mapping[str, Refusal]] = MappingProxyType(
    {
        "bad_request": _openai(
            400, _INVALID, None, "Invalid value for 'messages': expected an array.", "messages"
        ),
        "invalid_schema": _openai(
            400,
            _INVALID,
            None,
            "Invalid schema for response_format 'answer': In context=(), "
            "'additionalProperties' is required to be supplied and to be false.",
            "response_format",
        ),
        "context_length": _openai(
            400,
            _INVALID,
            "context_length_exceeded",
            "This model's maximum context length is 8192 tokens. However, your messages "
            "resulted in 9001 tokens. Please reduce the length of the messages.",
            "messages",
        ),
        "content_policy": _openai(
            400,
            _INVALID,
            "content_policy_violation",
            "Your request was rejected as a result of our safety system.",
        ),
        "unauthorized": _openai(
            401, _INVALID, "invalid_api_key", "Incorrect API key provided: sk-****."
        ),
        "permission": _openai(
            403,
            _INVALID,
            "model_not_found",
            "Project `proj_sandbox` does not have access to model `sandbox-large`.",
        ),
        "region": _openai(
            403,
            "request_forbidden",
            "unsupported_country_region_territory",
            "Country, region, or territory not supported",
        ),
        "model_not_found": _openai(
            404,
            _INVALID,
            "model_not_found",
            "The model `sandbox-large` does not exist or you do not have access to it.",
            "model",
        ),
        "conflict": _openai(409, "conflict_error", None, "The resource is locked. Try again."),
        "too_large": _openai(413, _INVALID, None, "Request too large."),
        "rate_limit": _openai(
            429,
            "requests",
            "rate_limit_exceeded",
            "Rate limit reached for sandbox-large in organization org-sandbox on requests "
            "per min (RPM): Limit 500, Used 500, Requested 1. Please try again in 120ms.",
        ),
        "slow_down": _openai(
            429,
            _RATE,
            "slow_down",
            "Slow down: the rate of your requests has risen too quickly.",
        ),
        "insufficient_quota": _openai(
            429,
            "insufficient_quota",
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        "credit_exhausted": _openai(
            429,
            "insufficient_quota",
            "credit_balance_exhausted",
            "Your prepaid credit balance is exhausted. Add credits to continue.",
        ),
        "spend_limit": _openai(
            429,
            "insufficient_quota",
            "project_spend_limit_exceeded",
            "This project has reached its spend limit.",
        ),
        "insufficient_balance": _openai(
            402, "insufficient_balance", "insufficient_balance", "Insufficient Balance"
        ),
        "server_error": _openai(
            500,
            "server_error",
            None,
            "The server had an error while processing your request. Sorry about that!",
        ),
        "overloaded": _openai(
            503,
            "server_error",
            "server_is_overloaded",
            "The engine is currently overloaded, please try again later.",
        ),
    }
)

ANTHROPIC: Final[Mapping[str, Refusal]] = MappingProxyType(
    {
        "bad_request": _anthropic(400, _INVALID, "messages: Field required"),
        "context_length": _anthropic(
            400, _INVALID, "prompt is too long: 210000 tokens > 200000 maximum"
        ),
        "insufficient_quota": _anthropic(
            400,
            _INVALID,
            "Your credit balance is too low to access the API. "
            "Please go to Plans & Billing to upgrade or purchase credits.",
        ),
        "unauthorized": _anthropic(401, "authentication_error", "invalid x-api-key"),
        "insufficient_balance": _anthropic(402, "billing_error", "Payment is required."),
        "permission": _anthropic(
            403, "permission_error", "Your API key may not use the specified resource."
        ),
        "model_not_found": _anthropic(404, "not_found_error", "model: sandbox-large"),
        "conflict": _anthropic(409, "conflict_error", "The request conflicts with another."),
        "too_large": _anthropic(
            413, "request_too_large", "Request exceeds the maximum allowed number of bytes."
        ),
        "rate_limit": _anthropic(
            429,
            _RATE,
            "This request would exceed your organization's rate limit of 50 requests per minute.",
        ),
        "spend_limit": Refusal(
            status=429,
            kind=_RATE,
            code=None,
            message="Your organization has reached its configured spend limit.",
            details=({"error_code": "enforced_spend_limit_reached"},),
        ),
        "server_error": _anthropic(500, "api_error", "Internal server error"),
        "timeout": _anthropic(504, "timeout_error", "The request timed out."),
        "overloaded": _anthropic(529, "overloaded_error", "Overloaded"),
    }
)

_FREE_TIER: Final = "generate_content_free_tier_requests"
GEMINI: Final[Mapping[str, Refusal]] = MappingProxyType(
    {
        "bad_request": _gemini(400, "INVALID_ARGUMENT", "Invalid JSON payload received."),
        "unauthorized": _gemini(
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
                "metadata": {"service": "generativelanguage.googleapis.com"},
            },
        ),
        "region": _gemini(
            400, "FAILED_PRECONDITION", "User location is not supported for the API use."
        ),
        "insufficient_quota": _gemini(
            402, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."
        ),
        "permission": _gemini(403, "PERMISSION_DENIED", "The caller does not have permission"),
        "model_not_found": _gemini(
            404, "NOT_FOUND", "models/sandbox-large is not found for API version v1beta"
        ),
        "rate_limit": _gemini(
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.",
            _quota(_FREE_TIER, "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "15"),
            _retry_info("17s"),
        ),
        "daily_quota": _gemini(
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.",
            _quota(_FREE_TIER, "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "1500"),
            _retry_info("41s"),
        ),
        "zero_quota": _gemini(
            429,
            "RESOURCE_EXHAUSTED",
            f"You exceeded your current quota. * Quota exceeded for metric: {_FREE_TIER}, limit: 0",
            _quota(_FREE_TIER, "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "0"),
            _retry_info("30s"),
        ),
        "server_error": _gemini(500, "INTERNAL", "An internal error has occurred."),
        "overloaded": _gemini(503, "UNAVAILABLE", "The model is overloaded."),
        "timeout": _gemini(504, "DEADLINE_EXCEEDED", "The request timed out."),
    }
)

TABLES: Final[Mapping[Dialect, Mapping[str, Refusal]]] = MappingProxyType(
    {"openai": OPENAI, "anthropic": ANTHROPIC, "gemini": GEMINI}
)

_BY_STATUS: Final = {
    400: "bad_request",
    401: "unauthorized",
    402: "insufficient_balance",
    403: "permission",
    404: "model_not_found",
    409: "conflict",
    413: "too_large",
    429: "rate_limit",
    503: "overloaded",
    529: "overloaded",
}


def refusal_of(name: str, dialect: Dialect, number: int = 0) -> Response:
    """The answer of that provider, with the headers that come with it."""
    return written(TABLES[dialect][name], dialect, number)


def refusal_with(status: int, dialect: Dialect, number: int = 0) -> Response:
    """A bare status in the words of that provider."""
    name = _BY_STATUS.get(status, "bad_request" if status < 500 else "server_error")
    refusal = TABLES[dialect].get(name, TABLES[dialect]["bad_request"])
    return written(replace(refusal, status=status), dialect, number)


def written(refusal: Refusal, dialect: Dialect, number: int) -> Response:
    """The body and headers in the form of that provider."""
    body: object
    headers: list[tuple[str, str]] = [("Content-Type", "application/json")]
    request_id = f"req_{number:016x}"
    match dialect:
        case "openai":
            error = {
                "message": refusal.message,
                "type": refusal.kind,
                "param": refusal.param,
                "code": refusal.code,
            }
            body = {"error": error}
            headers.append(("x-request-id", request_id))
        case "anthropic":
            told: dict[str, object] = {"type": refusal.kind, "message": refusal.message}
            if refusal.details:
                told["details"] = refusal.details[0]
            body = {"type": "error", "error": told, "request_id": request_id}
            headers.append(("request-id", request_id))
        case "gemini":
            wrong: dict[str, object] = {
                "code": refusal.status,
                "message": refusal.message,
                "status": refusal.kind,
            }
            if refusal.details:
                wrong["details"] = refusal.details
            body = [{"error": wrong}]  # through its OpenAI-compatible endpoint it is a list
    headers += refusal.headers
    return Response(status=refusal.status, headers=tuple(headers), body=msgspec.json.encode(body))
