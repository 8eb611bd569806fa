"""A batch: one at a time of its name, counted once, always reported."""

import asyncio

import dure

app = dure.App("batch.db")


@app.kind(retry=1)
async def upload(shop: int) -> None:
    if shop == 3:
        raise ConnectionError("the shop does not answer")


@app.report("NIGHTLY")
async def tell(report: dure.Report) -> None:
    tally = report.tally
    print(f"{report.name}: {tally.added} shops, {tally.success} uploaded, {tally.failed} failed")


async def main() -> None:
    async with app.working() as node:
        async with app.batch("NIGHTLY", overlap=dure.Overlap.REFUSE) as batch:
            await batch.add([upload(shop) for shop in range(10)])
        await batch.finished()
        while not node.tally.events["report.NIGHTLY", dure.Event.SUCCEED]:
            await asyncio.sleep(0.01)


asyncio.run(main())
