"""A schedule fires once for all nodes; a message queue may pull the same trigger."""

import asyncio

import dure

app = dure.App("schedule.db")


@app.kind
async def crawl(section: str) -> None:
    print(f"crawling {section}")


app.schedule("economy", "*/5 * * * *", crawl("economy"), tz="Asia/Seoul", missed="once")


async def main() -> None:
    async with app:
        first = await app.fire("economy", message="delivery-17")
        again = await app.fire("economy", message="delivery-17")
        print(first.is_new, again.is_new)
        await app.drain()


asyncio.run(main())
