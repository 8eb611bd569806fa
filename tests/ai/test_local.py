"""The local provider: valid, sensible answers to any schema of its tasks, always the same."""

from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given, settings, strategies as st
from tests.ai.desk import Summary

import dure
from dure import State
from dure.ai import Desk, Local, Prompt, Question, schema
from dure.ai.local import bayes
from dure.ai.local.embedding import embed, similarity
from dure.ai.local.sentences import split
from dure.testing import in_virtual_time, running

KOREAN = (
    "한국은행은 23일 기준금리를 연 3.50%로 동결했다. 기준금리란 중앙은행이 금융기관과 거래할 때 "
    "적용하는 정책금리를 말한다. 총재는 물가 상승률이 목표를 웃돌아 긴축을 유지해야 한다고 밝혔다. "
    "시장에서는 하반기 금리 인하 가능성이 커졌다는 전망이 나온다. 다만 환율이 오르면서 수입물가 "
    "부담이 커질 수 있다는 우려도 있다. 가계부채는 지난달 5조 원 늘어나 2년 만에 가장 많이 늘었다."
)
ENGLISH = (
    "The central bank kept its policy rate at 3.5 percent on Monday. A policy rate is the rate at "
    "which banks borrow overnight. Inflation remains above target, the governor said. Exporters "
    "expect weaker demand because of tariffs. Household debt grew for a third month in a row."
)


class Card(msgspec.Struct):
    term: str
    definition: Annotated[str, msgspec.Meta(max_length=120)]


class Cards(msgspec.Struct):
    cards: Annotated[list[Card], msgspec.Meta(min_length=1, max_length=4)]


class Item(msgspec.Struct):
    question: str
    choices: Annotated[list[str], msgspec.Meta(min_length=4, max_length=4)]
    answer_index: Annotated[int, msgspec.Meta(ge=0, le=3)]
    explanation: str


class Items(msgspec.Struct):
    items: Annotated[list[Item], msgspec.Meta(min_length=1)]


class Insight(msgspec.Struct):
    insight: str
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    sentiment: Literal["긍정", "부정", "중립"]
    level: Literal["easy", "medium", "hard"]
    note: str | None


LOCAL = Local(kiwi=False)


async def answer(kind: type, text: str) -> Any:
    made = schema.derive(kind)
    assert [] == schema.problems(made)
    question = Question(name="x", system="", text=text, schema=made, output_max=1000)
    reply = await LOCAL.ask(question)
    assert reply == await Local(kiwi=False).ask(question)
    return msgspec.json.decode(reply.text, type=kind)


@pytest.mark.parametrize("text", [KOREAN, ENGLISH])
async def test_a_summary_is_made_of_the_texts_own_sentences(text: str) -> None:
    """Z4"""
    made = await answer(Summary, text)

    assert 1 <= len(made.points) <= 5
    assert all(point in text for point in made.points)
    assert len(made.summary) < len(text)


@pytest.mark.parametrize(("text", "term"), [(KOREAN, "기준금리"), (ENGLISH, "policy")])
async def test_a_term_card_quotes_what_the_text_says_of_the_term(text: str, term: str) -> None:
    """Z4"""
    made = await answer(Cards, text)

    assert all(card.term in card.definition for card in made.cards)
    assert any(term in card.term for card in made.cards)


@pytest.mark.parametrize("text", [KOREAN, ENGLISH])
async def test_a_quiz_has_four_different_choices_and_one_that_fits_the_gap(text: str) -> None:
    """Z4"""
    made = await answer(Items, text)

    for item in made.items:
        assert 4 == len(set(item.choices))
        assert item.question.replace("____", item.choices[item.answer_index]) in text


async def test_an_insight_speaks_of_causes_or_of_what_is_expected() -> None:
    made = await answer(Insight, KOREAN)

    assert any(word in made.insight for word in ("전망", "우려", "부담"))
    assert "medium" == made.level


def test_kind_and_unkind_reviews_are_told_apart() -> None:
    judge = bayes.sentiment()

    assert "positive" == judge("정말 재미있고 감동적인 최고의 영화였어요").label
    assert "negative" == judge("시간이 아깝다 너무 지루하고 최악이다").label


def test_a_classifier_is_trained_from_labels_of_ones_own() -> None:
    examples = [("apple pear plum", "fruit"), ("hammer saw nail", "tool")] * 5
    mine = bayes.train(examples, version="mine-1")

    again = bayes.Classifier.load(mine.dump())

    assert "fruit" == again("a pear").label
    assert "tool" == again("one saw").label
    with pytest.raises(ValueError, match="two labels"):
        bayes.train([("a", "b")], version="x")


def test_texts_about_the_same_are_near_each_other() -> None:
    bank, rate, cat = (
        embed(text) for text in ("은행이 금리를 올렸다", "금리를 올린 은행", "고양이가 잠을 잔다")
    )

    assert similarity(bank, rate) > 0.3 > similarity(bank, cat)
    assert 0.999 < similarity(bank, bank) < 1.001


def test_a_number_with_a_point_does_not_end_a_sentence() -> None:
    assert 2 == len(split("금리는 연 3.5%로 올랐다. Mr. Kim agreed with that decision."))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.sampled_from([Summary, Cards, Items, Insight]))
def test_any_text_at_all_gets_a_valid_answer(text: str, kind: type) -> None:
    import asyncio

    asyncio.run(answer(kind, text))


@in_virtual_time
async def test_a_desk_needs_no_key_with_it_and_says_who_answered() -> None:
    """Z4"""
    app = dure.App(":memory:")
    desk = Desk(app, provider=Local(kiwi=False))
    prompt = Prompt("SUMMARY", version=1, answer=Summary, task="summary")

    @app.kind(**desk.terms())
    async def summarise(text: str) -> dure.Outcome:
        reply = await desk.ask(prompt, text)
        return dure.Done(reply.model, writes=reply.writes, used=reply.used)

    async with running(app) as t:
        job = await t.enqueue(summarise(KOREAN))
        await t.run_until_idle()
        record = await t.job(job.id)

    assert State.SUCCESS is record.state
    assert "local-1+rules-1+sentiment-ko-1" in (record.result or "")
