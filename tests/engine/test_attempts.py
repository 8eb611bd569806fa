"""One attempt: its timeout, its context, and what it cannot do to others."""

import asyncio
import gc
import threading
from contextvars import ContextVar

import pytest

import dure
from dure import State
from dure.core.errors import Refused
from dure.engine.attempts import slots, threads
from dure.engine.work import Work
from dure.testing import in_virtual_time, running

MARK: ContextVar[str] = ContextVar("mark", default="clean")


@in_virtual_time
async def test_a_timeout_stops_an_async_handler_and_frees_its_slot() -> None:
    """X6"""
    app = dure.App(":memory:")
    stopped: list[str] = []

    @app.kind(timeout="5s", retry=1)
    async def hang() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            stopped.append("hang")
            raise

    @app.kind
    async def quick() -> None:
        pass

    async with running(app, slots=1) as t:
        hanging = await t.enqueue(hang())
        await t.advance("1s")
        waiting = await t.enqueue(quick())
        await t.advance("10s")
        record = await t.job(hanging.id)

        assert ["hang"] == stopped
        assert State.FAILED is record.state
        assert "TimeoutError" in (record.error or "")
        assert State.SUCCESS is (await t.job(waiting.id)).state


@in_virtual_time
async def test_nothing_is_kept_of_ended_attempts_however_long_their_timeout_is() -> None:
    app = dure.App(":memory:")

    @app.kind(timeout="1h")
    async def quick() -> None:
        pass

    async with running(app, slots=4) as t:
        for _ in range(200):
            await t.enqueue(quick())
        await t.advance("1s")
        gc.collect()

        assert [] == await t.jobs("state:pending,running")
        assert sum(isinstance(each, Work) for each in gc.get_objects()) <= 4


@in_virtual_time
async def test_attempts_of_different_timeouts_are_stopped_each_in_its_time() -> None:
    """X6"""
    app = dure.App(":memory:")
    stopped: list[str] = []

    async def hang(name: str) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            stopped.append(name)

    long = app.kind(name="long", timeout="9s", retry=1)(hang)
    short = app.kind(name="short", timeout="2s", retry=1)(hang)

    async with running(app, slots=4) as t:
        await t.enqueue(long("first"))
        await t.enqueue(short("second"))
        await t.advance("1s")
        await t.enqueue(short("third"))
        await t.advance("1.5s")
        assert ["second"] == stopped
        await t.advance("1s")
        assert ["second", "third"] == stopped
        await t.advance("6s")

        assert ["second", "third", "first"] == stopped


@in_virtual_time
async def test_a_handler_that_swallows_its_cancellation_loses_its_slot_after_the_grace() -> None:
    """X6"""
    app = dure.App(":memory:")
    ends: list[str] = []

    @app.kind(timeout="5s", retry=1)
    async def stubborn() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(60)
        ends.append("stubborn")
        return "too late"

    @app.kind
    async def quick() -> None:
        pass

    async with running(app, slots=1) as t:
        first = await t.enqueue(stubborn())
        second = await t.enqueue(quick())
        await t.advance(5 + slots.GRACE_SECONDS + 2)
        states = [(await t.job(job.id)).state for job in (first, second)]
        await t.advance("2m")
        third = await t.enqueue(quick())
        await t.run_until_idle()

        assert [State.FAILED, State.SUCCESS] == states
        assert ["stubborn"] == ends
        assert (await t.job(first.id)).result is None
        assert State.SUCCESS is (await t.job(third.id)).state
        assert 1 == t.node.slots.size


@in_virtual_time
async def test_a_timeout_inside_a_handler_hits_the_handler_only() -> None:
    """X6"""
    app = dure.App(":memory:")

    @app.kind
    async def careful() -> str:
        try:
            async with asyncio.timeout(1):
                await asyncio.sleep(60)
        except TimeoutError:
            return "gave up"
        return "never"

    async with running(app, slots=1) as t:
        jobs = await t.enqueue_many([careful(), careful()])
        await t.run_until_idle()

        assert ['"gave up"'] * 2 == [(await t.job(job.id)).result for job in jobs]


@in_virtual_time
async def test_a_task_that_a_handler_leaves_behind_does_not_hold_its_slot() -> None:
    """X6"""
    app = dure.App(":memory:")
    left: set[asyncio.Task[None]] = set()

    @app.kind
    async def leaves() -> None:
        left.add(asyncio.create_task(asyncio.sleep(60)))

    async with running(app, slots=1) as t:
        await t.enqueue_many([leaves(), leaves()])
        await t.run_until_idle()

        assert 2 == len(await t.jobs("state:success"))
        await asyncio.gather(*left)


@in_virtual_time
async def test_context_variables_do_not_leak_from_job_to_job() -> None:
    app = dure.App(":memory:")
    seen: list[str] = []

    @app.kind
    async def mark(name: str) -> None:
        seen.append(MARK.get())
        MARK.set(name)
        await asyncio.sleep(0.1)
        seen.append(MARK.get())

    async with running(app, slots=1) as t:
        await t.enqueue_many([mark("a"), mark("b")])
        await t.run_until_idle()

        assert ["clean", "a", "clean", "b"] == seen


@in_virtual_time
async def test_a_handler_knows_its_job_and_nobody_else_does() -> None:
    app = dure.App(":memory:")
    seen: list[dure.Attempt] = []

    @app.kind(retry=dure.RetryPolicy.of(2, base="1s"))
    async def ask() -> None:
        seen.append(dure.current())
        if len(seen) == 1:
            raise ValueError("again")

    async with running(app) as t:
        job = await t.enqueue(ask(), lane="acme", session="s")
        await t.advance("10s")
        first, second = seen

        assert (job.id, "ask", "acme", "s", 1) == (
            first.job,
            first.kind,
            first.lane,
            first.session,
            first.number,
        )
        assert 2 == second.number
        assert second.fence > first.fence
        assert first.idempotency_key == second.idempotency_key
    with pytest.raises(Refused, match="no running job"):
        dure.current()


@in_virtual_time
async def test_a_cancellation_that_nobody_asked_for_counts_as_a_failure_of_the_job() -> None:
    """X4"""
    app = dure.App(":memory:")

    @app.kind(retry=1)
    async def odd() -> None:
        raise asyncio.CancelledError

    @app.kind
    async def quick() -> None:
        pass

    async with running(app, slots=1) as t:
        job = await t.enqueue(odd())
        await t.run_until_idle()
        after = await t.enqueue(quick())
        await t.run_until_idle()

        assert State.FAILED is (await t.job(job.id)).state
        assert State.SUCCESS is (await t.job(after.id)).state


async def test_a_timeout_stops_a_thread_handler_and_frees_its_slot() -> None:
    """X6"""
    app = dure.App(":memory:")
    ends: list[str] = []

    @app.kind(timeout=0.05, retry=1)
    def spin() -> None:
        try:
            while True:
                threading.Event().wait(0.001)
        finally:
            ends.append("stopped")

    @app.kind
    def quick() -> str:
        return threading.current_thread().name

    async with app.working(slots=1) as node:
        spinning = await app.enqueue(spin())
        waiting = await app.enqueue(quick())
        async with asyncio.timeout(20):
            while not await node.is_out_of_work():
                await asyncio.sleep(0.01)
        events = dict(node.tally.events)

        assert spinning.id < waiting.id
        assert ["stopped"] == ends
        assert {("spin", "timeout"): 1, ("quick", "succeed"): 1} == events
        assert 0 == node.slots.abandoned_threads


async def test_a_thread_that_cannot_be_stopped_is_abandoned_and_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """X6"""
    monkeypatch.setattr(threads, "GRACE_SECONDS", 0.05)
    app = dure.App(":memory:")
    release = threading.Event()

    @app.kind(timeout=0.05, retry=1)
    def stuck() -> None:
        release.wait(60)

    @app.kind
    def quick() -> None:
        pass

    async with app.working(slots=1) as node:
        await app.enqueue_many([stuck(), quick()])
        async with asyncio.timeout(20):
            while not await node.is_out_of_work():
                await asyncio.sleep(0.01)
        abandoned = node.slots.abandoned_threads
        release.set()

        assert 1 == abandoned
        assert 1 == node.tally.events["quick", dure.Event.SUCCEED]


async def test_a_thread_handlers_context_and_result_are_its_own() -> None:
    app = dure.App(":memory:")
    seen: list[str] = []

    @app.kind
    def mark(name: str) -> None:
        seen.append(f"{MARK.get()} {dure.current().kind}")
        MARK.set(name)

    async with app:
        await app.enqueue_many([mark("a"), mark("b")])
        await app.drain(slots=1)

    assert ["clean mark"] * 2 == seen
