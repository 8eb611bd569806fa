"""What is sent to a model and what is kept of its answer (A6)."""

import msgspec
import pytest

from dure import State
from dure.testing import in_virtual_time
from dure_sandbox import Fault
from newsroom.prompts import KINDS, STEPS
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
