"""Texts of every kind: what is kept to the letter, and what no store can keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dure.core.outcome import Write
from dure.core.state import Event, State
from dure.core.stream import pack
from dure.ports.rows import Effects, NewJob

if TYPE_CHECKING:
    from tests.conformance.conftest import Yard

STREAM = pack(1, 1, 2)
TEXTS = [
    'it\'s "quoted" `so` \\and\\ $$ $1 ?1 :name %s {}',
    "경제 뉴스 요약 · 두레",
    "👩‍👩‍👧‍👦 🇰🇷 é é",
    "line\r\nfeed\ttab\x01\x1f\x7f\u2028",
    "'; drop table dure_live; --",
    " ",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
async def test_a_text_comes_back_to_the_letter(yard: Yard, text: str) -> None:
    names = {"session": text, "subject": text, "key": text}
    claim = await yard.take_one(body=text, **names)
    retried = yard.change(claim, Event.RETRY, error=text)
    await yard.store.apply([retried])
    assert text == (await yard.live(claim.id) or {})["error"]
    await yard.end(await yard.standing(claim.id), Event.DUE)
    [again] = await yard.take()
    write = Write("insert into note (name, value) values (:name, 1)", {"name": text})

    await yard.end(again, Event.SUCCEED, result=text, effects=Effects([write]))

    row = await yard.past(claim.id)
    assert row is not None
    assert {**names, "body": text, "result": text} == {
        name: row[name] for name in (*names, "body", "result")
    }
    assert [(1, "retry", text or None)] == await yard.attempts(claim.id)
    assert {text: 1} == await yard.notes()


@pytest.mark.parametrize("bad", ["a\x00b", "a\ud800b"], ids=["null", "surrogate"])
@pytest.mark.parametrize("field", ["body", "session", "subject", "key"])
async def test_a_job_with_a_text_that_cannot_be_kept_is_named(
    yard: Yard, field: str, bad: str
) -> None:
    """X2: neither it nor its group is stored, and what is stored later is not disturbed."""
    fine = NewJob(STREAM, "{}")
    wrong: Any = {"stream": STREAM, "body": "{}", field: bad}

    with pytest.raises(ValueError, match=f"the {field} of job 2 holds"):
        await yard.store.enqueue([fine, fine, NewJob(**wrong), fine])

    assert [] == await yard.take()
    assert 1 == len(await yard.put())


@pytest.mark.parametrize("event", [Event.RETRY, Event.FAIL, Event.SUSPEND, Event.SKIP])
async def test_what_an_attempt_ended_with_is_kept_as_far_as_it_can_be(
    yard: Yard, event: Event
) -> None:
    """X4: whatever was raised, the job moves on."""
    claim = await yard.take_one()
    bad = "\ud800 file\x00name"
    is_error = event in {Event.RETRY, Event.FAIL}
    cause: dict[str, Any] = {"error" if is_error else "reason": bad}
    change = yard.change(claim, event, **cause)

    applied = await yard.store.apply([change])

    assert (frozenset(), {}) == (applied.refused, applied.broken)
    row = await yard.live(claim.id) or await yard.past(claim.id)
    assert row is not None
    assert row["error" if is_error else "reason"] == "? file\N{REPLACEMENT CHARACTER}name"


async def test_a_result_that_cannot_be_kept_breaks_only_its_own_job(yard: Yard) -> None:
    await yard.put(9)
    claims = await yard.take()
    changes = [
        yard.change(claim, Event.SUCCEED, result="\ud800" if n == 4 else "1")
        for n, claim in enumerate(claims)
    ]

    applied = await yard.store.apply(changes)

    culprit = claims.pop(4).id
    assert [culprit] == list(applied.broken)
    assert State.RUNNING is await yard.state(culprit)
    for claim in claims:
        assert State.SUCCESS is await yard.state(claim.id)
