"""`python -m dure.demo`: two workers, one of them killed on the way; every job accounted for.

The store is a fresh SQLite file, or the PostgreSQL that STORE names (in a schema of its own).
Exit status 0 only if nothing was lost and nothing was done twice.
"""

import asyncio
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from dure.compose import App
from dure.core.job import Job
from dure.core.state import State
from dure.demo.account import Account, create_table, take_account
from dure.demo.show import Screen
from dure.demo.village import BROKEN, LANES, PARCELS, app, lost_parcel, parcel

SECONDS_MAX: Final = 110.0
_KILL_AT: Final = 0.3
"""Share of the work done when a worker is killed."""
_LOOK_SECONDS: Final = 0.25


def main() -> int:
    """Run a worker (`worker`), or the whole demonstration."""
    if sys.argv[1:] == ["worker"]:
        app.run(lease=2.0, beat=0.5, slots=40)
        return 0
    with tempfile.TemporaryDirectory(prefix="dure-demo-") as folder:
        store = os.environ.get("STORE", "")
        if store:
            schema = f"dure_demo_{os.getpid()}"
            url = f"{store}{'&' if '?' in store else '?'}schema={schema}"
            print(f"everything stays in the schema {schema} for you to look at")
        else:
            url = str(Path(folder) / "demo.db")
        return asyncio.run(_demonstrate(url))


async def _start(url: str) -> asyncio.subprocess.Process:
    environment = {**os.environ, "DURE_DEMO_STORE": url}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "dure.demo",
        "worker",
        env=environment,
        stderr=asyncio.subprocess.DEVNULL,
    )


def _jobs() -> list[Job]:
    jobs = []
    for lane, count in PARCELS.items():
        if lane == BROKEN:
            jobs += [lost_parcel(number).options(lane=lane) for number in range(count)]
        else:
            jobs += [parcel(number, lane).options(lane=lane) for number in range(count)]
    return jobs


async def _demonstrate(url: str) -> int:
    viewer = App(url)
    viewer.kinds.update(app.kinds)
    screen = Screen(sys.stdout)
    workers: list[asyncio.subprocess.Process] = []
    async with viewer:
        try:
            await create_table(viewer.store)
            jobs = _jobs()
            await viewer.enqueue_many(jobs)
            screen.say(
                f"{len(jobs)} jobs of {len(LANES) + 1} lanes are durable in {viewer.store.url}"
            )
            workers = [await _start(url), await _start(url)]
            screen.say(f"two workers began: {workers[0].pid} and {workers[1].pid}")
            account, kill = await _watch(viewer, workers, url, screen)
        finally:
            for worker in workers:
                if worker.returncode is None:
                    worker.send_signal(signal.SIGTERM)
            for worker in workers:
                await worker.wait()
        screen.end()
        return _report(screen, account, kill, sum(PARCELS.values()))


async def _watch(
    viewer: App, workers: list[asyncio.subprocess.Process], url: str, screen: Screen
) -> tuple[Account, tuple[int, float]]:
    """Show progress until all is done; kill a worker on the way and start another."""
    began = time.monotonic()
    killed: tuple[int, float] | None = None
    total = sum(PARCELS.values())
    while True:
        account = await take_account(viewer.store)
        passed = time.monotonic() - began
        screen.draw(account, passed, PARCELS)
        if killed is None and account.finished > total * _KILL_AT:
            victim = workers[0]
            os.kill(victim.pid, signal.SIGKILL)
            await victim.wait()
            killed = (victim.pid, passed)
            screen.say(f"worker {victim.pid} was killed with SIGKILL in the middle of its work")
            workers.append(await _start(url))
            screen.say(f"worker {workers[-1].pid} takes its place")
        if killed is not None and account.unfinished == 0:
            return account, killed
        if passed > SECONDS_MAX:
            screen.say("this takes too long; giving up")
            return account, killed or (0, passed)
        await asyncio.sleep(_LOOK_SECONDS)


def _report(screen: Screen, account: Account, kill: tuple[int, float], enqueued: int) -> int:
    lines = [
        ("jobs enqueued, follow-ups included", account.total),
        ("succeeded", account.states.get(State.SUCCESS, 0)),
        (f"failed for good (all of lane {BROKEN!r})", account.states.get(State.FAILED, 0)),
        ("unfinished", account.unfinished),
        ("attempts taken back from the killed worker", account.taken_back),
        ("parcels noted by handlers, in the same commit as their job", account.noted),
        ("parcels noted twice", account.noted_twice),
        ("parcels whose job succeeded but that were not noted", account.unnoted),
    ]
    for text, value in lines:
        screen.say(f"{value:>8}  {text}")
    follow_ups = sum(-(-count // 10) for lane, count in PARCELS.items() if lane != BROKEN)
    is_true = (
        account.unfinished == 0
        and account.total == enqueued + follow_ups
        and account.states.get(State.FAILED, 0) == PARCELS[BROKEN]
        and account.states.get(State.SUCCESS, 0) == account.total - PARCELS[BROKEN]
        and account.noted == enqueued - PARCELS[BROKEN]
        and not account.noted_twice
        and not account.unnoted
        and kill[0] > 0
    )
    screen.say(
        "Every job is accounted for: nothing lost, nothing done twice."
        if is_true
        else "The account does NOT add up; see the figures above."
    )
    return 0 if is_true else 1


if __name__ == "__main__":
    raise SystemExit(main())
