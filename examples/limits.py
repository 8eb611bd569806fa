"""Exact limits over several windows, a breaker, and lanes that share what there is."""

import asyncio

import dure

app = dure.App("limits.db")
app.limit("model", "5/s", "1500/d", "1000000 tokens/m")


@app.kind(limits="model", tokens=900, breaker="model", uses="http")
async def summarise(text: str) -> dure.Outcome:
    print(f"{dure.current().lane}: {text}")
    return dure.Done(used={"tokens": 40 * len(text)})  # what was reserved too much comes back


async def main() -> None:
    async with app:
        await app.enqueue_many([summarise(f"page {n}") for n in range(12)], lane="flood")
        await app.enqueue(summarise("just one"), lane="patient")
        await app.drain()  # the patient lane does not wait for the flood to end


asyncio.run(main())
