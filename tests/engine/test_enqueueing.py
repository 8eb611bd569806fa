"""Putting work in: keys, priorities, delays, what is refused and when, and who shares a commit."""

import asyncio

import pytest

import dure
from dure import Priority, State, Unique
from dure.core.errors import KindInvalid, KindUnknown
from dure.testing import in_virtual_time, running


@pytest.fixture
def app() -> dure.App:
    app = dure.App(":memory:")

    @app.kind
    async def work(name: str = "") -> None:
        pass

    return app


def work(**options: object) -> dure.Job:
    return dure.Job("work", "{}").options(**options)  # type: ignore[arg-type]


@in_virtual_time
async def test_a_second_job_under_a_key_is_the_first_one_until_that_has_ended(
    app: dure.App,
) -> None:
    """X2"""
    async with running(app) as t:
        await t.commands.pause("all", by="test")
        first = await t.enqueue(work(unique="k"))
        second = await t.enqueue(work(unique="k"))
        await t.commands.resume("all", by="test")
        await t.run_until_idle()
        third = await t.enqueue(work(unique="k"))

        assert (first.id, False) == second
        assert third.is_new


@in_virtual_time
async def test_a_key_with_a_period_stays_taken_until_the_period_ends(app: dure.App) -> None:
    """X2"""
    key = Unique(key="often", period="5m")
    async with running(app) as t:
        first = await t.enqueue(work(unique=key))
        await t.run_until_idle()
        again = await t.enqueue(work(unique=key))
        await t.advance("5m")
        later = await t.enqueue(work(unique=key))

        assert (first.id, False) == again
        assert later.is_new


@pytest.mark.parametrize(("scope", "is_new"), [("kind", False), ("lane", True), ("global", False)])
@in_virtual_time
async def test_a_keys_scope_says_what_it_is_unique_within(
    app: dure.App, scope: str, is_new: bool
) -> None:
    """X2"""
    async with running(app) as t:
        await t.commands.pause("all", by="test")
        await t.enqueue(work(unique=Unique(key="k", scope=scope), lane="a"))

        assert (
            is_new is (await t.enqueue(work(unique=Unique(key="k", scope=scope), lane="b"))).is_new
        )


@in_virtual_time
async def test_the_more_urgent_job_of_a_lane_runs_first(app: dure.App) -> None:
    """X2"""
    ran: list[str] = []

    @app.kind
    async def note(name: str) -> None:
        ran.append(name)

    async with running(app, slots=1, claim_max=1) as t:
        await t.commands.pause("all", by="test")
        for priority in (Priority.LOW, Priority.NORMAL, Priority.CRITICAL, Priority.HIGH):
            await t.enqueue_many([note(priority.name)] * 2, priority=priority)
        await t.commands.resume("all", by="test")
        await t.run_until_idle()

        order = ["CRITICAL", "HIGH", "NORMAL", "LOW"]
        assert [name for name in order for _ in range(2)] == ran


@in_virtual_time
async def test_a_delayed_job_runs_when_its_time_has_come_and_not_before(app: dure.App) -> None:
    """X2"""
    async with running(app) as t:
        delayed = await t.enqueue(work(delay="10m"))
        dated = await t.enqueue(work(at=t.clock.now() + 600, delay="1h"))
        await t.advance("9m 55s")
        before = [(await t.job(job.id)).state for job in (delayed, dated)]
        await t.advance("10s")
        after = [(await t.job(job.id)).state for job in (delayed, dated)]

        assert [State.RETRY_WAIT] * 2 == before
        assert [State.SUCCESS] * 2 == after


@in_virtual_time
async def test_an_undeclared_kind_is_refused_with_what_is_declared(app: dure.App) -> None:
    """X2"""
    async with running(app) as t:
        with pytest.raises(KindUnknown, match=r"No kind 'wrok'.*Declared are: work"):
            await t.enqueue(dure.Job("wrok", "{}"))


@in_virtual_time
async def test_jobs_of_kinds_a_node_does_not_serve_stay_waiting(app: dure.App) -> None:
    """X1"""

    @app.kind
    async def other() -> None:
        pass

    async with running(app, kinds=("work",)) as t:
        ours, theirs = await t.enqueue_many([work(), other()])
        await t.advance("1m")

        assert State.SUCCESS is (await t.job(ours.id)).state
        assert State.PENDING is (await t.job(theirs.id)).state


def test_a_node_for_an_undeclared_kind_is_refused(app: dure.App) -> None:
    with pytest.raises(KindUnknown, match="No kind 'wrok'"):
        app.node(kinds=("wrok",))


def test_arguments_that_do_not_fit_are_refused_where_the_job_is_built(app: dure.App) -> None:
    """X2"""

    @app.kind
    async def add(one: int, *, two: int) -> None:
        pass

    with pytest.raises(KindInvalid, match="do not fit 'add'"):
        add("one", two=2)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        add(1)  # type: ignore[call-arg]


@in_virtual_time
async def test_stored_arguments_of_an_older_signature_use_the_new_defaults(app: dure.App) -> None:
    """X13"""
    got: list[tuple[int, int]] = []

    @app.kind
    async def add(one: int, two: int = 5) -> None:
        got.append((one, two))

    async with running(app) as t:
        await t.enqueue(dure.Job("add", '{"one": 1}'))
        await t.run_until_idle()

        assert [(1, 5)] == got


@in_virtual_time
async def test_stored_arguments_that_no_longer_fit_fail_with_what_to_do(app: dure.App) -> None:
    """X13"""

    @app.kind
    async def add(one: int) -> None:
        raise AssertionError("never called")

    async with running(app) as t:
        job = await t.enqueue(dure.Job("add", '{"uno": 1}'))
        await t.run_until_idle()
        record = await t.job(job.id)

        assert State.FAILED is record.state
        assert "dure jobs edit" in (record.error or "")


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda app: app.kind(run="fibre"), "Unknown run mode 'fibre'"),
        (lambda app: app.kind(run="thread"), "cannot run as 'thread'"),
        (lambda app: app.kind(uses="gpu"), "Unknown resource 'gpu'"),
        (lambda app: app.kind(timeout="soon"), "cannot read 'soon'"),
        (lambda app: app.kind(name="work"), "declared twice"),
        (lambda app: app.kind(colour="red"), "colour"),
        (lambda app: app.chunk(1), "A chunk of 1"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused_at_once(
    app: dure.App, declare: object, message: str
) -> None:
    async def handler(items: list[int]) -> None:
        pass

    with pytest.raises(KindInvalid, match=message):
        declare(app)(handler)  # type: ignore[operator]


@in_virtual_time
async def test_callers_that_come_together_share_a_commit(app: dure.App) -> None:
    """X2"""
    async with running(app) as t:
        await t.commands.pause("all", by="test")
        await t.enqueue(work())
        before = t.store.calls["enqueue"]
        receipts = await asyncio.gather(*(t.enqueue(work()) for _ in range(100)))

        assert len({receipt.id for receipt in receipts}) == 100
        assert t.store.calls["enqueue"] - before <= 2


@in_virtual_time
async def test_every_caller_of_a_failed_commit_hears_of_it(app: dure.App) -> None:
    """X2"""
    async with running(app) as t:
        await t.enqueue(work())
        await t.run_until_idle()
        t.fail_store("enqueue")
        answers = await asyncio.gather(
            *(t.enqueue(work()) for _ in range(3)), return_exceptions=True
        )

        assert [dure.StoreError] * 3 == [type(each).__mro__[1] for each in answers]
        assert 1 == len(await t.jobs())


@in_virtual_time
async def test_an_idle_node_claims_in_the_commit_of_the_enqueue(app: dure.App) -> None:
    """X2"""
    async with running(app) as t:
        await t.enqueue(work())
        await t.run_until_idle()
        claims = t.store.calls["claim"]
        job = await t.enqueue(work())
        await t.run_until_idle()

        assert State.SUCCESS is (await t.job(job.id)).state
        assert claims == t.store.calls["claim"]


@in_virtual_time
async def test_what_was_claimed_with_an_enqueue_runs_though_the_caller_has_gone(
    app: dure.App,
) -> None:
    """X12"""
    async with running(app) as t:
        await t.enqueue(work())
        await t.run_until_idle()
        caller = asyncio.create_task(t.enqueue(work()))
        await asyncio.sleep(0)
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        await t.run_until_idle()

        assert {State.SUCCESS} == {job.state for job in await t.jobs()}
        assert 2 == len(await t.jobs())
