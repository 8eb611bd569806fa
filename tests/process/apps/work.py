"""What the crash tests run: handlers that write down when they start and end, and misbehave."""

import asyncio
import ctypes
import os
import signal
import time

from dure import App, Done, Job, RetryPolicy, Write, current
from dure.core.state import Priority

AGAIN = RetryPolicy.of(60, base=0)
THRICE = RetryPolicy.of(3, base=0)
EFFECT = "insert into effect (job, fence) values (:job, :fence)"

app = App(os.environ["DURE_URL"])
_log = os.open(os.environ["DURE_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


def write_down(event: str) -> None:
    """One line of the side log, in one write, so that lines of many processes never mix."""
    job = current()
    line = f"{event} {job.job} {job.fence} {job.number} {os.getpid()} {time.time()}\n"
    os.write(_log, line.encode())


def effect() -> Write:
    job = current()
    return Write(EFFECT, {"job": job.job, "fence": job.fence})


def done(*then: Job) -> Done:
    write_down("end")
    return Done(result=current().fence, writes=[effect()], then=then)


@app.kind(retry=AGAIN, retry_priority=Priority.HIGH)
async def step(seconds: float = 0.0, note: str = "") -> Done:
    """The usual work: some time, a row, a follow-up."""
    write_down("start")
    await asyncio.sleep(seconds)
    return done(leaf())


@app.kind(retry=AGAIN)
async def leaf() -> Done:
    write_down("start")
    return done()


@app.kind(retry=AGAIN)
async def branch(lane: str, seconds: float = 0.0) -> Done:
    """Its follow-up goes to a lane that nobody has heard of before."""
    write_down("start")
    await asyncio.sleep(seconds)
    return done(leaf().options(lane=lane))


@app.kind(retry=AGAIN, max_running=3, uses="db")
async def capped(seconds: float = 0.0) -> Done:
    """Runs only as often at once as the fleet allows."""
    write_down("start")
    await asyncio.sleep(seconds)
    return done()


@app.kind(retry=AGAIN)
def plain(seconds: float = 0.0) -> Done:
    write_down("start")
    _tick_until(time.monotonic() + seconds)
    return done()


@app.kind(retry=AGAIN, run="process")
def apart(seconds: float = 0.0) -> Done:
    write_down("start")
    _tick_until(time.monotonic() + seconds)
    return done()


@app.kind(retry=AGAIN)
async def soft(seconds: float = 0.0) -> Done:
    """As `plain` and `apart`, on the event loop."""
    write_down("start")
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        write_down("tick")
        await asyncio.sleep(0.02)
    return done()


@app.kind(retry=THRICE, timeout=0.4)
async def endless_soft() -> None:
    write_down("start")
    while True:
        write_down("tick")
        await asyncio.sleep(0.02)


@app.kind(retry=THRICE, timeout=0.4)
def endless_plain() -> None:
    write_down("start")
    _tick_until(float("inf"))


@app.kind(retry=THRICE, timeout=1.5, run="process")
def endless_apart() -> None:
    write_down("start")
    _tick_until(float("inf"))


@app.kind(retry=AGAIN)
async def blocking(seconds: float) -> Done:
    """Holds the event loop, which it should not."""
    write_down("start")
    time.sleep(seconds)  # noqa: ASYNC251 - the misbehaviour under test
    return done()


@app.kind(retry=THRICE, run="process")
def exiting() -> None:
    write_down("start")
    os._exit(7)


@app.kind(retry=THRICE, run="process")
def crashing() -> None:
    write_down("start")
    ctypes.string_at(0)


@app.kind(retry=THRICE)
async def poison() -> None:
    """Kills its worker each time."""
    write_down("start")
    os.kill(os.getpid(), signal.SIGKILL)


def _tick_until(deadline: float) -> None:
    while time.monotonic() < deadline:
        write_down("tick")
        time.sleep(0.02)
