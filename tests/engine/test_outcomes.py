"""What a handler answers becomes true, once: every outcome, its effects, and what errors mean."""

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import dure
from dure import Done, Fail, Guard, Outcome, Retry, Skip, Stale, State, Suspend, Wait, Write
from dure.core.backoff import Backoff
from dure.testing import in_virtual_time, running

TABLE = "create table note (text text primary key)"


class TooFast(Exception):
    def __init__(self, retry_after: float) -> None:
        super().__init__("slow down")
        self.retry_after = retry_after


class Refusing(ValueError):
    """More specific than its parent."""


def app_answering(answer: Callable[[], object], **terms: object) -> dure.App:
    app = dure.App(":memory:")

    async def work() -> object:
        return answer()

    app.kind(**{"name": "work", **terms})(work)  # type: ignore[call-overload]
    return app


@pytest.mark.parametrize(
    ("outcome", "state", "reason", "error"),
    [
        (None, State.SUCCESS, None, None),
        (Done({"n": 1}), State.SUCCESS, None, None),
        (Skip("empty"), State.SUCCESS, "empty", None),
        (Fail("bad"), State.FAILED, None, "bad"),
        (Stale("moved on"), State.STALE, "moved on", None),
        (Suspend("QUOTA", "spent"), State.SUSPENDED, "QUOTA", "spent"),
        (Wait(600, "holiday"), State.RETRY_WAIT, "holiday", None),
        (Retry("hiccup"), State.RETRY_WAIT, None, "hiccup"),
    ],
)
@in_virtual_time
async def test_every_outcome_leads_to_its_state(
    outcome: Outcome | None, state: State, reason: str | None, error: str | None
) -> None:
    """X4"""
    app = app_answering(lambda: outcome)
    async with running(app) as t:
        job = await t.enqueue(dure.Job("work", "{}"))
        await t.run_until_idle()

        record = await t.job(job.id)

        assert (state, reason, error) == (record.state, record.reason, record.error)


@pytest.mark.parametrize("result", [{"n": 1}, [1, "two"], "text", 0, False])
@in_virtual_time
async def test_any_other_answer_is_the_result_of_success(result: object) -> None:
    """X3"""
    async with running(app_answering(lambda: result)) as t:
        job = await t.enqueue(dure.Job("work", "{}"))
        await t.run_until_idle()

        assert result == json.loads((await t.job(job.id)).result or "")


@in_virtual_time
async def test_a_result_that_is_not_json_fails_the_job_and_says_so() -> None:
    """X3"""
    async with running(app_answering(object)) as t:
        job = await t.enqueue(dure.Job("work", "{}"))
        await t.run_until_idle()
        record = await t.job(job.id)

        assert State.FAILED is record.state
        assert "cannot be stored" in (record.error or "")


@pytest.mark.parametrize("outcome", [Wait(60), Suspend("QUOTA")])
@in_virtual_time
async def test_waiting_and_being_suspended_spend_no_attempt(outcome: Outcome) -> None:
    """X4"""
    async with running(app_answering(lambda: outcome)) as t:
        job = await t.enqueue(dure.Job("work", "{}"))
        await t.run_until_idle()

        assert (await t.job(job.id)).attempt == 0


@in_virtual_time
async def test_writes_and_follow_ups_are_there_with_the_state() -> None:
    """X3"""
    app = dure.App(":memory:")

    @app.kind
    async def leaf(name: str) -> None:
        pass

    @app.kind
    async def root(name: str) -> Outcome:
        write = Write("insert into note values (:text)", {"text": name})
        return Done(writes=[write], then=[leaf(name), leaf(name + "!").options(session="other")])

    async with running(app) as t:
        await t.sql(TABLE)
        job = await t.enqueue(root("a"), session="morning")
        await t.run_until_idle()

        assert [("a",)] == await t.sql("select text from note")
        first, second = await t.jobs("kind:leaf")
        assert (job.id, "morning") == (first.parent, first.session)
        assert (job.id, "other") == (second.parent, second.session)


@in_virtual_time
async def test_a_failing_write_fails_only_its_own_job_and_leaves_nothing_of_it() -> None:
    """X3"""
    app = dure.App(":memory:")

    @app.kind
    async def leaf() -> None:
        pass

    @app.kind(retry=1)
    async def note(texts: list[str]) -> Outcome:
        writes = [Write("insert into note values (:text)", {"text": text}) for text in texts]
        return Done(writes=writes, then=[leaf()])

    async with running(app) as t:
        await t.sql(TABLE)
        good, bad, fine = await t.enqueue_many([note(["a"]), note(["b", "b"]), note(["c"])])
        await t.run_until_idle()

        assert [("a",), ("c",)] == await t.sql("select text from note order by text")
        assert [good.id, fine.id] == [job.parent for job in await t.jobs("kind:leaf")]
        broken = await t.job(bad.id)
        assert State.FAILED is broken.state
        assert "UNIQUE" in (broken.error or "")


@in_virtual_time
async def test_a_guard_that_no_longer_holds_makes_the_job_stale_without_writing() -> None:
    """X3"""
    app = dure.App(":memory:")

    @app.kind
    async def note(expected: str) -> Outcome:
        guard = Guard("select text from note where text = :t", {"t": expected}, expected)
        return Done(writes=[Write("insert into note values ('new')", {})], guard=guard)

    async with running(app) as t:
        await t.sql(TABLE)
        job = await t.enqueue(note("missing"))
        await t.run_until_idle()

        assert State.STALE is (await t.job(job.id)).state
        assert [] == await t.sql("select text from note")


@in_virtual_time
async def test_a_result_for_an_older_epoch_of_its_subject_is_stale() -> None:
    """X3"""
    app = app_answering(lambda: "summary")
    async with running(app) as t:
        await app.raise_epoch("shop:1", 2)
        old = await t.enqueue(dure.Job("work", "{}"), subject="shop:1", epoch=1)
        new = await t.enqueue(dure.Job("work", "{}"), subject="shop:1", epoch=2)
        await t.run_until_idle()

        assert State.STALE is (await t.job(old.id)).state
        assert State.SUCCESS is (await t.job(new.id)).state


def raising(error: BaseException) -> Callable[[], object]:
    def answer() -> object:
        raise error

    return answer


RULES = {
    ValueError: Fail(),
    Refusing: Skip("nothing there"),
    KeyError: Suspend("KEY"),
    OSError: lambda error: Wait(60, f"waiting for {error}"),
    PermissionError: Retry(after=900),
}


@pytest.mark.parametrize(
    ("error", "state", "reason", "text"),
    [
        (ValueError("bad"), State.FAILED, None, "ValueError: bad"),
        (Refusing("bad"), State.SUCCESS, "nothing there", None),
        (KeyError("k"), State.SUSPENDED, "KEY", None),
        (ConnectionError("peer"), State.RETRY_WAIT, "waiting for peer", None),
        (PermissionError("no"), State.RETRY_WAIT, None, "PermissionError: no"),
        (RuntimeError("odd"), State.RETRY_WAIT, None, "RuntimeError: odd"),
        (TimeoutError(), State.RETRY_WAIT, "waiting for ", None),
    ],
)
@in_virtual_time
async def test_the_most_specific_rule_says_what_an_error_means(
    error: Exception, state: State, reason: str | None, text: str | None
) -> None:
    """X4"""
    async with running(app_answering(raising(error), errors=RULES)) as t:
        job = await t.enqueue(dure.Job("work", "{}"))
        await t.run_until_idle()
        record = await t.job(job.id)

        assert (state, reason, text) == (record.state, record.reason, record.error)


@pytest.mark.parametrize(
    ("retry_after", "seconds"), [(900.0, 900.0), (1.0, 30.0), (float("nan"), 30.0)]
)
@in_virtual_time
async def test_what_a_server_asks_for_is_a_floor_under_the_policys_own_delay(
    retry_after: float, seconds: float
) -> None:
    """X4"""
    app = app_answering(raising(TooFast(retry_after)), retry=dure.RetryPolicy.of(5, base="30s"))
    async with running(app) as t:
        job = await t.enqueue(dure.Job("work", "{}"))
        await t.run_until_idle()
        record = await t.job(job.id)

        assert seconds == pytest.approx((record.due or 0) - record.enqueued_at, abs=1.0)


@in_virtual_time
async def test_a_quick_phase_is_followed_by_a_slow_one_and_the_last_attempt_fails() -> None:
    """X4"""
    policy = dure.RetryPolicy(5, (Backoff(10, 2.0, attempts=2), Backoff(600, 2.0, cap=1000)))
    app = app_answering(raising(RuntimeError("down")), retry=policy)
    async with running(app) as t:
        job = await t.enqueue(dure.Job("work", "{}"))
        await t.advance("1h")

        tries = await t.attempts(job.id)
        started = [each.started_at or 0.0 for each in tries]
        gaps = [after - before for before, after in pairwise(started)]
        assert [10, 20, 600, 1000] == [round(gap, -1) for gap in gaps]
        assert (State.FAILED, 5) == ((await t.job(job.id)).state, (await t.job(job.id)).attempt)


@in_virtual_time
async def test_retried_work_moves_to_the_priority_its_kind_asks_for() -> None:
    """X4"""
    app = app_answering(lambda: Retry("again"), retry_priority=dure.Priority.HIGH)
    async with running(app) as t:
        job = await t.enqueue(dure.Job("work", "{}"), priority=dure.Priority.LOW)
        await t.run_until_idle()

        assert dure.Priority.HIGH is (await t.job(job.id)).priority


@in_virtual_time
async def test_a_finish_whose_answer_is_lost_is_not_applied_twice() -> None:
    """X3"""
    app = app_answering(lambda: Done(writes=[Write("insert into note values ('once')", {})]))
    async with running(app) as t:
        await t.sql(TABLE)
        t.lose_next_answer("apply")
        job = await t.enqueue(dure.Job("work", "{}"))
        await t.run_until_idle()

        assert State.SUCCESS is (await t.job(job.id)).state
        assert [("once",)] == await t.sql("select text from note")
        assert t.store.calls["apply"] > 1


@in_virtual_time
async def test_a_store_that_fails_for_a_while_loses_nothing() -> None:
    """X12"""
    app = app_answering(lambda: 1)
    async with running(app) as t:
        t.fail_store("claim", "apply", times=3)
        jobs = await t.enqueue_many([dure.Job("work", "{}") for _ in range(10)])
        await t.run_until_idle()

        assert len(jobs) == len(await t.jobs("state:success"))
        assert {1} == {job.attempt for job in await t.jobs("state:success")}


@in_virtual_time
async def test_an_answer_that_makes_no_sense_fails_its_own_job_and_no_other() -> None:
    """X3: the others that ended at the same time are committed with it."""
    app = dure.App(":memory:")

    @app.kind(retry=1)
    async def answer(what: str) -> object:
        nonsense: dict[str, Any] = {
            "then": dure.Done(then=["no job"]),  # type: ignore[list-item]
            "writes": dure.Done(writes=["no write"]),  # type: ignore[list-item]
            "seconds": dure.Wait("1d"),  # type: ignore[arg-type]
            "surrogate": dure.Fail("\ud800"),
            "error": ValueError("\ud800"),
        }
        found = nonsense.get(what)
        if isinstance(found, Exception):
            raise found
        return found

    async with running(app) as t:
        names = ["then", "fine", "writes", "fine", "seconds", "fine", "surrogate", "error"]
        await t.enqueue_many([answer(name) for name in names])
        await t.run_until_idle()

        ended = {job.id: job.state for job in await t.jobs()}
        assert {State.SUCCESS, State.FAILED} == set(ended.values())
        assert 3 == list(ended.values()).count(State.SUCCESS)


@in_virtual_time
async def test_a_handler_that_exits_fails_and_the_worker_goes_on() -> None:
    """X4 X7: or one tenant's job could end the worker of all."""
    app = dure.App(":memory:")

    @app.kind(retry=1)
    async def leave(code: int) -> None:
        sys.exit(code)

    async with running(app) as t:
        jobs = await t.enqueue_many([leave(code) for code in range(3)])
        await t.run_until_idle()

        found = [await t.job(job.id) for job in jobs]
        assert [State.FAILED] * 3 == [job.state for job in found]
        assert "SystemExit: 2" == found[2].error
