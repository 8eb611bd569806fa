"""The demonstration's app: households of a village send parcels through one post office."""

import asyncio
import os
from typing import Final

import dure

STORE: Final = os.environ.get("DURE_DEMO_STORE", "")
LEASE: Final = "2s"
LANES: Final = ("kim", "lee", "park", "choi", "flood")
BROKEN: Final = "flood-damaged"
PARCELS: Final = {"kim": 300, "lee": 300, "park": 300, "choi": 300, "flood": 4000, BROKEN: 60}
OFFICE: Final = "post office"

app = dure.App(STORE or ":memory:")
app.limit(OFFICE, "120/s")


@app.kind(timeout="10s", retry=dure.RetryPolicy.of(4, base="300ms", cap="2s", jitter=0.5))
async def parcel(number: int, lane: str) -> dure.Outcome:
    """Wrap a parcel and note it; every tenth one needs a stamp from the post office."""
    await asyncio.sleep(0.004)
    note = dure.Write(
        "insert into demo_parcel (job, lane, number) values (:job, :lane, :number)",
        {"job": dure.current().job, "lane": lane, "number": number},
    )
    then = [stamp(number).options(lane=lane)] if number % 10 == 0 else []
    return dure.Done(writes=[note], then=then)


@app.kind(limits=OFFICE, timeout="10s")
async def stamp(number: int) -> int:
    """Stamp a parcel at the office, which serves so many a second and no more."""
    await asyncio.sleep(0.002)
    return number


@app.kind(name="lost", retry=dure.RetryPolicy.of(2, base="200ms"))
async def lost_parcel(number: int) -> None:
    """A tenant whose jobs always fail: it must hurt nobody else."""
    raise ConnectionError(f"the road to parcel {number} is washed away")
