"""Enqueues without end, by ones or by groups, and writes down what it was told is durable."""

import asyncio
import os
import sys

from room import limit_files
from work import app, step

from dure.core.errors import StoreError

_log = os.open(os.environ["DURE_ACKS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


async def main(group: int, size: int) -> None:
    """Each job carries the producer and its number; numbers go in order."""
    number = 0
    async with app:
        limit_files()
        print("ready", flush=True)
        while True:
            jobs = [
                step(note=f"{os.getpid()} {i} {'.' * size}") for i in range(number, number + group)
            ]
            try:
                if group == 1:
                    receipts = [await app.enqueue(jobs[0])]
                else:
                    receipts = await app.enqueue_many(jobs)
            except StoreError as error:
                text = f"refused {os.getpid()} {number} {type(error).__name__} {error}\n"
                os.write(_log, text.encode())
                await asyncio.sleep(0.1)
            else:
                ids = " ".join(str(receipt.id) for receipt in receipts)
                os.write(_log, f"durable {os.getpid()} {number} {ids}\n".encode())
            number += group


asyncio.run(main(int(sys.argv[1]), int((sys.argv[2:] or "0")[0])))
