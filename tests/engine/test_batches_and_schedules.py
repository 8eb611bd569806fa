"""Batches are counted and reported once; schedules fire once, whoever looks."""

import asyncio
from datetime import UTC, datetime

import pytest

import dure
from dure import BatchRunning, Overlap, Report, State
from dure.core.batch import BatchState
from dure.core.errors import ConfigError, NotFound
from dure.testing import in_virtual_time, running


def app_reporting(reports: list[Report]) -> dure.App:
    app = dure.App(":memory:")

    @app.kind(retry=1)
    async def step(outcome: str = "done") -> dure.Outcome:
        await asyncio.sleep(1)
        match outcome:
            case "fail":
                raise ValueError("no")
            case "skip":
                return dure.Skip("nothing")
            case "stale":
                return dure.Stale()
        return dure.Done()

    @app.report()
    async def tell(report: Report) -> None:
        reports.append(report)

    return app


def step(outcome: str = "done") -> dure.Job:
    return dure.Job("step", f'{{"outcome": "{outcome}"}}')


@in_virtual_time
async def test_a_batch_is_counted_by_outcome_and_reported_once_by_two_nodes() -> None:
    """X10"""
    reports: list[Report] = []
    app = app_reporting(reports)
    async with running(app, nodes=2) as t:
        async with app.batch("DAILY") as batch:
            await batch.add([step(how) for how in ("done", "done", "fail", "skip", "stale")])
        report = await batch.finished()
        await t.advance("1m")

        tally = report.tally
        assert (5, 2, 1, 1, 1) == (
            tally.added,
            tally.success,
            tally.failed,
            tally.skipped,
            tally.stale,
        )
        assert [(BatchState.DONE, tally)] == [(each.state, each.tally) for each in reports]


@in_virtual_time
async def test_an_empty_batch_is_over_at_once_and_reported() -> None:
    """X10"""
    reports: list[Report] = []
    app = app_reporting(reports)
    async with running(app) as t:
        async with app.batch("DAILY"):
            pass
        await t.run_until_idle()

        assert [0] == [report.tally.added for report in reports]


@in_virtual_time
async def test_an_open_batch_is_not_over_while_jobs_may_still_come() -> None:
    """X10"""
    reports: list[Report] = []
    app = app_reporting(reports)
    async with running(app) as t:
        async with app.batch("DAILY") as batch:
            await batch.add([step()])
            await t.advance("5m")
            before = len(reports)
            await batch.add([step()])
        await batch.finished()
        await t.run_until_idle()

        assert 0 == before
        assert [2] == [report.tally.success for report in reports]


@in_virtual_time
async def test_a_batch_waits_for_the_one_before_it() -> None:
    """X10"""
    app = app_reporting([])
    async with running(app, slots=1) as t:
        async with app.batch("DAILY") as first:
            await first.add([step()] * 10)
        before = t.clock.now()
        async with app.batch("DAILY"):
            waited = t.clock.now() - before

        assert waited > 8


@in_virtual_time
async def test_a_batch_may_refuse_to_run_beside_another_or_be_allowed_to() -> None:
    """X10"""
    app = app_reporting([])
    async with running(app), app.batch("DAILY") as first:
        for overlap in ("refuse", "skip"):
            with pytest.raises(BatchRunning, match="has been running"):
                await app.batch("DAILY", overlap=overlap).__aenter__()
        async with app.batch("DAILY", overlap=Overlap.ALLOW) as second:
            assert first.id != second.id
        async with app.batch("WEEKLY") as other:
            assert other.id > second.id


@in_virtual_time
async def test_a_batch_that_is_left_by_an_error_is_interrupted_and_reported() -> None:
    """X10"""
    reports: list[Report] = []
    app = app_reporting(reports)
    async with running(app) as t:
        with pytest.raises(ValueError, match="stop"):
            await _stopped(app)
        await t.run_until_idle()

        (report,) = reports
        assert BatchState.INTERRUPTED is report.state
        assert "ValueError: stop" in report.note


async def _stopped(app: dure.App) -> None:
    async with app.batch("DAILY") as batch:
        await batch.add([step()])
        raise ValueError("stop")


@in_virtual_time
async def test_the_next_batch_ends_an_orphan_and_reports_how_much_it_left() -> None:
    """X10"""
    reports: list[Report] = []
    app = app_reporting(reports)
    async with running(app) as t:
        orphan = await app.batch("DAILY").__aenter__()
        await t.commands.pause("all", by="test")
        await orphan.add([step()] * 3)
        assert orphan._renewing is not None
        orphan._renewing.cancel()
        await t.advance("2m")
        async with app.batch("DAILY", overlap="refuse") as batch:
            pass
        await t.commands.resume("all", by="test")
        await t.run_until_idle()

        found = {report.id: report for report in reports}
        assert BatchState.INTERRUPTED is found[orphan.id].state
        assert 3 == found[batch.id].orphans_recovered
        assert 3 == len(await t.jobs("state:cancelled kind:step"))


@in_virtual_time
async def test_a_schedule_fires_once_for_two_nodes() -> None:
    """X11"""
    ran: list[float] = []
    app = dure.App(":memory:")

    @app.kind
    async def tick() -> None:
        ran.append(dure.current().enqueued_at)

    app.schedule("often", "every 1m", tick())
    async with running(app, nodes=2) as t:
        await t.advance("6m10s")

        assert 6 == len(ran)
        assert {0} == {int(at) % 60 for at in ran}


@in_virtual_time
async def test_a_cron_line_is_read_in_its_time_zone() -> None:
    """X11"""
    ran: list[float] = []
    app = dure.App(":memory:")

    @app.kind
    async def tick() -> None:
        ran.append(dure.current().enqueued_at)

    app.schedule("morning", "5 9 * * *", tick(), tz="Asia/Seoul")
    async with running(app) as t:
        await t.advance("10m")

        (at,) = ran
        assert datetime.fromtimestamp(at, UTC).strftime("%H:%M") == "00:05"


@pytest.mark.parametrize(("missed", "fired"), [("skip", 1), ("once", 2), ("all", 7)])
@in_virtual_time
async def test_what_was_missed_is_made_up_for_as_the_schedule_says(missed: str, fired: int) -> None:
    """X11"""
    app = dure.App(":memory:")

    @app.kind
    async def tick() -> None:
        pass

    app.schedule("often", "every 5m", tick(), missed=missed)
    async with running(app) as t:
        await t.node.stop()
        t.nodes.clear()
        await t.advance("32m")
        await t.start_node()
        await t.advance("4m")

        assert fired == len(await t.jobs("kind:tick state:success"))


@in_virtual_time
async def test_a_message_fires_a_schedule_once_however_often_it_is_delivered() -> None:
    """X11 B12"""
    app = dure.App(":memory:")

    @app.kind
    async def tick() -> None:
        pass

    app.schedule("daily", "0 5 * * *", tick().options(lane="acme"))
    async with running(app) as t:
        first = await app.fire("daily", message="m-1")
        again = await app.fire("daily", message="m-1")
        other = await app.fire("daily", message="m-2")
        await t.run_until_idle()

        assert [(True, first.id), (False, first.id)] == [
            (each.is_new, each.id) for each in (first, again)
        ]
        assert other.is_new
        assert 2 == len(await t.jobs("lane:acme state:success"))
        with pytest.raises(NotFound, match="no schedule 'nightly'"):
            await app.fire("nightly")


@pytest.mark.parametrize("when", ["every blue moon", "61 * * * *", "* * *"])
def test_a_schedule_that_cannot_be_read_is_refused_at_once(when: str) -> None:
    with pytest.raises(ConfigError, match="The schedule 'odd' cannot be declared"):
        dure.App(":memory:").schedule("odd", when, step())


@in_virtual_time
async def test_a_paused_schedule_does_not_fire() -> None:
    """X16"""
    app = dure.App(":memory:")

    @app.kind
    async def tick() -> None:
        pass

    app.schedule("often", "every 1m", tick())
    async with running(app) as t:
        await t.commands.pause_schedule("often", by="test")
        await t.advance("5m")

        assert State.SUCCESS not in {job.state for job in await t.jobs()}
