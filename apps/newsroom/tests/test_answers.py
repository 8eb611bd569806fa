"""What is sent to a model and what is kept of its answer (A6)."""

import msgspec
import pytest

from dure import State
from dure.ai import Question
from dure.ai.local.provider import Local
from dure.testing import in_virtual_time
from dure_sandbox import Fault
from newsroom.prompts import KINDS, STEPS, Card, TermCards
from newsroom.rehearsal import at_work

pytestmark = pytest.mark.slow


@in_virtual_time
async def test_every_call_demands_json_by_a_strict_schema() -> None:
    """A6"""
    async with at_work() as stage:
        await stage.summary()
        await stage.t.run_until_idle()
        sent = stage.sent("/v1/chat/completions")

    forms = {each["response_format"]["json_schema"]["name"]: each for each in sent}
    assert set(KINDS) == set(forms)
    for step in STEPS:
        form = forms[step.kind]["response_format"]
        assert ("json_schema", True) == (form["type"], form["json_schema"]["strict"])
        assert step.prompt.schema == form["json_schema"]["schema"]


@in_virtual_time
async def test_a_model_that_does_not_answer_is_left_after_twenty_seconds() -> None:
    """A6"""
    async with at_work(Fault(kind="slow_start", site="ai", seconds=25, count=1)) as stage:
        job = await stage.summary()
        await stage.t.advance("19s")
        before = await stage.t.job(job)
        await stage.t.advance("2s")
        after = await stage.t.job(job)

    assert (State.RUNNING, State.RETRY_WAIT) == (before.state, after.state)


@pytest.mark.parametrize("kind", ["wrong_schema", "cut_json"])
@in_virtual_time
async def test_an_answer_that_does_not_fit_is_never_kept(kind: str) -> None:
    """A6"""
    async with at_work(Fault(kind=kind, site="ai")) as stage:
        job = await stage.summary()
        await stage.t.advance("1h")

        assert State.FAILED is (await stage.t.job(job)).state
        assert [] == await stage.rows("select * from newsroom_result")
        assert [job] == [each.id for each in await stage.t.jobs() if each.kind in KINDS]


@in_virtual_time
async def test_an_answer_that_fits_is_kept_with_its_model_and_prompt() -> None:
    """A6"""
    async with at_work() as stage:
        await stage.summary()
        await stage.t.run_until_idle()
        rows = await stage.rows("select * from newsroom_result")

    assert sorted(KINDS) == sorted(row["kind"] for row in rows)
    types = {step.kind: step.prompt.answer for step in STEPS}
    for row in rows:
        assert msgspec.json.decode(row["answer"], type=types[row["kind"]])
        assert f"{row['kind']}@1" == row["prompt"]
        assert row["model"]


async def test_the_model_on_this_machine_asks_two_different_questions() -> None:
    """A3 Z4"""
    body = (
        "한국은행은 기준금리를 연 2.5%로 동결했다. 물가 상승률은 목표 수준에 가까워졌다. "
        "가계부채는 지난해보다 늘었다. 환율은 안정된 흐름을 보였다."
    )
    quizzes = []
    for step in STEPS[3:]:
        prompt = step.prompt
        question = Question(
            name=prompt.name,
            system=prompt.system,
            text=body,
            schema=prompt.schema,
            output_max=prompt.output_max,
            task=prompt.task,
        )
        answer = await Local().ask(question)
        quizzes.append(step.decode(answer.text))

    content, term = quizzes
    assert content.question != term.question
    assert all(each.answer in each.choices for each in quizzes)


def test_a_term_that_a_model_explains_twice_is_one_card() -> None:
    cards = TermCards([Card("환율", "하나"), Card("금리", "둘"), Card("환율", "셋")])

    assert ["환율", "금리"] == [card.term for card in cards.cards]


@in_virtual_time
async def test_a_result_for_an_article_that_was_edited_meanwhile_is_stale() -> None:
    """A1"""
    async with at_work(Fault(kind="slow_start", site="ai", seconds=5)) as stage:
        job = await stage.summary()
        await stage.t.advance("1s")
        await stage.t.sql("update newsroom_article set version = 2")
        await stage.t.advance("10s")

        assert State.STALE is (await stage.t.job(job)).state
        assert [] == await stage.rows("select * from newsroom_result")
