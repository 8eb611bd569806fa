"""Asking within a job: a validated value, accounts, the cache, and what stops it."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from tests.ai.desk import GOOD, bench
from tests.ai.wire import STALL, FakeWire, Said, Sent, fault, refusal, said

import dure
from dure import State
from dure.ai import Price, Prompt
from dure.core.errors import ConfigError
from dure.testing import Rig, in_virtual_time, running

PRICE = Price("1", "10")


def first(*answers: Said) -> Callable[[Sent], Said]:
    """These answers in turn; the last one from then on."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


async def done(t: Rig, b: Any, text: str = "text", span: str = "5m") -> Any:
    job = await t.enqueue(b.kind(text))
    await t.advance(span)
    return await t.job(job.id)


@in_virtual_time
async def test_an_answer_is_validated_counted_and_committed_with_its_job() -> None:
    """A6, Z4"""
    b = bench(lambda _: said(GOOD), limits=("15/m", "1000000 tokens/m"), prices=PRICE)
    async with running(b.app) as t:
        record = await done(t, b)
        [account] = await b.desk.accounts(0, 1e12)

    assert State.SUCCESS is record.state
    [reply] = b.replies
    assert ("ok", "SUMMARY@3", "m-2026") == (reply.value.summary, reply.prompt, reply.model)
    assert 100_000 + 200_000 == reply.cost == account.cost
    assert {"tokens": 120} == reply.used
    assert ("summarise", "default", "m-2026", "done", 1, 100, 20) == account[:7]


@in_virtual_time
async def test_what_is_sent_asks_for_json_by_a_strict_schema() -> None:
    """A6"""
    b = bench(lambda _: said(GOOD))
    async with running(b.app) as t:
        await done(t, b)

    [sent] = b.wire.sent
    wanted = sent.body["response_format"]["json_schema"]
    assert wanted["strict"] is True
    assert ["summary", "points"] == wanted["schema"]["required"]
    assert wanted["schema"]["additionalProperties"] is False
    assert "Bearer sk-secret" == sent.headers["Authorization"]
    assert sent.headers["Idempotency-Key"].startswith("dure-")


@in_virtual_time
async def test_the_same_question_is_paid_for_once() -> None:
    """Z4"""
    b = bench(lambda _: said(GOOD))
    async with running(b.app) as t:
        await done(t, b)
        record = await done(t, b)
        await done(t, b, "another text")
        accounts = await b.desk.accounts(0, 1e12)

    assert 2 == len(b.wire.sent)
    assert State.SUCCESS is record.state
    assert [False, True, False] == [reply.is_cached for reply in b.replies]
    assert {"done": 2, "cached": 1} == {each.disposition: each.calls for each in accounts}


@in_virtual_time
async def test_an_attempt_that_fails_after_its_answer_does_not_pay_twice() -> None:
    """Z4, X3"""
    b = bench(lambda _: said(GOOD))

    async def broken(text: str) -> dure.Outcome:
        prompt = Prompt("P", version=1, answer=dict_of_summary())
        reply = await b.desk.ask(prompt, text)
        return dure.Done(writes=[dure.Write("insert into nowhere values (1)"), *reply.writes])

    kind = b.app.kind(name="broken", **b.desk.terms())(broken)
    async with running(b.app) as t:
        job = await t.enqueue(kind("text"))
        await t.advance("5m")

        assert (await t.job(job.id)).attempt > 1
    assert 1 == len(b.wire.sent)


def dict_of_summary() -> Any:
    from tests.ai.desk import Summary

    return Summary


MATRIX = [
    ("429 with Retry-After", [fault(429, "rate_limit_exceeded", Retry_After="90")], "success", 2),
    ("429 without", [fault(429)], "success", 2),
    ("5xx", [fault(500), fault(503)], "success", 3),
    ("stall", [STALL], "success", 2),
    ("cut JSON", [said('{"summary": "o')], "success", 2),
    ("wrong schema", [said('{"summary": 5, "points": []}')], "success", 2),
    ("fenced JSON", [said(f"```json\n{GOOD}\n```")], "success", 1),
    ("no JSON body", [Said(200, b"<html>proxy</html>")], "success", 2),
    ("cut off", [said('{"su', finish="length")], "success", 2),
    ("too long", [fault(400, "context_length_exceeded")], "success", 2),
    ("refusal", [refusal()], "success", 1),
    ("filter", [said("", finish="content_filter")], "success", 1),
    ("400", [fault(400, kind="invalid_request_error")], "failed", 1),
    ("never JSON", [said("no")] * 9, "failed", 3),
    ("always cut off", [said("{", finish="length")] * 9, "failed", 2),
    ("always 5xx", [fault(500)] * 9, "failed", 4),
    ("401", [fault(401, "invalid_api_key")], "suspended", 1),
    ("empty wallet", [fault(429, "insufficient_quota", Retry_After="9")], "suspended", 1),
    ("no balance", [fault(402, "insufficient_balance")], "suspended", 1),
    ("403", [fault(403)], "suspended", 1),
    ("404", [fault(404, "model_not_found")], "suspended", 1),
]


@pytest.mark.parametrize(("name", "answers", "state", "calls"), MATRIX, ids=[m[0] for m in MATRIX])
@in_virtual_time
async def test_every_fault_ends_as_its_row_says(
    name: str, answers: list[Said], state: str, calls: int
) -> None:
    """A7"""
    b = bench(first(*answers, said(GOOD)))
    async with running(b.app) as t:
        record = await done(t, b)

    assert (state, calls) == (record.state.name.lower(), len(b.wire.sent))


@pytest.mark.parametrize(
    ("fails", "reason"),
    [
        (fault(429, "insufficient_quota"), "QUOTA"),
        (fault(402, "insufficient_balance"), "QUOTA"),
        (fault(401), "AUTH"),
    ],
)
@in_virtual_time
async def test_a_suspended_job_says_why_and_has_used_no_attempt(fails: Said, reason: str) -> None:
    """A7"""
    b = bench(first(fails, said(GOOD)))
    async with running(b.app) as t:
        record = await done(t, b)

        assert (State.SUSPENDED, reason, 0) == (record.state, record.reason, record.attempt)
        assert "HTTP" in (record.error or "")


@in_virtual_time
async def test_a_throttle_uses_no_attempt_and_nothing_is_sent_before_its_time() -> None:
    """A7, X8"""
    b = bench(first(fault(429, "rate_limit_exceeded", Retry_After="90"), said(GOOD)))
    async with running(b.app, nodes=2) as t:
        jobs = await t.enqueue_many([b.kind("1")])
        await t.advance("5s")
        jobs += await t.enqueue_many([b.kind(str(n)) for n in range(2, 12)])
        await t.advance("3m")

        assert {State.SUCCESS} == {(await t.job(job.id)).state for job in jobs}
    start = b.wire.sent[0].at
    assert min(sent.at - start for sent in b.wire.sent[1:]) >= 90


@in_virtual_time
async def test_retries_wait_thirty_seconds_times_two_to_the_n() -> None:
    """A7"""
    b = bench(lambda _: fault(500))
    async with running(b.app) as t:
        await done(t, b)

    times = [sent.at for sent in b.wire.sent]
    gaps = [two - one for one, two in pairwise(times)]
    assert all(
        wanted <= gap < wanted * 1.6 + 3 for wanted, gap in zip((30, 60, 120), gaps, strict=True)
    ), gaps


@in_virtual_time
async def test_too_long_an_input_is_halved_once_and_too_long_an_answer_gets_more_room() -> None:
    answers = [fault(400, "context_length_exceeded"), said("{", finish="length"), said(GOOD)]
    b = bench(first(*answers))
    async with running(b.app) as t:
        record = await done(t, b, "x" * 1000)

    assert State.SUCCESS is record.state
    assert [1000, 500, 500] == [len(sent.text) for sent in b.wire.sent]
    assert [1000, 1000, 2000] == [sent.body["max_completion_tokens"] for sent in b.wire.sent]


@in_virtual_time
async def test_a_providers_failures_open_the_breaker_and_slips_of_the_model_do_not() -> None:
    """A12"""
    for answer, opens in ((fault(500), True), (said("no JSON"), False), (fault(400), False)):
        b = bench(lambda _, answer=answer: answer, max_running=4)  # type: ignore[misc]
        async with running(b.app) as t:
            await t.enqueue_many([b.kind(str(n)) for n in range(20)])
            await t.advance("10s")
            states = await t.insights.breakers()
        phases = {name: str(each.phase) for name, each in states.items()}
        assert opens is (phases.get(b.desk.name) == "open"), phases


@in_virtual_time
async def test_the_check_of_a_prompt_decides_like_its_schema() -> None:
    """A6"""
    b = bench(
        first(said(GOOD), said('{"summary": "better", "points": []}')),
        prompt={"check": lambda value: None if value.summary == "better" else "say it better"},
    )
    async with running(b.app) as t:
        record = await done(t, b)

        assert State.SUCCESS is record.state
        [attempt] = await t.attempts(record.id)
        assert "say it better" in (attempt.error or "")
    assert 2 == len(b.wire.sent)


@in_virtual_time
async def test_a_request_larger_than_its_limit_fails_with_a_clear_text() -> None:
    """E10"""
    b = bench(lambda _: said(GOOD), limits=("2000 tokens/m",), terms={"tokens": 500})
    async with running(b.app) as t:
        record = await done(t, b, "가" * 5000)

        assert State.FAILED is record.state
        assert "2000 tokens/m" in (record.error or "")
    assert not b.wire.sent


@in_virtual_time
async def test_three_windows_hold_at_once() -> None:
    """E10"""
    b = bench(
        lambda _: said(GOOD, tokens=(3000, 100)),
        limits=("15/m", "40/d", "30000 tokens/m"),
        terms={"tokens": 3000},
    )
    async with running(b.app, nodes=2) as t:
        await t.enqueue_many([b.kind(str(n)) for n in range(60)])
        await t.advance("5m")

    times = [sent.at for sent in b.wire.sent]
    assert 40 == len(times)
    assert max(sum(at <= other < at + 60 for other in times) for at in times) <= 10


def test_an_answer_type_outside_of_the_strict_subset_is_refused_when_declared() -> None:
    with pytest.raises(ConfigError, match="free mapping"):
        Prompt("P", version=1, answer=dict[str, int])


async def test_a_secret_is_nowhere_but_in_the_header() -> None:
    """Z5"""
    b = bench(lambda _: said(GOOD))

    assert "sk-secret" not in repr(vars(b.desk)) + repr(b.desk.provider) + b.desk.name
    assert isinstance(b.wire, FakeWire)
