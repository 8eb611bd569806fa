"""Both ends in one commit: a job made with your rows, and rows written with a job's success."""

import asyncio
import sqlite3

import dure

app = dure.App("shop.db")


@app.kind
async def confirm(order: int) -> dure.Outcome:
    paid = dure.Write("update orders set state = 'paid' where id = :id", {"id": order})
    return dure.Done(writes=[paid], then=[mail(order)])


@app.kind
async def mail(order: int) -> None:
    print(f"order {order} is paid")


async def main() -> None:
    async with app:
        shop = sqlite3.connect("shop.db")
        shop.execute("create table if not exists orders (id integer primary key, state text)")
        shop.commit()
        with shop:  # the order and its job, or neither
            order = shop.execute("insert into orders (state) values ('new')").lastrowid or 0
            await app.enqueue_within(shop, confirm(order), unique=f"order-{order}")
        await app.drain()
        print(shop.execute("select state from orders").fetchall())
        shop.close()


asyncio.run(main())
