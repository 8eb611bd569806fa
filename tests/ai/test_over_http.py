"""The provider over real HTTP on loopback, through the fetcher's own wire."""

from typing import Any

from aiohttp import web
from tests.ai.desk import Summary
from tests.ai.wire import said

from dure.ai import Disposition, OpenAICompatible, Question
from dure.ai.schema import derive
from dure_sandbox import Fault, Sandbox


async def test_an_answer_and_an_error_come_through_and_private_addresses_must_be_allowed() -> None:
    """Z4, Z5"""
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        seen.append(request.headers["Authorization"])
        if body["messages"][-1]["content"] == "poor":
            return web.json_response({"error": {"code": "insufficient_balance"}}, status=402)
        return web.json_response(said('{"a": 1}').body)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    allowed = OpenAICompatible(url, model="m", key="k", allow=("127.0.0.0/8",))
    refused = OpenAICompatible(url, model="m", key="k")
    try:
        good = await allowed.ask(question("rich"))
        poor = await allowed.ask(question("poor"))
        never = await refused.ask(question("rich"))
    finally:
        await allowed.close()
        await refused.close()
        await runner.cleanup()

    assert ('{"a": 1}', 100, None) == (good.text, good.usage.input, good.verdict)
    assert poor.verdict is not None
    assert Disposition.SUSPEND is poor.verdict.disposition
    assert never.verdict is not None
    assert Disposition.SUSPEND is never.verdict.disposition
    assert ["Bearer k", "Bearer k"] == seen


def question(text: str) -> Question:
    return Question(name="x", system="", text=text, schema={}, output_max=10)


R, T, S, F, X, C = (
    *(Disposition.RETRY, Disposition.THROTTLE, Disposition.SUSPEND),
    *(Disposition.FAIL, Disposition.REFUSED, Disposition.SHRINK),
)
FAULTS: tuple[tuple[str, dict[str, Any], Disposition], ...] = (
    ("throttle", {}, T),
    ("throttle", {"retry_after": 7}, T),
    ("status", {"status": 500}, R),
    ("status", {"status": 503, "retry_after": 7}, R),
    ("redirect_loop", {}, S),
    ("reset", {}, R),
    ("reset", {"at": "body"}, R),
    ("stall", {}, R),
    ("stall", {"at": "body"}, R),
    ("slow_start", {}, R),
    ("slow_body", {"rate": 1}, R),
    ("cut_body", {}, R),
    ("cut_gzip", {}, R),
    ("gzip_bomb", {"size": 64 << 20}, R),
    ("endless_body", {"size": 64 << 20}, R),
    ("header_flood", {}, R),
    ("refusal", {}, X),
    ("content_filter", {}, X),
    ("out_of_tokens", {}, C),
    *((name, {}, S) for name in ("unauthorized", "permission", "region", "model_not_found")),
    *((name, {}, S) for name in ("insufficient_quota", "credit_exhausted", "spend_limit")),
    *((name, {}, R) for name in ("conflict", "server_error", "overloaded")),
    *((name, {}, T) for name in ("rate_limit", "slow_down")),
    *((name, {}, F) for name in ("bad_request", "invalid_schema")),
    *((name, {}, C) for name in ("context_length", "too_large")),
    ("content_policy", {}, X),
    *((name, {"dialect": "anthropic"}, S) for name in ("insufficient_quota", "spend_limit")),
    ("timeout", {"dialect": "anthropic"}, R),
    *((name, {"dialect": "gemini"}, S) for name in ("daily_quota", "zero_quota", "unauthorized")),
    ("rate_limit", {"dialect": "gemini"}, T),
)


async def test_each_fault_of_the_sandbox_over_http_is_judged_by_its_row() -> None:
    """Z3, Z4, A7"""
    schema = derive(Summary)
    found = []
    async with Sandbox(seed=1) as box:
        for kind, more, wanted in FAULTS:
            number = box.faults.add(Fault(kind=kind, site="ai", **more))
            speaks = more.get("dialect", "openai")
            provider = OpenAICompatible(
                f"{box.ai.url}/v1",
                model="m",
                key="k",
                speaks=speaks,
                allow=("127.0.0.0/8",),
                timeout="500ms",
            )
            asked = Question(
                name="x", system="", text="문장이다. " * 9, schema=schema, output_max=99
            )
            answer = await provider.ask(asked)
            await provider.close()
            box.faults.remove(number)
            got = None if answer.verdict is None else answer.verdict.disposition
            if got is not wanted:
                found.append((kind, more, got, wanted))

    assert [] == found


async def test_an_address_where_nobody_listens_bills_nothing_and_says_so() -> None:
    provider = OpenAICompatible("http://127.0.0.1:9/v1", model="m", allow=("127.0.0.0/8",))
    answer = await provider.ask(question("x"))
    await provider.close()

    assert answer.verdict is not None
    assert (R, True, False) == (
        answer.verdict.disposition,
        answer.verdict.opens_breaker,
        answer.verdict.billed,
    )
    assert "nobody answers at this address" in answer.verdict.why
