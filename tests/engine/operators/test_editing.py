"""Editing: other arguments for a job that did not end well, checked by its kind."""

import json
from typing import Any

import pytest

from dure.core.errors import Conflict, IllegalTransition, KindInvalid, NotFound
from dure.core.state import State
from dure.engine.declare import Declarations
from dure.engine.desk.commands import Commands


@pytest.mark.parametrize("state", [State.PENDING, State.RETRY_WAIT, State.SUSPENDED])
async def test_an_unfinished_job_is_edited_in_place(yard: Any, state: State) -> None:
    """X13"""
    job = await yard.make(state)

    after = await yard.commands.edit(job, '{"url": "b"}', by="kim", reason="typo")

    entry = await yard.audited()
    assert (state, {"url": "b"}) == (after.state, after.args)
    assert ("jobs.edit", "kim", "typo", "{}", '{"url":"b"}') == (
        entry.command,
        entry.actor,
        entry.reason,
        entry.before,
        entry.after,
    )


async def test_an_edited_finished_job_is_replayed(yard: Any) -> None:
    """X13"""
    job = await yard.make(State.FAILED)

    after = await yard.commands.edit(job, '{"url": "b"}', by="kim")

    assert (State.PENDING, 0, {"url": "b"}) == (after.state, after.attempt, after.args)
    assert ["streams"] == yard.topics()


@pytest.mark.parametrize("state", [State.RUNNING, State.SUCCESS])
async def test_what_runs_or_succeeded_cannot_be_edited(yard: Any, state: State) -> None:
    """X13"""
    job = await yard.make(state)

    with pytest.raises(IllegalTransition):
        await yard.commands.edit(job, "{}", by="kim")

    assert [] == await yard.insights.audit()


async def test_an_edit_that_comes_too_late_is_a_conflict(
    yard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await yard.put()
    run = yard.store.run

    async def claim_first(script: Any) -> Any:
        await yard.claim(job)
        monkeypatch.undo()
        return await run(script)

    monkeypatch.setattr(yard.store, "run", claim_first)
    with pytest.raises(Conflict):
        await yard.commands.edit(job, '{"a": 1}', by="kim")

    assert {} == (await yard.insights.job(job)).args


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("{", "are not JSON"),
        ("[1]", "a JSON object"),
        ('{"url": 5}', "do not fit 'fetch'"),
        ('{"link": "x"}', "unknown field"),
    ],
)
async def test_arguments_that_cannot_be_are_refused(yard: Any, body: str, words: str) -> None:
    """X13"""
    commands = Commands(yard.store, _kinds())
    job = await yard.put(body='{"url":"a"}')

    with pytest.raises(KindInvalid, match=words):
        await commands.edit(job, body, by="kim")

    assert {"url": "a"} == (await yard.insights.job(job)).args


async def test_the_items_of_a_chunk_kind_are_checked_as_well(yard: Any) -> None:
    commands = Commands(yard.store, _kinds())
    job = await yard.put("embed", body='{"item":1}')

    with pytest.raises(KindInvalid, match="do not fit 'embed'"):
        await commands.edit(job, '{"item": "one"}', by="kim")
    after = await commands.edit(job, '{"item": 2}', by="kim")

    assert {"item": 2} == json.loads(after.body)


def _kinds() -> Any:
    declared = Declarations()

    @declared.kind
    async def fetch(url: str) -> None:
        """Never called."""

    @declared.chunk(10)
    async def embed(items: list[int]) -> None:
        """Never called."""

    return declared.kinds


async def test_a_job_nobody_has_cannot_be_edited(yard: Any) -> None:
    with pytest.raises(NotFound, match="no job 7"):
        await yard.commands.edit(7, "{}", by="kim")
