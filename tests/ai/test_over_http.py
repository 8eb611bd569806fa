"""The provider over real HTTP on loopback, through the fetcher's own wire."""

from aiohttp import web
from tests.ai.wire import said

from dure.ai import Disposition, OpenAICompatible, Question


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
