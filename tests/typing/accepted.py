"""What a type checker must accept. Never run, only checked."""

from collections.abc import Awaitable, Sequence
from datetime import timedelta
from typing import Any, assert_type

import dure

app = dure.App(":memory:")


@app.kind
async def fetch(url: str, *, depth: int = 0) -> dure.Outcome:
    return dure.Done(then=[fetch(url, depth=depth + 1), index(len(url)), parse.fn(url)])


@app.kind(retry=dure.RetryPolicy.of(3, base="30s"), timeout=timedelta(minutes=1), run="thread")
def parse(text: str) -> dure.Job:
    return fetch(text)


@app.kind(retry=3, errors={ValueError: dure.Fail(), OSError: lambda error: dure.Wait(60)})
async def count(values: list[int], scale: float | None = None) -> int:
    return sum(values)


@app.chunk(100, limits=["model"], uses="http")
async def index(items: list[int]) -> list[dure.Outcome]:
    return [dure.Skip() for _ in items]


@app.report("DAILY")
async def tell(report: dure.Report) -> None:
    assert_type(report.name, str)


async def use(connection: object) -> None:
    job = fetch("https://example.org", depth=2)
    assert_type(job, dure.Job)
    assert_type(count([1, 2], scale=None), dure.Job)
    assert_type(index(1), dure.Job)
    assert_type(await app.enqueue(job, lane="acme", delay="5m", unique="k"), dure.Receipt)
    assert_type(await app.enqueue_many([job, index(2)]), list[dure.Receipt])
    assert_type(await app.enqueue_within(connection, job), list[dure.Receipt])
    assert_type(job.options(priority=dure.Priority.HIGH, at=1.5), dure.Job)
    assert_type(app.sync.enqueue(job), dure.Receipt)
    direct: Awaitable[int] = count.fn([1])
    assert_type(await direct, int)
    async with app.batch("DAILY") as batch:
        await batch.add([index(3)])
    assert_type(await batch.finished(), dure.Report)
    kinds: Sequence[dure.Kind[..., Any]] = [fetch, count]
    assert_type(len(kinds), int)
    assert_type(await app.drain(slots=2), dure.Departure)
    assert_type(dure.current().number, int)
