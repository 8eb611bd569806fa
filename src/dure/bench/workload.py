"""The app that is measured: handlers that do next to nothing, and jobs for them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dure.bench.marks import Marks
from dure.compose import App
from dure.core.backoff import RetryPolicy
from dure.core.job import Job

MARK = "mark"


@dataclass(frozen=True, slots=True)
class Workload:
    """An app, and what builds jobs for it."""

    app: App
    job: Callable[[float], Job]
    """A job whose handler writes one mark with this value."""
    nap: Callable[[float, float], Job]
    """The same, and then sleeps so many seconds."""
    parcel: Callable[[str], Job]
    """A job with a payload; its handler writes one mark."""


def work_on(url: str, marks: Marks, *, chunk: int = 0) -> Workload:
    """The app on a store. With `chunk`, that many jobs share one handler call."""
    app = App(url)

    def declared() -> Callable[[float], Job]:
        if chunk:

            @app.chunk(chunk, name=MARK)
            async def mark_all(values: list[float]) -> None:
                marks.write_all(values)

            return mark_all

        @app.kind(name=MARK)
        async def mark(value: float = 0.0) -> None:
            marks.write(value)

        return mark

    @app.kind(name="nap", retry=RetryPolicy.of(5, base=0))
    async def nap(value: float, seconds: float) -> None:
        marks.write(value)
        await asyncio.sleep(seconds)

    @app.kind(name="parcel")
    async def parcel(payload: str) -> None:
        marks.write(float(len(payload)))

    return Workload(app, declared(), nap, parcel)


def spread(job: Job, count: int, lanes: int, *, first: int = 0) -> list[Job]:
    """So many of a job, in turn over so many lanes from that of the first one's number on."""
    if lanes <= 1:
        return [job] * count
    return [job.options(lane=lane_name((first + number) % lanes)) for number in range(count)]


def lane_name(number: int) -> str:
    """What the lanes of a measurement are called."""
    return f"lane-{number}"


def node_options(settings: str) -> dict[str, Any]:
    """What `app.node` is given under these settings."""
    return {"grace": 1.0, **(TUNED if settings == "tuned" else {})}


TUNED: dict[str, Any] = {"slots": 500, "claim_max": 1000}
"""For many short jobs: more at once, in larger claims. Workers then use uvloop as well."""
