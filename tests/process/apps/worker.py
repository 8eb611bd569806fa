"""One worker process: a node of the app, until a signal; its last line of output is its report."""

import asyncio
import json
import sys
from dataclasses import asdict

from room import limit_files
from work import app

from dure import Node
from dure.engine.signals import depart_on_signal


async def tell_when_leaving(node: Node) -> None:
    while not node.is_stopping:
        await asyncio.sleep(0.01)
    print("leaving", flush=True)


async def main() -> None:
    async with app:
        node = app.node(**json.loads(sys.argv[1]))
        limit_files()
        await node.start()
        print("ready", flush=True)
        _, departure = await asyncio.gather(tell_when_leaving(node), depart_on_signal(node))
    print(json.dumps({**asdict(departure), "refused": node.tally.refused}), flush=True)


asyncio.run(main())
