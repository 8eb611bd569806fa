"""Workers asked to leave: they finish, give back, report, and leave nothing running behind."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.process.conftest import Scene

pytestmark = pytest.mark.process

KINDS = ("soft", "plain", "apart")


async def test_sigterm_finishes_what_ends_within_the_grace_and_gives_back_the_rest(
    scene: Scene,
) -> None:
    """X12"""
    leaving = await scene.working(slots=6, grace=5)
    short = [job for kind in KINDS for job in await scene.put(kind, seconds=3)]
    long = [job for kind in KINDS for job in await scene.put(kind, to="long", seconds=30)]
    await scene.until(lambda: len(scene.lines("start")) == 6)
    waiting = await scene.put("step", 5)

    leaving.ask(signal.SIGTERM)
    assert 0 == leaving.wait()

    assert [] == [row for row in scene.rows() if row.state == 1], "nothing is left running"
    assert {"SUCCESS"} == {scene.state(job) for job in short}
    assert {"PENDING"} == {scene.state(job) for job in [*long, *waiting]}
    assert {0} == {scene.row(job).attempt for job in [*long, *waiting]}, "no attempt is spent"
    report = scene.farewell(leaving)
    assert {"finished": 3, "given_back": 3, "interrupted": 3} == {
        key: report[key] for key in ("finished", "given_back", "interrupted")
    }
    assert report["is_clean"]
    assert 3 == scene.ask("select count(*) from effect")[0][0]
    scene.assert_calm()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_ends_the_grace_at_once(
    sqlite_scene: Scene, number: signal.Signals
) -> None:
    """X12"""
    scene = sqlite_scene
    leaving = await scene.working(slots=3, grace=60)
    jobs = [job for kind in KINDS for job in await scene.put(kind, seconds=30)]
    await scene.until(lambda: {line.job for line in scene.lines("tick")} == set(jobs))
    leaving.ask(number)
    await scene.until(lambda: scene.is_leaving(leaving))
    asked = time.monotonic()

    leaving.ask(number)
    assert 0 == leaving.wait(5)

    assert time.monotonic() - asked < 3.0
    assert {("PENDING", 0)} == {(scene.state(job), scene.row(job).attempt) for job in jobs}
    assert 3 == scene.farewell(leaving)["given_back"]
    scene.assert_calm()


async def test_leaving_under_full_load_spends_no_attempt_and_leaves_nothing_running(
    scene: Scene,
) -> None:
    """X12: claims that are on their way when the signal comes go back as well."""
    told = await scene.put("step", 3000, seconds=0.001)
    for _ in range(4):
        leaving = await scene.working(slots=20, grace=0.05)
        mine = len(scene.lines("start"))
        await scene.until(lambda count=mine: len(scene.lines("start")) > count + 20)
        leaving.ask()
        assert 0 == leaving.wait()
        assert [] == [row for row in scene.rows() if row.state == 1]
        assert scene.farewell(leaving)["is_clean"]

    assert {} == scene.lost_leases()
    await scene.working(slots=20)
    await scene.until(scene.has_ended)
    scene.judge(told)
    scene.assert_calm()
