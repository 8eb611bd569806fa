"""Nodes come, share, fall silent and leave; what was acknowledged is never lost."""

import asyncio
import contextlib
from collections import Counter

import pytest

import dure
from dure import QueueFull, State
from dure.engine.desk import health
from dure.testing import in_virtual_time, running


def app_counting(runs: Counter[int], seconds: float = 0.1) -> dure.App:
    app = dure.App(":memory:")

    @app.kind
    async def work(number: int) -> None:
        runs[number] += 1
        await asyncio.sleep(seconds)

    return app


def work(number: int) -> dure.Job:
    return dure.Job("work", f'{{"number": {number}}}')


@in_virtual_time
async def test_two_nodes_share_work_and_no_job_runs_twice() -> None:
    """X21 A4"""
    runs: Counter[int] = Counter()
    async with running(app_counting(runs), nodes=2, slots=5, claim_max=10) as t:
        await t.enqueue_many([work(number) for number in range(300)])
        await t.run_until_idle()

        assert {1} == set(runs.values())
        assert 300 == len(runs)
        assert min(node.tally.claimed for node in t.nodes) > 50


@pytest.mark.parametrize("verb", ["claim", "apply", "enqueue"])
@in_virtual_time
async def test_a_lost_answer_loses_no_job_and_runs_none_twice(verb: str) -> None:
    """X12"""
    runs: Counter[int] = Counter()
    async with running(app_counting(runs), slots=5) as t:
        await t.enqueue(work(0))
        await t.run_until_idle()
        t.lose_next_answer(verb, times=2)
        for number in range(1, 20):
            with contextlib.suppress(dure.StoreError):
                await t.enqueue(work(number))
        await t.advance("10s")

        assert {1} == set(runs.values())
        assert 20 == len(await t.jobs("state:success"))
        assert {1} == {job.attempt for job in await t.jobs()}


@in_virtual_time
async def test_a_claim_whose_answer_is_lost_is_given_back_without_an_attempt() -> None:
    """X12"""
    runs: Counter[int] = Counter()
    async with running(app_counting(runs), slots=5) as t:
        await t.commands.pause("all", by="test")
        jobs = await t.enqueue_many([work(number) for number in range(5)])
        t.lose_next_answer("claim")
        await t.commands.resume("all", by="test")
        await t.advance("5s")

        records = [await t.job(job.id) for job in jobs]
        assert [(State.SUCCESS, 1)] * 5 == [(job.state, job.attempt) for job in records]
        assert max(job.fence for job in records) > 1


@in_virtual_time
async def test_a_store_that_is_away_for_a_while_stops_nothing_for_good() -> None:
    """X12"""
    runs: Counter[int] = Counter()
    async with running(app_counting(runs, seconds=5.0), slots=5) as t:
        await t.enqueue_many([work(number) for number in range(20)])
        await t.advance("1s")
        with t.store_away():
            await t.advance("8s")
        await t.run_until_idle()

        assert 20 == len(await t.jobs("state:success"))
        assert {1} == set(runs.values())


@in_virtual_time
async def test_a_node_that_lost_its_lease_writes_nothing_and_comes_back_as_a_new_worker() -> None:
    """X3 X12"""
    runs: Counter[int] = Counter()
    async with running(app_counting(runs, seconds=40.0), nodes=2, slots=5) as t:
        first, second = t.nodes
        job = await t.enqueue(work(1))
        await t.advance("1s")
        holder = first if first.slots.running else second
        before = holder.worker
        await t.sql("update dure_worker set lease_until = 0 where id = ?", (before,))
        await t.advance("5m")

        record = await t.job(job.id)
        assert (State.SUCCESS, 2) == (record.state, record.attempt)
        assert holder.worker != before
        assert 2 == runs[1]


@in_virtual_time
async def test_a_claim_is_not_mistaken_for_an_older_attempt_that_is_still_on_its_way_out() -> None:
    """X12: the claim's answer is lost while the same job's fenced-off attempt ends here."""
    app = dure.App(":memory:")
    begun: list[int] = []

    @app.kind(retry=dure.RetryPolicy.of(5, base="100ms"), timeout=None)
    async def stubborn() -> None:
        begun.append(1)
        if len(begun) == 1:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(3600.0)
            await asyncio.sleep(4.0)

    async with running(app, slots=2, lease=3.0, beat=0.1) as t:
        await t.commands.set_setting("sweep.interval", "10m", by="test")
        await t.advance("6s")
        job = await t.enqueue(stubborn())
        await t.until(lambda: bool(begun))
        before = t.node.worker
        await t.sql("update dure_worker set lease_until = 0 where id = ?", (before,))
        await t.until(lambda: t.node.worker not in {0, before})
        t.lose_next_answer("claim")
        await t.node.upkeep.sweep()
        await t.advance("1m")

        assert State.SUCCESS is (await t.job(job.id)).state


@in_virtual_time
async def test_a_shutdown_lets_work_end_and_says_what_it_did() -> None:
    """X12"""
    runs: Counter[int] = Counter()
    async with running(app_counting(runs, seconds=10.0), slots=2, grace=30) as t:
        await t.enqueue_many([work(number) for number in range(2)])
        await t.advance("1s")
        departure = await t.nodes.pop().stop()

        assert dure.Departure(finished=2, given_back=0, interrupted=0, is_clean=True) == departure
        assert 2 == len(await t.jobs("state:success"))


@in_virtual_time
async def test_a_shutdown_gives_back_what_does_not_end_within_its_grace() -> None:
    """X12"""
    runs: Counter[int] = Counter()
    async with running(app_counting(runs, seconds=3600.0), slots=2, grace=5) as t:
        await t.enqueue_many([work(number) for number in range(10)])
        await t.advance("1s")
        departure = await t.nodes.pop().stop()

        assert (0, 2, True) == (departure.finished, departure.interrupted, departure.is_clean)
        assert departure.given_back >= 2
        waiting = await t.jobs("state:pending")
        assert 10 == len(waiting)
        assert {0} == {job.attempt for job in waiting}


@in_virtual_time
async def test_a_second_signal_ends_the_grace() -> None:
    """X12"""
    runs: Counter[int] = Counter()
    async with running(app_counting(runs, seconds=3600.0), slots=2, grace=600) as t:
        await t.enqueue(work(1))
        await t.advance("1s")
        before = t.clock.now()
        node = t.nodes.pop()
        asyncio.get_running_loop().call_later(3, node.hurry.set)
        departure = await node.stop()

        assert 1 == departure.interrupted
        assert t.clock.now() - before < 10


@in_virtual_time
async def test_a_node_that_leaves_gives_its_caps_to_the_others_at_once() -> None:
    """X12"""
    runs: Counter[int] = Counter()
    async with running(app_counting(runs, seconds=1.0), slots=5) as t:
        await t.commands.configure_lane("default", by="test", max_running=1)
        await t.enqueue_many([work(number) for number in range(3)])
        await t.run_until_idle()
        await t.nodes.pop().stop()
        await t.start_node()
        job = await t.enqueue(work(4))
        await t.advance("3s")

        assert State.SUCCESS is (await t.job(job.id)).state


@in_virtual_time
async def test_a_full_queue_holds_its_producer_until_there_is_room() -> None:
    """X14 C3"""
    app = dure.App(":memory:")

    @app.kind(queue_max=5)
    async def work() -> None:
        await asyncio.sleep(1)

    async with running(app, slots=1, claim_max=1) as t:
        before = t.clock.now()
        for _ in range(20):
            await t.enqueue(work())
        waited = t.clock.now() - before
        (depth,) = app.pressure.queues.values()

        assert waited > 10
        assert depth.blocked > 0
        assert depth.depth_max <= 5
        assert 20 == depth.enqueued
        await t.run_until_idle()
        assert 20 == len(await t.jobs("state:success"))


@in_virtual_time
async def test_a_full_queue_refuses_when_it_is_told_to() -> None:
    """X14"""
    app = dure.App(":memory:")

    @app.kind(queue_max=5)
    async def work() -> None:
        pass

    async with running(app) as t:
        await t.commands.pause("all", by="test")
        app.pressure.refuses = True
        for _ in range(5):
            await t.enqueue(work())
        with pytest.raises(QueueFull, match="bound is 5"):
            await t.enqueue(work())
        await t.enqueue(work(), lane="other")

        assert 6 == len(await t.jobs("state:pending"))


@in_virtual_time
async def test_a_queue_over_nine_tenths_is_unhealthy_and_does_not_make_the_node_unready() -> None:
    """C13 X18"""
    app = dure.App(":memory:")

    @app.kind(queue_max=10)
    async def work() -> None:
        pass

    async with running(app) as t:
        await t.commands.pause("all", by="test")
        await t.enqueue_many([work()] * 9)
        at_nine = {c.component: c.is_well for c in health.checks(t.node)}
        await t.enqueue(work())
        at_ten = {c.component: c.is_well for c in health.checks(t.node)}

        assert at_nine["queue default/work"]
        assert not at_ten["queue default/work"]
        assert health.is_ready(t.node)


@in_virtual_time
async def test_a_healthy_node_is_live_and_ready_and_says_so_for_every_part() -> None:
    """X18"""
    async with running(app_counting(Counter())) as t:
        await t.enqueue(work(1))
        await t.run_until_idle()
        checks = health.checks(t.node)

        assert all(check.is_well for check in checks)
        assert {"loop", "lease", "claimer", "finisher", "sweep", "threads"} <= {
            check.component for check in checks
        }
        assert health.is_live(t.node)
        assert health.is_ready(t.node)
        assert 'dure_jobs_total{kind="work",event="succeed"} 1' in health.metrics(t.node)


@in_virtual_time
async def test_a_node_without_its_store_is_live_and_not_ready_until_it_is_back() -> None:
    """X18"""
    async with running(app_counting(Counter())) as t:
        with t.store_away():
            await t.advance("1m")
            away = (health.is_live(t.node), health.is_ready(t.node))
        await t.advance("1m")

        assert (True, False) == away
        assert health.is_ready(t.node)


@in_virtual_time
async def test_a_stopping_node_is_not_ready() -> None:
    """X18"""
    async with running(app_counting(Counter(), seconds=10.0)) as t:
        await t.enqueue(work(1))
        await t.advance("1s")
        stopping = asyncio.create_task(t.node.stop())
        await asyncio.sleep(0.1)

        assert not health.is_ready(t.node)
        await stopping
        t.nodes.clear()
