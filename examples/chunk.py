"""Many items in one call, an outcome for each: what fails fails alone."""

import asyncio

import dure

app = dure.App("chunk.db")


@app.chunk(100, retry=1)
async def embed(texts: list[str]) -> list[dure.Outcome]:
    print(f"one call for {len(texts)} texts")
    return [dure.Done(len(text)) if text else dure.Fail("empty") for text in texts]


async def main() -> None:
    async with app:
        await app.enqueue_many([embed(text) for text in ("one", "", "three")])
        await app.drain()


asyncio.run(main())
