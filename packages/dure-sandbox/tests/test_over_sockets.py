"""The sites on real sockets."""

import aiohttp
import openai

from dure_sandbox import Sandbox


async def test_news_shop_and_ai_answer_over_http() -> None:
    """Z3: without a key or a network."""
    async with Sandbox(seed=1) as box, aiohttp.ClientSession() as session:
        async with session.get(f"{box.news.url}/breakingnews/section/101/259") as reply:
            listed = await reply.text()
        async with session.get(f"{box.shop.url}/products/5") as reply:
            product = await reply.text()

        assert listed.count('<li class="sa_item') == 36
        assert box.shop.site.product(5, box.clock.now()).sku in product
        assert [each.site for each in box.log.entries] == ["news", "shop"]


async def test_an_official_client_gets_an_answer_and_its_usage() -> None:
    """Z3, Z4."""
    async with (
        Sandbox(seed=1) as box,
        openai.AsyncOpenAI(base_url=f"{box.ai.url}/v1", api_key="any", max_retries=0) as client,
    ):
        answer = await client.chat.completions.create(
            model="sandbox-large", messages=[{"role": "user", "content": "기준금리가 올랐다."}]
        )

    assert answer.choices[0].message.content == "기준금리가 올랐다."
    assert answer.usage is not None
    assert answer.usage.total_tokens > 0
