"""SQLite files under processes that die, that share them, and that find the disk full."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.process.conftest import MakeScene, Scene

pytestmark = pytest.mark.process

ROOM_BYTES = 3 << 20


@pytest.mark.parametrize("durability", ["NORMAL", "FULL"])
async def test_a_file_is_sound_and_complete_after_kills_at_random_points(
    make_scene: MakeScene, sqlite_path: Path, durability: str
) -> None:
    """X12"""
    scene = await make_scene(f"sqlite:{sqlite_path}?durability={durability}", sqlite_path)
    draw = random.Random(durability)
    for _ in range(6):
        producers = [scene.start("producer", str(group)) for group in (1, 40)]
        worker = scene.worker(slots=8)
        await scene.until(lambda each=producers: all(v.said() for v in each))
        await asyncio.sleep(draw.uniform(0.02, 0.5))
        for victim in draw.sample([*producers, worker], 3):
            victim.kill()
            await asyncio.sleep(draw.uniform(0, 0.05))
        assert [("ok",)] == scene.ask("pragma integrity_check")

    told = [ack.id for ack in scene.told()]
    assert len(told) > 100
    await scene.working(slots=50)
    await scene.until(scene.has_ended, 40)
    assert [("ok",)] == scene.ask("pragma integrity_check")
    scene.judge(told)
    scene.assert_calm()


async def test_two_processes_share_a_file_and_wake_each_other(
    make_scene: MakeScene, sqlite_path: Path
) -> None:
    """X12: all work is done once, whichever process enqueued it."""
    scene = await make_scene(str(sqlite_path), sqlite_path, settings={"scan.interval": "1m"})
    crew = [scene.worker(slots=2), scene.worker(slots=2)]
    await scene.ready(*crew)
    await asyncio.sleep(1)
    told: list[int] = []

    for _ in range(10):
        (job,) = await scene.put("leaf")
        told.append(job)
        await scene.until(lambda each=job: scene.lines("start", each), 5)
        assert scene.lines("start", job)[0].at - scene.enqueued_at(job) < 0.5, "nobody woke up"
    told += await scene.put("step", 100, seconds=0.02)
    await scene.until(scene.has_ended)

    shares = [len([x for x in scene.lines("start") if x.pid == v.pid]) for v in crew]
    assert min(shares) > 20, f"one process did nearly nothing: {shares}"
    scene.judge(told)
    scene.assert_calm()


async def test_processes_that_start_at_once_on_a_new_file_all_come_up(
    make_scene: MakeScene, tmp_path: Path
) -> None:
    """X12"""
    for turn in range(3):
        path = tmp_path / f"new-{turn}.db"
        scene = await make_scene(str(path), path, is_prepared=False)
        await scene.ready(*[scene.worker(slots=1) for _ in range(4)])
        scene.assert_calm()
        for victim in scene.victims:
            victim.kill()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder with little room: a file system of its own where we may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM_BYTES}", "tmpfs", str(folder)]
    may = os.geteuid() == 0 and shutil.which("mount") is not None
    is_mounted = may and subprocess.run(mount, check=False, capture_output=True).returncode == 0
    try:
        yield folder
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", folder], check=True)


class Disk:
    """A disk that is full once, by one of two ways, and then has room again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.is_mounted = os.path.ismount(folder)

    @property
    def environment(self) -> dict[str, str]:
        return {} if self.is_mounted else {"DURE_FILE_BYTES_MAX": str(ROOM_BYTES)}

    def free(self, scene: Scene) -> None:
        """Make room."""
        if self.is_mounted:
            subprocess.run(["mount", "-o", "remount,size=500m", self.folder], check=True)
            return
        for victim in scene.victims:
            if victim.is_running:
                victim.ask(signal.SIGUSR1)


@pytest.fixture(params=["volume", "file"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    """The second way works for every user: no file may grow beyond a limit."""
    if request.param == "volume":
        return Disk(request.getfixturevalue("small_disk"))
    return Disk(tmp_path)


async def test_a_full_disk_refuses_clearly_loses_nothing_and_work_resumes_with_room(
    make_scene: MakeScene, disk: Disk
) -> None:
    """X12"""
    path = disk.folder / "dure.db"
    scene = await make_scene(str(path), path)
    worker = scene.worker(slots=4, environment=disk.environment)
    await scene.ready(worker)
    producer = scene.start("producer", "20", "4000", **disk.environment)

    await scene.until(lambda: len(scene.refusals()) >= 3, 40)
    before = len(scene.told())
    await asyncio.sleep(1.5)  # longer than the lease: not even a beat gets through

    assert worker.is_running
    refused = scene.refusals()
    assert {"StoreFull"} == {name for name, _ in refused}
    assert "Free some space" in refused[0][1]
    disk.free(scene)
    await scene.until(lambda: len(scene.told()) > before + 100)
    producer.kill()
    (job,) = await scene.put("step")
    await scene.until(scene.has_ended, 40)
    assert worker.pid in {line.pid for line in scene.lines("start", job)}
    assert [("ok",)] == scene.ask("pragma integrity_check")
    scene.judge([*(ack.id for ack in scene.told()), job])
    scene.assert_calm()
