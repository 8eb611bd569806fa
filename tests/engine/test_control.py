"""What operators say takes effect on work that runs: pause, resume, cancel, settings."""

import asyncio

import pytest

import dure
from dure import State
from dure.core.errors import SettingInvalid
from dure.core.filter import JobFilter
from dure.ports.store import Hint
from dure.testing import in_virtual_time, running


@pytest.fixture
def ended() -> list[str]:
    return []


@pytest.fixture
def app(ended: list[str]) -> dure.App:
    app = dure.App(":memory:")

    @app.kind
    async def slow(name: str) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append(f"stopped {name}")
            raise
        ended.append(name)

    return app


def slow(name: str) -> dure.Job:
    return dure.Job("slow", f'{{"name": "{name}"}}')


@pytest.mark.parametrize(
    ("scope", "name"), [("all", ""), ("kind", "slow"), ("lane", "a"), ("session", "s")]
)
@in_virtual_time
async def test_a_pause_without_drain_stops_running_work_and_gives_it_back(
    app: dure.App, ended: list[str], scope: str, name: str
) -> None:
    """X16"""
    async with running(app) as t:
        job = await t.enqueue(slow("one"), lane="a", session="s")
        await t.advance("5s")
        await t.commands.pause(scope, name, by="test", drain=False)
        await t.advance("5s")
        held = await t.job(job.id)
        await t.commands.resume(scope, name, by="test")
        await t.run_until_idle()

        assert ["stopped one", "one"] == ended
        assert held.state in {State.PENDING, State.SUSPENDED}
        assert 0 == held.attempt
        assert State.SUCCESS is (await t.job(job.id)).state


@in_virtual_time
async def test_work_resumed_before_its_node_has_heard_of_it_is_not_suspended_for_good(
    app: dure.App, ended: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """X16: another process ends a session's pause, and its hint is late or lost."""
    async with running(app) as t:
        await t.commands.pause("session", "s", by="test")
        await t.advance("5s")
        job = await t.enqueue(slow("one"), session="s")
        tell = t.store.hint

        async def deaf(hint: Hint) -> None:
            if hint.topic != "control":
                await tell(hint)

        monkeypatch.setattr(t.store, "hint", deaf)
        await t.commands.resume("session", "s", by="test")
        await t.advance("2m")

        assert ["one"] == ended
        done = await t.job(job.id)
        assert (State.SUCCESS, 1) == (done.state, done.attempt)


@in_virtual_time
async def test_a_pause_with_drain_lets_running_work_end_and_starts_nothing_more(
    app: dure.App, ended: list[str]
) -> None:
    """X16"""
    async with running(app, slots=1, claim_max=1) as t:
        await t.enqueue_many([slow("one"), slow("two")], lane="a")
        await t.enqueue(slow("other"), lane="b", delay="2m")
        await t.advance("5s")
        await t.commands.pause("lane", "a", by="test", drain=True)
        await t.advance("10m")

        assert ["one", "other"] == ended
        (waiting,) = await t.jobs("state:pending")
        assert "paused" in (await t.why(waiting.id)).code


@in_virtual_time
async def test_a_cancelled_job_is_stopped_while_it_runs(app: dure.App, ended: list[str]) -> None:
    """X16"""
    async with running(app) as t:
        first, second = await t.enqueue_many([slow("one"), slow("two")])
        await t.advance("5s")
        await t.commands.cancel([first.id], by="test")
        await t.run_until_idle()

        assert ["stopped one", "two"] == ended
        assert State.CANCELLED is (await t.job(first.id)).state
        assert State.SUCCESS is (await t.job(second.id)).state


@in_virtual_time
async def test_a_suspended_job_is_stopped_and_goes_on_when_it_is_resumed(
    app: dure.App, ended: list[str]
) -> None:
    """X5 X16"""
    async with running(app) as t:
        job = await t.enqueue(slow("one"))
        await t.advance("5s")
        await t.commands.suspend([job.id], "QUOTA", by="test")
        await t.advance("5s")
        held = await t.job(job.id)
        await t.commands.resume_jobs(JobFilter.parse("reason:QUOTA"), by="test")
        await t.run_until_idle()

        assert (State.SUSPENDED, "QUOTA") == (held.state, held.reason)
        assert ["stopped one", "one"] == ended


@in_virtual_time
async def test_a_setting_is_picked_up_by_every_node(app: dure.App) -> None:
    """X17"""
    async with running(app, nodes=2) as t:
        await t.commands.set_setting("worker.slots", "7", by="test")
        await t.advance("2s")
        changed = [node.slots.size for node in t.nodes]
        await t.commands.unset_setting("worker.slots", by="test")
        await t.advance("2s")

        assert [7, 7] == changed
        assert [100, 100] == [node.slots.size for node in t.nodes]


@in_virtual_time
async def test_a_setting_that_makes_no_sense_is_refused_and_changes_nothing(app: dure.App) -> None:
    """X17"""
    async with running(app) as t:
        with pytest.raises(SettingInvalid, match=r"worker\.slots"):
            await t.commands.set_setting("worker.slots", "0", by="test")
        await t.advance("2s")

        assert 100 == t.node.slots.size


@in_virtual_time
async def test_fewer_slots_let_running_work_end_and_start_less(app: dure.App) -> None:
    """X17"""
    async with running(app, claim_max=1) as t:
        await t.enqueue_many([slow(str(number)) for number in range(20)])
        await t.advance("5s")
        before = len(t.node.slots.running)
        await t.commands.set_setting("worker.slots", "2", by="test")
        await t.advance("60s")

        assert 20 == before
        await t.enqueue_many([slow(str(number)) for number in range(20)])
        await t.advance("10s")
        assert 2 == len(t.node.slots.running)


@in_virtual_time
async def test_a_hint_that_is_lost_only_costs_time(app: dure.App) -> None:
    """X21"""
    async with running(app) as t:
        t.store._listeners.clear()
        job = await t.enqueue(slow("one"))
        await t.advance("5s")
        await t.commands.cancel([job.id], by="test")
        await t.advance("5s")

        assert 0 == len(t.node.slots.running)
        assert State.CANCELLED is (await t.job(job.id)).state


@in_virtual_time
async def test_slots_follow_load_between_their_bounds(app: dure.App) -> None:
    """X15 C9"""
    quick = dure.App(":memory:")

    @quick.kind
    async def call() -> None:
        await asyncio.sleep(0.2)

    async with running(quick, slots=20, slots_min=2) as t:
        await t.advance("1m")
        idle = t.node.slots.size
        await t.enqueue_many([call() for _ in range(8_000)])
        await t.advance("1m")
        busy = t.node.slots.size
        await t.run_until_idle()
        await t.advance("5m")

        assert 2 <= idle < busy <= 20
        assert 2 == t.node.slots.size
        assert idle < busy


@in_virtual_time
async def test_failures_take_slots_away(app: dure.App) -> None:
    """X15"""
    failing = dure.App(":memory:")

    @failing.kind(retry=1)
    async def call() -> None:
        await asyncio.sleep(0.5)
        raise ValueError("overloaded")

    async with running(failing, slots=20, slots_min=2) as t:
        before = t.node.slots.size
        await t.enqueue_many([call() for _ in range(2000)])
        await t.advance("1m")

        assert t.node.slots.size <= before // 2


@in_virtual_time
async def test_claims_grow_while_they_come_back_full(app: dure.App) -> None:
    """X15"""
    quick = dure.App(":memory:")

    @quick.kind
    async def call() -> None:
        pass

    async with running(quick, slots=400) as t:
        before = t.node.claimer.size
        await t.enqueue_many([call() for _ in range(3000)])
        await t.run_until_idle()

        assert 3000 == len(await t.jobs("state:success"))
        assert t.node.tally.claims < 3000 / before
