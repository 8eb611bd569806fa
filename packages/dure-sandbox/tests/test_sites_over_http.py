"""The sites on real sockets, asked by real clients (Z3)."""

import json
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

import aiohttp
import openai
import pytest

from dure.core.errors import ConfigError
from dure_sandbox import AiOptions, Limits, Sandbox, ShopOptions

SUMMARY: Any = {
    "type": "json_schema",
    "json_schema": {
        "name": "summary",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "summary": {"type": "string", "maxLength": 200},
                "mood": {"type": "string", "enum": ["good", "bad"]},
            },
            "required": ["summary", "mood"],
            "additionalProperties": False,
        },
    },
}


async def test_news_shop_and_ai_answer_without_a_key_or_a_network() -> None:
    async with Sandbox(seed=1) as box, aiohttp.ClientSession() as session:
        async with session.get(f"{box.news.url}/breakingnews/section/101/259") as reply:
            listed = await reply.text()
        async with session.get(f"{box.shop.url}/products/5") as reply:
            product = await reply.text()

        assert listed.count('<li class="sa_item') == 36
        assert box.shop.site.product(5, box.clock.now()).sku in product
        assert [each.site for each in box.log.entries] == ["news", "shop"]
        assert box.log.entries[1].target == "/products/5"


async def test_an_official_client_gets_an_answer_under_its_schema_and_the_usage() -> None:
    """Z4."""
    async with Sandbox(seed=1) as box, _client(box) as client:
        raw = await client.chat.completions.with_raw_response.create(
            model="sandbox-large",
            messages=[{"role": "user", "content": "기준금리가 올랐다. 환율은 내렸다."}],
            response_format=SUMMARY,
        )
        answer = raw.parse()

    content = json.loads(answer.choices[0].message.content or "")
    assert "기준금리" in content["summary"]
    assert content["mood"] in {"good", "bad"}
    assert answer.usage is not None
    assert answer.usage.total_tokens > answer.usage.prompt_tokens > 0
    assert int(raw.headers["x-ratelimit-remaining-requests"]) > 0


async def test_an_official_client_lists_models_and_embeds_texts() -> None:
    async with Sandbox(seed=1) as box, _client(box) as client:
        models = await client.models.list()
        made = await client.embeddings.create(
            model="sandbox-embedding", input=["금리 인상", "금리 인하", "배추 가격"]
        )

    near, far = (
        sum(a * b for a, b in zip(made.data[0].embedding, made.data[n].embedding, strict=True))
        for n in (1, 2)
    )
    assert models.data[0].id == "sandbox-large"
    assert len(made.data[0].embedding) == 1536
    assert near > far


async def test_a_limit_that_is_reached_answers_429_until_the_minute_has_passed() -> None:
    options = AiOptions(limits=Limits(rpm=2))
    async with Sandbox(seed=1, ai=options) as box, _client(box) as client:
        for _ in range(2):
            await _ask(client)
        with pytest.raises(openai.RateLimitError) as refused:
            await _ask(client)

    assert refused.value.code == "rate_limit_exceeded"
    assert 1 <= int(refused.value.response.headers["retry-after"]) <= 60


async def test_a_strict_schema_is_refused_as_the_real_provider_refuses_it() -> None:
    loose = json.loads(json.dumps(SUMMARY))
    del loose["json_schema"]["schema"]["additionalProperties"]
    async with Sandbox(seed=1) as box, _client(box) as client:
        with pytest.raises(openai.BadRequestError, match="additionalProperties"):
            await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "x"}], response_format=loose
            )


async def test_no_key_is_refused() -> None:
    async with (
        Sandbox(seed=1) as box,
        aiohttp.ClientSession() as session,
        session.post(f"{box.ai.url}/v1/chat/completions", json={}) as reply,
    ):
        assert reply.status == 401
        assert "API key" in (await reply.json())["error"]["message"]


async def test_an_unchanged_article_is_not_sent_again() -> None:
    async with Sandbox(seed=1) as box, aiohttp.ClientSession() as session:
        facts = next(
            each
            for each in box.news.site.listed("258", "", box.clock.now())
            if each.look.value == "plain"
        )
        url = f"{box.news.url}/mnews/article/{facts.oid}/{facts.aid}"
        async with session.get(url) as reply:
            tag, modified = reply.headers["ETag"], reply.headers["Last-Modified"]
        statuses = []
        older = format_datetime(parsedate_to_datetime(modified) - timedelta(days=1), usegmt=True)
        for header in (
            {"If-None-Match": tag},
            {"If-Modified-Since": modified},
            {"If-None-Match": '"other"', "If-Modified-Since": modified},
            {"If-Modified-Since": older},
        ):
            async with session.get(url, headers=header) as reply:
                statuses.append(reply.status)

    assert statuses == [304, 304, 200, 200]


async def test_a_thousand_hosts_answer_on_one_port_each_with_its_own_products() -> None:
    shop = ShopOptions(products=5000, hosts=1000)
    async with Sandbox(seed=1, shop=shop) as box, aiohttp.ClientSession() as session:
        urls = list(box.shop_urls())
        async with session.get(f"{urls[700]}/products") as reply:
            listed = await reply.text()
        async with session.get(f"{urls[700]}/products/701") as reply:
            status = reply.status

    assert len(set(urls)) == 1000
    assert listed.count('class="product"') == 5
    assert status == 404
    assert box.log.entries[0].host == urls[700].removeprefix("http://")


async def test_a_body_in_chunks_and_pipelined_requests_are_understood() -> None:
    async def parts() -> object:
        yield b'{"model": "m", "input"'
        yield b': ["a"]}'

    async with Sandbox(seed=1) as box, aiohttp.ClientSession() as session:
        url = f"{box.ai.url}/v1/embeddings"
        async with session.post(url, data=parts(), headers={"Authorization": "Bearer k"}) as reply:
            assert reply.status == 200


async def test_a_port_that_is_taken_is_said_clearly() -> None:
    async with Sandbox(seed=1) as box:
        port = int(box.news.url.rpartition(":")[2])
        with pytest.raises(ConfigError, match="cannot listen"):
            async with Sandbox(seed=1, port=port):
                pass


def _client(box: Sandbox) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{box.ai.url}/v1", api_key="any", max_retries=0)


async def _ask(client: openai.AsyncOpenAI) -> None:
    await client.chat.completions.create(
        model="sandbox-large", messages=[{"role": "user", "content": "기준금리가 올랐다."}]
    )
