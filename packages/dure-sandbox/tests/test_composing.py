"""Answers are valid under the schema they were asked for, and about the prompt (Z4)."""

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from dure_sandbox.ai.composing import Composer, SchemaRefused
from dure_sandbox.ai.quota import Limits, Quota
from dure_sandbox.ai.reading_text import source_of
from dure_sandbox.ai.refusals import DIALECTS, TABLES, refusal_of

ARTICLE = (
    "기준금리는 중앙은행이 금융기관과 거래할 때 기준으로 삼는 금리다. "
    "한강은행은 기준금리를 올렸다. 전문가들은 기준금리와 환율을 함께 보아야 한다고 말했다. "
    "배추 가격은 내렸다."
)
QUIZ = {
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "terms": {
            "type": "array",
            "minItems": 2,
            "maxItems": 5,
            "items": {
                "type": "object",
                "properties": {"term": {"type": "string"}, "definition": {"type": "string"}},
            },
        },
        "questions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "choices": {
                        "type": "array",
                        "items": {"type": "string"},
                        "minItems": 4,
                        "maxItems": 4,
                    },
                    "answer": {"type": "string"},
                    "answer_index": {"type": "integer", "minimum": 0, "maximum": 3},
                },
            },
        },
    },
}


def compose(schema: dict[str, Any], text: str = ARTICLE) -> Any:
    return Composer(schema, source_of(text), 1).answer()


def test_what_a_card_says_is_about_its_own_term_and_no_term_is_a_verb() -> None:
    """Z3"""
    for seed in range(20):
        made: Any = Composer(QUIZ, source_of(ARTICLE), seed).answer()
        assert all(card["term"] in card["definition"] for card in made["terms"])
        terms = [card["term"] for card in made["terms"]]
        assert len(set(terms)) == len(terms)
        assert not any(term.endswith("다") for term in terms)


def test_nouns_are_terms_before_the_forms_of_verbs() -> None:
    """Z3"""
    text = "수요가 회복되면서 주문이 늘었다. 비교하면 수출을 마련해 회복되면서 커졌다."

    assert {"수요", "주문", "수출"} == set(source_of(text).terms[:3])


def test_the_answer_is_the_term_its_question_quotes_a_sentence_about() -> None:
    """Z3"""
    for each in compose(QUIZ)["questions"]:
        assert each["answer"] in each["question"]


def test_a_summary_is_made_of_sentences_of_the_text_and_terms_are_its_words() -> None:
    made = compose(QUIZ)

    assert all(each in ARTICLE for each in made["summary"].split(". "))
    assert "기준금리" in [each["term"] for each in made["terms"]]
    assert all(each["definition"] in ARTICLE for each in made["terms"])
    assert compose(QUIZ) == made


def test_the_answer_of_a_quiz_is_one_of_its_four_different_choices() -> None:
    for text in (ARTICLE, "짧다."):
        for each in compose(QUIZ, text)["questions"]:
            assert len(set(each["choices"])) == 4
            assert each["answer"] == each["choices"][each["answer_index"]]


LEAVES = st.one_of(
    st.builds(
        lambda low, more: {"type": "string", "minLength": low, "maxLength": low + more},
        st.integers(0, 30),
        st.integers(0, 30),
    ),
    st.builds(
        lambda low, more: {"type": "integer", "minimum": low, "maximum": low + more},
        st.integers(-50, 50),
        st.integers(0, 9),
    ),
    st.just({"type": "number", "minimum": 0.5, "maximum": 0.75}),
    st.just({"type": ["boolean", "null"]}),
    st.just({"enum": ["one", 2, None]}),
    st.just({"anyOf": [{"type": "null"}, {"const": 7}]}),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(
            lambda items, low: {"type": "array", "items": items, "minItems": low, "maxItems": 5},
            inner,
            st.integers(0, 5),
        ),
        st.dictionaries(
            st.sampled_from(["summary", "term", "choices", "answer", "value"]), inner, max_size=4
        ).map(lambda parts: {"type": "object", "properties": parts}),
    ),
    max_leaves=8,
)


@given(schema=SCHEMAS)
@settings(max_examples=100, deadline=None)
def test_any_schema_gets_an_answer_that_it_allows(schema: dict[str, Any]) -> None:
    made = json.loads(json.dumps(compose(schema)))

    assert_allowed(made, schema)


def assert_allowed(value: Any, schema: dict[str, Any]) -> None:
    match schema:
        case {"enum": options}:
            assert value in options
        case {"anyOf": _}:
            assert value in {7, None}
        case {"type": "string"}:
            assert schema["minLength"] <= len(value) <= schema["maxLength"]
        case {"type": "integer" | "number"}:
            assert schema["minimum"] <= value <= schema["maximum"]
        case {"type": ["boolean", "null"]}:
            assert value is None or isinstance(value, bool)
        case {"type": "array"}:
            assert schema["minItems"] <= len(value) <= schema["maxItems"]
            for each in value:
                assert_allowed(each, schema["items"])
        case {"properties": parts}:
            assert set(value) == set(parts)
            for name, part in parts.items():
                assert_allowed(value[name], part)


def test_a_schema_may_refer_to_its_definitions_but_not_to_nothing() -> None:
    good = {"$defs": {"word": {"const": "x"}}, "properties": {"a": {"$ref": "#/$defs/word"}}}

    assert compose(good) == {"a": "x"}
    for bad in ({"$ref": "#/$defs/none"}, {"$ref": "#"}, {"type": "sound"}, {"pattern": "a+"}):
        with pytest.raises(SchemaRefused):
            compose(bad)


def test_every_error_of_every_provider_has_the_form_of_that_provider() -> None:
    for dialect in DIALECTS:
        for name, refusal in TABLES[dialect].items():
            answer = refusal_of(name, dialect)
            body = json.loads(answer.body)
            error = body[0]["error"] if dialect == "gemini" else body["error"]

            assert answer.status == refusal.status
            assert error["message"] == refusal.message
            assert ("code" in error) == (dialect != "anthropic")


def test_limits_are_exact_and_open_again_at_their_time() -> None:
    quota = Quota(Limits(rpm=3, tpm=100))
    served = [quota.take("k", 30, now).exceeded for now in (0.0, 10.0, 20.0, 30.0)]
    refused = quota.take("k", 30, 30.0)
    again = quota.take("k", 30, 30.0 + refused.wait_seconds)
    too_much = quota.take("other", 200, 0.0)

    assert served == [None, None, None, "TPM"]
    assert refused.wait_seconds == pytest.approx(30.0)
    assert again.exceeded is None
    assert too_much.exceeded == "TPM"
