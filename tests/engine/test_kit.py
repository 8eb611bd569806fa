"""The test kit itself: the app stands elsewhere for a while, time is virtual, faults are exact."""

import asyncio
import time
from pathlib import Path

import pytest

import dure
from dure import State
from dure.core.errors import ConfigError, Refused
from dure.testing import in_virtual_time, running


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@in_virtual_time
async def test_the_real_store_is_not_touched(tmp_path: Path) -> None:
    app = dure.App(tmp_path / "real.db")
    store = app.store

    @app.kind
    async def work() -> None:
        await app.enqueue(leaf())

    @app.kind
    async def leaf() -> None:
        pass

    async with running(app) as t:
        await t.enqueue(work())
        await t.run_until_idle()
        assert app.store is t.store
        assert 1 == len(await t.jobs("kind:leaf state:success"))

    assert app.store is store
    assert [] == files(tmp_path)


@in_virtual_time
async def test_plain_and_process_handlers_run_on_the_loop() -> None:
    app = dure.App(":memory:")

    @app.kind
    def plain() -> str:
        return dure.current().kind

    async with running(app) as t:
        job = await t.enqueue(plain())
        await t.run_until_idle()

        assert '"plain"' == (await t.job(job.id)).result


@in_virtual_time
async def test_time_passes_only_when_it_is_told_to() -> None:
    app = dure.App(":memory:")

    @app.kind(timeout=None)
    async def sleep() -> None:
        await asyncio.sleep(180)

    started = time.monotonic()
    async with running(app) as t:
        before = t.clock.now()
        job = await t.enqueue(sleep(), delay="1m")
        await t.advance("6m")

        assert 360 == round(t.clock.now() - before)
        record = await t.job(job.id)
        assert 240 == round((record.finished_at or 0) - before, -1)
    assert time.monotonic() - started < 180


@in_virtual_time
async def test_a_handler_that_never_ends_is_named() -> None:
    app = dure.App(":memory:")

    @app.kind(timeout=None)
    async def endless() -> None:
        while True:
            await asyncio.sleep(6)

    async with running(app, grace=0) as t:
        await t.enqueue(endless())
        with pytest.raises(TimeoutError, match="still at work after 60s: endless"):
            await t.run_until_idle(patience="1m")


@in_virtual_time
async def test_a_part_of_the_engine_that_breaks_fails_the_test() -> None:
    app = dure.App(":memory:")
    with pytest.raises(ZeroDivisionError):
        await _broken(app)


async def _broken(app: dure.App) -> None:
    async with running(app) as t:
        t.node._spawn(_breaks(), "broken")
        await t.advance("1s")


async def _breaks() -> None:
    raise ZeroDivisionError


@in_virtual_time
async def test_a_verb_that_a_store_does_not_have_is_refused() -> None:
    async with running(dure.App(":memory:")) as t:
        with pytest.raises(ConfigError, match="no verb 'commit'"):
            t.fail_store("commit")


async def test_a_test_outside_virtual_time_is_told_what_to_do() -> None:
    with pytest.raises(Refused, match="in_virtual_time"):
        async with running(dure.App(":memory:")):
            pass


@in_virtual_time
async def test_waiting_until_something_holds_ends_in_time() -> None:
    app = dure.App(":memory:")

    @app.kind
    async def work() -> None:
        pass

    async with running(app) as t:
        job = await t.enqueue(work(), delay="1m")

        async def is_done() -> bool:
            return (await t.job(job.id)).state is State.SUCCESS

        await t.until(is_done)
        with pytest.raises(TimeoutError):
            await t.until(lambda: False, within="10s")
