"""How soon the jobs of a killed worker run again."""

import asyncio
import json
import time

from dure.bench.crew import PATIENCE_SECONDS, BenchFailed, Crew
from dure.bench.figures import Reading
from dure.bench.ground import Ground
from dure.bench.marks import Marks
from dure.bench.options import Options
from dure.bench.workload import Workload, work_on
from dure.scripts import settings

_NAP_SECONDS = 0.5
_TICK_SECONDS = 0.02
_WARM_SECONDS = 1.5
_RUNNING = """
select l.body from dure_live l join dure_worker w on w.id = l.worker
where l.ready and l.state = 1 and w.pid = """


async def crash(ground: Ground, given: Options) -> list[Reading]:
    """Seconds from SIGKILL of one of two workers until each of its jobs runs again."""
    marks = Marks(ground.folder / "marks")
    marks.clear()
    url = await ground.fresh()
    work = work_on(url, marks)
    async with work.app, Crew(url, marks.path) as crew:
        sweep = settings.set_(
            "sweep.interval", f"{given.sweep}s", by="bench", reason="", now=time.time()
        )
        await work.app.store.run(sweep)
        victim, _ = await crew.hire(2, ["--lease", str(given.lease)])
        crew.go()
        feeding = asyncio.create_task(_feed(work, given.rate))
        try:
            await asyncio.sleep(_WARM_SECONDS)
            await crew.kill(victim)
            killed = time.time()
            lost = {
                json.loads(row[0])["value"] for row in await ground.ask(_RUNNING + str(victim.pid))
            }
            took = await _until_run_again(marks, lost, killed)
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
    note = "" if lost else "in some run the killed worker had no job"
    return [
        Reading("crash", took, "s", note),
        Reading("crash.leases", took / given.lease, "leases"),
        Reading("crash.jobs", len(lost), "jobs"),
    ]


async def _feed(work: Workload, rate: float) -> None:
    """Jobs that sleep, at a steady rate, numbered."""
    begun, sent = time.monotonic(), 0
    while True:
        due = int((time.monotonic() - begun) * rate)
        jobs = [work.nap(float(number), _NAP_SECONDS) for number in range(sent, due)]
        await work.app.enqueue_many(jobs)
        sent = due
        await asyncio.sleep(_TICK_SECONDS)


async def _until_run_again(marks: Marks, lost: set[float], killed: float) -> float:
    """Seconds until the last of these jobs has begun another time."""
    waiting, seen, last = set(lost), marks.count(), killed
    seen = 0
    deadline = time.monotonic() + PATIENCE_SECONDS
    while waiting:
        if time.monotonic() > deadline:
            raise BenchFailed(f"{len(waiting)} jobs of the killed worker never ran again.")
        await asyncio.sleep(_TICK_SECONDS)
        for mark in marks.read(seen):
            seen += 1
            if mark.at > killed and mark.value in waiting:
                waiting.discard(mark.value)
                last = max(last, mark.at)
    return last - killed
