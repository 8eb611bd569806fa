"""Every fault on a real socket, and the API that switches faults on and off (Z3)."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest

from dure.core.errors import ConfigError, DureError
from dure_sandbox import Fault, Sandbox
from dure_sandbox.faults.fault import fault_of, faults_from


async def get(box: Sandbox, path: str = "/products/1", **options: Any) -> tuple[int, bytes, Any]:
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session,
        session.get(box.shop.url + path, **options) as reply,
    ):
        return reply.status, await reply.read(), reply.headers


async def test_a_throttle_says_how_long_when_it_has_a_retry_after() -> None:
    async with Sandbox(seed=1) as box:
        number = box.faults.add(Fault(kind="throttle", retry_after=7))
        first, _, headers = await get(box)
        box.faults.remove(number)
        box.faults.add(Fault(kind="throttle"))
        second, _, bare = await get(box)

    assert (first, headers["Retry-After"]) == (429, "7")
    assert (second, bare.get("Retry-After")) == (429, None)


@pytest.mark.parametrize("at", ["head", "body"])
async def test_a_reset_breaks_the_connection(at: Any) -> None:
    async with Sandbox(seed=1) as box:
        box.faults.add(Fault(kind="reset", at=at))
        with pytest.raises(aiohttp.ClientError):
            await get(box)

        assert [each.status for each in box.log.entries][-1] == (0 if at == "head" else 200)
        assert {each.fault for each in box.log.entries} == {"reset"}


@pytest.mark.parametrize("at", ["head", "body"])
async def test_a_stall_keeps_the_client_waiting(at: Any) -> None:
    async with Sandbox(seed=1) as box:
        box.faults.add(Fault(kind="stall", at=at, seconds=60))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await get(box)


async def test_a_cut_body_is_shorter_than_promised() -> None:
    async with Sandbox(seed=1) as box:
        box.faults.add(Fault(kind="cut_body"))
        with pytest.raises(aiohttp.ClientPayloadError):
            await get(box)


async def test_a_cut_gzip_body_does_not_unpack() -> None:
    async with Sandbox(seed=1) as box:
        box.faults.add(Fault(kind="cut_gzip"))
        _, body, headers = await _raw(box)

    assert headers["Content-Encoding"] == "gzip"
    assert len(body) == int(headers["Content-Length"])


async def _raw(box: Sandbox) -> tuple[int, bytes, Any]:
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.get(f"{box.shop.url}/products/1") as reply,
    ):
        return reply.status, await reply.read(), reply.headers


async def test_a_bomb_is_small_on_the_wire_and_valid() -> None:
    async with Sandbox(seed=1) as box:
        box.faults.add(Fault(kind="gzip_bomb", size=20_000_123))
        _, packed, _ = await _raw(box)
        _, unpacked, _ = await get(box)

    assert len(packed) < 30_000
    assert len(unpacked) == 20_000_123


async def test_an_endless_body_goes_on_as_long_as_somebody_reads() -> None:
    async with Sandbox(seed=1) as box, aiohttp.ClientSession() as session:
        box.faults.add(Fault(kind="endless_body"))
        read = 0
        async with session.get(f"{box.shop.url}/products/1") as reply:
            async for piece in reply.content.iter_any():
                read += len(piece)
                if read > 5_000_000:
                    break

    assert read > 5_000_000


async def test_a_flood_of_headers_is_refused_by_a_careful_client() -> None:
    async with Sandbox(seed=1) as box:
        box.faults.add(Fault(kind="header_flood"))
        with pytest.raises(aiohttp.ClientError):
            await get(box)


async def test_a_redirect_loop_has_no_end() -> None:
    async with Sandbox(seed=1) as box:
        box.faults.add(Fault(kind="redirect_loop", path="/products/1", count=1))
        with pytest.raises(aiohttp.TooManyRedirects):
            await get(box)
        status, _, _ = await get(box, "/products/2")

    assert status == 200


async def test_a_wrong_charset_is_what_the_header_says() -> None:
    async with Sandbox(seed=1) as box:
        box.faults.add(Fault(kind="wrong_charset"))
        _, body, headers = await get(box)

    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "두레상회" in body.decode("cp949")
    with pytest.raises(UnicodeDecodeError):
        body.decode()


async def test_a_blocked_agent_gets_403_and_others_get_the_page() -> None:
    async with Sandbox(seed=1) as box:
        box.faults.add(Fault(kind="blocked_agent", agent="*python*"))
        blocked, _, _ = await get(box)
        passed, _, _ = await get(box, headers={"User-Agent": "Mozilla/5.0"})

    assert (blocked, passed) == (403, 200)


async def test_a_slow_body_takes_its_time() -> None:
    async with Sandbox(seed=1) as box:
        box.faults.add(Fault(kind="slow_body", rate=100))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await get(box)


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("rate_limit", 429, "rate_limit_exceeded"),
        ("insufficient_quota", 429, "insufficient_quota"),
        ("insufficient_balance", 402, "insufficient_balance"),
        ("unauthorized", 401, "invalid_api_key"),
        ("bad_request", 400, None),
        ("overloaded", 503, "server_is_overloaded"),
    ],
)
async def test_an_official_client_reads_the_providers_errors(
    kind: str, status: int, code: str | None
) -> None:
    """Z3, Z4: bodies as they really look."""
    async with Sandbox(seed=1) as box, _client(box) as client:
        box.faults.add(Fault(kind=kind))
        with pytest.raises(openai.APIStatusError) as refused:
            await _ask(client)

    assert (refused.value.status_code, refused.value.code) == (status, code)


async def test_an_official_client_sees_what_a_model_does_wrong() -> None:
    async with Sandbox(seed=1) as box, _client(box) as client:
        seen = []
        for kind in ("refusal", "content_filter", "out_of_tokens", "cut_json", "wrong_schema"):
            box.faults.clear()
            box.faults.add(Fault(kind=kind))
            choice = (await _ask(client)).choices[0]
            seen.append((choice.finish_reason, choice.message.content, choice.message.refusal))

    sentence = "I'm sorry, but I can't help with that request."
    assert seen == [
        ("stop", None, sentence),
        ("content_filter", "", None),
        ("length", "기준금리", None),
        ("stop", "기준금리", None),
        ("stop", '{"unexpected": [1, null, "field"]}', None),
    ]


async def test_faults_are_switched_on_and_off_by_http_on_every_port() -> None:
    async with Sandbox(seed=1) as box, aiohttp.ClientSession() as session:
        place = f"{box.ai.url}/_sandbox/faults"
        fault = {"kind": "status", "status": 502, "site": "shop", "path": "/products/*"}
        async with session.post(place, json=fault) as reply:
            added = (reply.status, await reply.json())
        struck, _, _ = await get(box)
        spared, _, _ = await get(box, "/robots.txt")
        async with session.get(place) as reply:
            listed = await reply.json()
        async with session.delete(f"{place}/1") as reply:
            assert await reply.json() == []
        healed, _, _ = await get(box)
        async with session.get(f"{box.ai.url}/_sandbox/log", params={"status": "502"}) as reply:
            logged = await reply.json()
        async with session.get(f"{box.ai.url}/_sandbox/summary") as reply:
            summed = await reply.json()

    assert added == (201, {"added": [1]})
    assert (struck, spared, healed) == (502, 200, 200)
    assert (listed[0]["matched"], listed[0]["struck"]) == (1, 1)
    assert [(each["target"], each["fault"]) for each in logged] == [("/products/1", "status")]
    assert next(iter(summed.values()))["requests"] == 3
    assert next(iter(summed.values()))["asked_again"] == 1


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"kind": "flaky"}, "there is no kind 'flaky'"),
        ({"kind": "refusal", "site": "shop"}, "happens on the ai site only"),
        ({"kind": "stall", "share": 2}, "share must be from 0 to 1"),
        ({"kind": "status", "status": 200}, "status must be from 400 to 599"),
        ({"kind": "stall", "tempo": 2}, "unknown field `tempo`"),
        ({"kind": "blocked_agent"}, "needs `agent`"),
        ({"kind": "zero_quota"}, "openai has no error zero_quota"),
        ([], "Expected `object`"),
    ],
)
async def test_a_fault_that_makes_no_sense_is_refused(given: object, sentence: str) -> None:
    async with Sandbox(seed=1) as box, aiohttp.ClientSession() as session:
        with pytest.raises(ConfigError, match=sentence):
            fault_of(given)
        async with session.post(f"{box.shop.url}/_sandbox/faults", json=[given]) as reply:
            assert reply.status == 400
            assert sentence in (await reply.json())["error"]["message"]
        assert len(box.faults) == 0


def test_faults_come_from_a_file_or_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "faults.toml"
    path.write_text('[[fault]]\nkind = "throttle"\nretry_after = 3\nshare = 0.25\n')
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[fault]\nkind = "throttle"\n')

    assert faults_from(path) == [Fault(kind="throttle", retry_after=3, share=0.25)]
    with pytest.raises(DureError, match=r"\[\[fault\]\]"):
        faults_from(wrong)
    with pytest.raises(DureError, match="cannot be read"):
        faults_from(tmp_path / "none.toml")


def _client(box: Sandbox) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{box.ai.url}/v1", api_key="any", max_retries=0)


async def _ask(client: openai.AsyncOpenAI) -> Any:
    return await client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "기준금리 올랐다"}]
    )
