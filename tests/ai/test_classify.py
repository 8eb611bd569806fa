"""The error table: every row of it, by what providers really say."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from dure.ai import Disposition, Reason, Scope, classify
from dure.ai.classify import provider_of
from dure.ai.signs import read
from dure.ai.table.rule import PROVIDERS
from dure.ai.table.rules import RULES
from dure.core.errors import ConfigError


def chat(code: str | None = None, kind: str = "", message: str = "", param: str = "") -> bytes:
    return msgspec.json.encode(
        {"error": {"code": code, "type": kind, "message": message, "param": param or None}}
    )


def claude(kind: str, message: str = "", code: str = "") -> bytes:
    error: dict[str, Any] = {"type": kind, "message": message}
    if code:
        error["details"] = {"error_code": code}
    return msgspec.json.encode({"type": "error", "error": error})


def google(status: str, message: str = "", *details: Mapping[str, Any]) -> bytes:
    error = {"code": 429, "status": status, "message": message, "details": list(details)}
    return msgspec.json.encode([{"error": error}])


def quota(name: str, delay: str = "53s") -> tuple[Mapping[str, Any], ...]:
    return {"violations": [{"quotaId": name}]}, {"retryDelay": delay}


def ended(finish: str, **message: Any) -> bytes:
    return msgspec.json.encode({"choices": [{"message": message, "finish_reason": finish}]})


SUSPEND, THROTTLE, RETRY = Disposition.SUSPEND, Disposition.THROTTLE, Disposition.RETRY
FAIL, REFUSED, SHRINK = Disposition.FAIL, Disposition.REFUSED, Disposition.SHRINK
ACCOUNT, MODEL = Scope.ACCOUNT, Scope.MODEL
INVALID = "invalid_request_error"
RETRY_AFTER = {"Retry-After": "7"}

Case = tuple[str, int, Mapping[str, str], bytes, Disposition, Reason | None, Scope | None]

CASES: list[Case] = [
    ("openai", 400, {}, chat(None, INVALID, "Invalid schema", "response_format"), FAIL, None, None),
    ("openai", 400, {}, chat("context_length_exceeded", INVALID), SHRINK, None, None),
    ("openai", 400, {}, chat(None, INVALID, "flagged by our safety system"), REFUSED, None, None),
    ("openai", 400, {}, chat("content_policy_violation", INVALID), REFUSED, None, None),
    ("openai", 400, {}, chat(None, INVALID, "", "service_tier"), SUSPEND, Reason.CONFIG, MODEL),
    ("openai", 401, {}, chat("invalid_api_key", INVALID), SUSPEND, Reason.AUTH, ACCOUNT),
    ("openai", 401, {}, b"", SUSPEND, Reason.AUTH, ACCOUNT),
    (
        *("openai", 403, {}, chat("unsupported_country_region_territory")),
        *(SUSPEND, Reason.REGION, ACCOUNT),
    ),
    ("openai", 403, {}, chat(None, "", "no access"), SUSPEND, Reason.PERMISSION, ACCOUNT),
    ("openai", 404, {}, chat("model_not_found", INVALID), SUSPEND, Reason.MODEL, MODEL),
    ("openai", 408, {}, b"", RETRY, None, None),
    ("openai", 409, {}, b"", RETRY, None, None),
    ("openai", 413, {}, b"", SHRINK, None, None),
    ("openai", 422, {}, b"", FAIL, None, None),
    ("openai", 429, RETRY_AFTER, chat("rate_limit_exceeded", "tokens"), THROTTLE, None, None),
    (
        *("openai", 429, {}, chat("rate_limit_exceeded", "tokens", "Request too large for m")),
        *(FAIL, None, None),
    ),
    ("openai", 429, {}, chat("slow_down", "rate_limit_error"), THROTTLE, None, None),
    *(
        ("openai", 429, RETRY_AFTER, chat(code), SUSPEND, Reason.QUOTA, ACCOUNT)
        for code in (
            *("credit_balance_exhausted", "organization_spend_limit_exceeded"),
            *("project_spend_limit_exceeded", "organization_usage_limit_exceeded"),
            *("billing_hard_limit_reached", "billing_not_active", "insufficient_balance"),
        )
    ),
    ("openai", 429, {}, chat("insufficient_quota"), SUSPEND, Reason.QUOTA, ACCOUNT),
    ("openai", 429, RETRY_AFTER, chat("insufficient_quota"), SUSPEND, Reason.QUOTA, ACCOUNT),
    ("compatible", 429, RETRY_AFTER, chat("insufficient_quota"), THROTTLE, None, None),
    ("compatible", 429, {}, chat("insufficient_quota"), SUSPEND, Reason.QUOTA, ACCOUNT),
    ("compatible", 402, {}, b'{"error": "Insufficient Balance"}', SUSPEND, Reason.QUOTA, ACCOUNT),
    ("openai", 500, {}, chat("server_error", "server_error"), RETRY, None, None),
    ("openai", 503, {}, chat("server_is_overloaded"), RETRY, None, None),
    ("openai", 503, {}, chat("slow_down"), RETRY, None, None),
    ("openai", 0, {}, b"timed_out: nothing came", RETRY, None, None),
    ("openai", 200, {}, ended("stop", refusal="no"), REFUSED, None, None),
    ("openai", 200, {}, ended("content_filter", content=""), REFUSED, None, None),
    ("openai", 200, {}, ended("length", content='{"a'), SHRINK, None, None),
    ("openai", 200, {}, b'{"choices": []}', RETRY, None, None),
    ("anthropic", 400, {}, claude(INVALID, "messages: required"), FAIL, None, None),
    (
        *("anthropic", 400, {}, claude(INVALID, "Your credit balance is too low to access")),
        *(SUSPEND, Reason.QUOTA, ACCOUNT),
    ),
    (
        *("anthropic", 400, {}, claude(INVALID, "You have reached your spend limit")),
        *(SUSPEND, Reason.QUOTA, ACCOUNT),
    ),
    ("anthropic", 401, {}, claude("authentication_error"), SUSPEND, Reason.AUTH, ACCOUNT),
    ("anthropic", 402, {}, claude("billing_error"), SUSPEND, Reason.QUOTA, ACCOUNT),
    ("anthropic", 403, {}, claude("permission_error"), SUSPEND, Reason.PERMISSION, ACCOUNT),
    ("anthropic", 404, {}, claude("not_found_error"), SUSPEND, Reason.MODEL, MODEL),
    ("anthropic", 409, {}, claude("conflict_error"), RETRY, None, None),
    ("anthropic", 413, {}, claude("request_too_large"), SHRINK, None, None),
    ("anthropic", 429, RETRY_AFTER, claude("rate_limit_error"), THROTTLE, None, None),
    (
        *("anthropic", 429, {}, claude("rate_limit_error", "", "enforced_spend_limit_reached")),
        *(SUSPEND, Reason.QUOTA, ACCOUNT),
    ),
    ("anthropic", 500, {}, claude("api_error"), RETRY, None, None),
    ("anthropic", 504, {}, claude("timeout_error"), RETRY, None, None),
    ("anthropic", 529, {}, claude("overloaded_error"), RETRY, None, None),
    ("anthropic", 200, {}, b'{"content": [], "stop_reason": "refusal"}', REFUSED, None, None),
    ("anthropic", 200, {}, b'{"content": [], "stop_reason": "max_tokens"}', SHRINK, None, None),
    ("gemini", 400, {}, google("INVALID_ARGUMENT", "bad"), FAIL, None, None),
    (
        *("gemini", 400, {}, google("INVALID_ARGUMENT", "", {"reason": "API_KEY_INVALID"})),
        *(SUSPEND, Reason.AUTH, ACCOUNT),
    ),
    (
        *("gemini", 400, {}, google("FAILED_PRECONDITION", "User location is not supported")),
        *(SUSPEND, Reason.REGION, ACCOUNT),
    ),
    ("gemini", 400, {}, google("FAILED_PRECONDITION"), SUSPEND, Reason.QUOTA, ACCOUNT),
    ("gemini", 402, {}, google("RESOURCE_EXHAUSTED"), SUSPEND, Reason.QUOTA, ACCOUNT),
    ("gemini", 403, {}, google("PERMISSION_DENIED"), SUSPEND, Reason.PERMISSION, ACCOUNT),
    ("gemini", 404, {}, google("NOT_FOUND"), SUSPEND, Reason.MODEL, MODEL),
    (
        *("gemini", 429, {}, google("RESOURCE_EXHAUSTED", "", *quota("RequestsPerMinute"))),
        *(THROTTLE, None, None),
    ),
    (
        *("gemini", 429, {}, google("RESOURCE_EXHAUSTED", "", *quota("RequestsPerDay-Free"))),
        *(SUSPEND, Reason.DAILY_QUOTA, ACCOUNT),
    ),
    (
        *("gemini", 429, {}, google("RESOURCE_EXHAUSTED", "limit: 0, model: x", *quota("PerDay"))),
        *(SUSPEND, Reason.MODEL, MODEL),
    ),
    ("gemini", 429, {}, google("RESOURCE_EXHAUSTED", "spend over 10m"), THROTTLE, None, None),
    ("gemini", 499, {}, google("CANCELLED"), RETRY, None, None),
    ("gemini", 500, {}, google("INTERNAL"), RETRY, None, None),
    ("gemini", 503, {}, google("UNAVAILABLE"), RETRY, None, None),
    ("gemini", 504, {}, google("DEADLINE_EXCEEDED"), RETRY, None, None),
    ("gemini", 504, {}, google("DEADLINE_EXCEEDED", "too many tokens"), SHRINK, None, None),
    ("gemini", 200, {}, b'{"promptFeedback": {"blockReason": "SAFETY"}}', REFUSED, None, None),
    ("gemini", 200, {}, b'{"candidates": [{"finishReason": "SAFETY"}]}', REFUSED, None, None),
    ("gemini", 200, {}, b'{"candidates": [{"finishReason": "MAX_TOKENS"}]}', SHRINK, None, None),
    ("gemini", 200, {}, b'{"candidates": []}', RETRY, None, None),
    ("compatible", 418, {}, b"teapot", FAIL, None, None),
    ("compatible", 520, {}, b"<html>", RETRY, None, None),
    ("compatible", 422, {"x-should-retry": "true"}, b"", RETRY, None, None),
]


@pytest.mark.parametrize(
    "case",
    CASES,
    ids=[f"{i}-{case[0]}-{case[1]}-{case[4]}" for i, case in enumerate(CASES)],
)
def test_what_a_provider_says_has_one_meaning(case: Case) -> None:
    """A7, Z4"""
    provider, status, headers, body, disposition, reason, scope = case

    verdict = classify(provider, status, headers, body)

    assert verdict is not None
    assert (disposition, reason, scope) == (verdict.disposition, verdict.reason, verdict.scope)


def test_a_good_answer_has_no_verdict() -> None:
    for provider in PROVIDERS:
        assert classify(provider, 200, {}, ended("stop", content="{}")) is None


def test_most_meanings_of_the_table_are_reached_by_these_cases() -> None:
    seen = set()
    for provider, status, headers, body, *_ in CASES:
        verdict = classify(provider, status, headers, body)
        assert verdict is not None
        seen.add(verdict.why.partition(" (")[0])

    reachable = {rule.means for rule in RULES}
    assert len(reachable & seen) >= 0.75 * len(reachable), sorted(reachable - seen)


@pytest.mark.parametrize(
    ("headers", "body", "after"),
    [
        ({"retry-after-ms": "1500"}, b"", 1.5),
        ({"Retry-After": "7"}, b"", 7.0),
        (
            {
                "Date": "Thu, 01 Jan 2026 00:00:00 GMT",
                "Retry-After": "Thu, 01 Jan 2026 00:01:00 GMT",
            },
            b"",
            60.0,
        ),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "6m0s",
                "x-ratelimit-remaining-tokens": "900",
                "x-ratelimit-reset-tokens": "20ms",
            },
            b"",
            360.0,
        ),
        (
            {
                "date": "Thu, 01 Jan 2026 00:00:00 GMT",
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:30Z",
            },
            b"",
            30.0,
        ),
        ({}, google("RESOURCE_EXHAUSTED", "", *quota("PerMinute", "53.5s")), 53.5),
        ({"Retry-After": "soon"}, b"", None),
    ],
)
def test_the_time_a_provider_asks_for_is_read_wherever_it_stands(
    headers: Mapping[str, str], body: bytes, after: float | None
) -> None:
    assert after == read(429, headers, body).after


def test_only_what_speaks_against_the_providers_health_opens_a_breaker() -> None:
    assert {True} == {
        verdict.opens_breaker
        for status in (0, 500, 502, 503, 504, 529)
        if (verdict := classify("compatible", status, {}, b"")) is not None
    }
    assert {False} == {
        verdict.opens_breaker
        for status in (400, 401, 404, 422, 429)
        if (verdict := classify("compatible", status, {}, b"")) is not None
    }


def test_the_host_decides_how_errors_are_read() -> None:
    assert "openai" == provider_of("https://api.openai.com/v1")
    assert "gemini" == provider_of("https://generativelanguage.googleapis.com/v1beta/openai")
    assert "compatible" == provider_of("https://openai.example.net/v1")
    with pytest.raises(ConfigError, match="Known: openai"):
        classify("nobody", 200, {}, b"")


@given(
    st.sampled_from(PROVIDERS),
    st.integers(0, 599),
    st.dictionaries(
        st.sampled_from(["Retry-After", "x-ratelimit-reset-tokens", "date", "x"]), st.text()
    ),
    st.one_of(
        st.binary(),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["error", "code", "details", "choices", "message", "status"]),
                    inner,
                )
            ),
        ).map(msgspec.json.encode),
    ),
)
def test_whatever_comes_back_there_is_a_verdict_or_an_answer(
    provider: str, status: int, headers: dict[str, str], body: bytes
) -> None:
    verdict = classify(provider, status, headers, body)

    assert verdict is not None or 200 <= status < 300
    if verdict is not None:
        assert (verdict.disposition is SUSPEND) == (verdict.reason is not None)
        assert (verdict.reason is None) == (verdict.scope is None)
        assert len(verdict.why) < 1000
