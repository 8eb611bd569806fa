"""What the engine takes besides time: memory, start-up, and log written by PostgreSQL."""

import asyncio
import statistics
import subprocess
import sys
import time
from pathlib import Path

from dure.bench import ballast
from dure.bench.crew import BenchFailed, Crew
from dure.bench.figures import Reading
from dure.bench.ground import Ground
from dure.bench.marks import Marks
from dure.bench.options import Options
from dure.bench.throughput import drained, flags_of, reached
from dure.bench.workload import Workload, lane_name, spread, work_on
from dure.core.state import Priority
from dure.core.stream import pack

_IDLE_SECONDS = 2.0
_LONG_SECONDS = 3600.0
_FEW = 1000
"""By how many times fewer jobs wait where memory is to be compared."""
_POSITION = "select (pg_current_wal_lsn() - '0/0')::float8"


async def memory(ground: Ground, given: Options) -> list[Reading]:
    """Resident memory of one worker: idle, its peak under load, and with many jobs waiting."""
    marks = Marks(ground.folder / "marks")
    marks.clear()
    url = await ground.fresh()
    work = work_on(url, marks)
    async with work.app:
        async with Crew(url, marks.path) as crew:
            (worker,) = await crew.hire(1, flags_of(given))
            crew.go()
            await asyncio.sleep(_IDLE_SECONDS)
            idle = resident(worker.pid)
            await work.app.enqueue_many(spread(work.job(0.0), given.jobs, given.lanes))
            await drained(ground, marks, crew, given.jobs)
            loaded = resident(worker.pid, peak=True)
        few, crowded = [
            await _crowded(ground, url, work, given, waiting)
            for waiting in (max(given.waiting // _FEW, given.lanes), given.waiting)
        ]
    return [
        Reading("memory", idle, "MB"),
        Reading("memory.load", loaded, "MB"),
        Reading("memory.waiting", crowded, "MB"),
        Reading("memory.growth", crowded / few, "of few waiting"),
    ]


async def _crowded(ground: Ground, url: str, work: Workload, given: Options, waiting: int) -> float:
    """Memory of a worker whose slots are all taken while so many more jobs wait."""
    names = work.app.names
    lanes = [lane_name(number) for number in range(given.lanes)]
    await names.learn(["nap"], lanes)
    streams = [pack(names.lanes[n], names.kinds["nap"], Priority.NORMAL) for n in lanes]
    body = work.nap(0.0, _LONG_SECONDS).body
    owners = [streams[number % given.lanes] for number in range(waiting)]
    await ballast.waiting(ground, owners, [body] * waiting, analyze=True)
    marks = Marks(ground.folder / "marks")
    marks.clear()
    async with Crew(url, marks.path) as crew:
        (worker,) = await crew.hire(1, flags_of(given))
        crew.go()
        await reached(marks, crew, 1)
        await asyncio.sleep(_IDLE_SECONDS)
        return resident(worker.pid)


def resident(process: int, *, peak: bool = False) -> float:
    """Megabytes of memory that a process holds; with `peak` the most it ever held, on Linux."""
    status = Path(f"/proc/{process}/status")
    if status.exists():
        wanted = "VmHWM" if peak else "VmRSS"
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines[wanted].split()[0]) / 1024
    said = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(process)], check=True, capture_output=True, text=True
    )
    return int(said.stdout) / 1024


async def start(_ground: Ground, given: Options) -> list[Reading]:
    """Milliseconds of a fresh process: Python alone, imports, and `dure --help`."""
    commands = {
        "start": ["-c", "import dure"],
        "start.app": ["-c", "from dure import App"],
        "start.python": ["-c", "pass"],
        "start.help": ["-m", "dure.cli.main", "--help"],
    }
    return [
        Reading(name, statistics.median(_start(c) for _ in range(given.starts)) * 1000, "ms")
        for name, c in commands.items()
    ]


def _start(arguments: list[str]) -> float:
    started = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], check=False, capture_output=True, text=True)
    took = time.perf_counter() - started
    if done.returncode:
        raise BenchFailed(f"`python {' '.join(arguments)}` failed: {done.stderr.strip()[-500:]}")
    return took


async def wal(ground: Ground, given: Options) -> list[Reading]:
    """Bytes of log for each job from enqueueing to history, without the job's own arguments.

    The arguments are taken off once although they are written twice. Whatever else happens
    on the server meanwhile counts too.
    """
    marks = Marks(ground.folder / "marks")
    marks.clear()
    url = await ground.fresh()
    work = work_on(url, marks)
    parcel = work.parcel("x" * given.payload)
    async with work.app, Crew(url, marks.path) as crew:
        await work.app.names.learn(["parcel"], ["default"])
        await crew.hire(1, flags_of(given))
        await ground.ask("checkpoint")
        ((before,),) = await ground.ask(_POSITION)
        await work.app.enqueue_many([parcel] * given.jobs)
        crew.go()
        await drained(ground, marks, crew, given.jobs)
        ((after,),) = await ground.ask(_POSITION)
    each = (after - before) / given.jobs
    return [
        Reading("wal", each - len(parcel.body.encode()), "bytes/job"),
        Reading("wal.all", each, "bytes/job"),
    ]
