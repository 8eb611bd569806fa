"""Several caps at once: what nodes hold of one never keeps them waiting for another."""

import asyncio
from functools import partial

import dure
from dure import Node, State
from dure.testing import in_virtual_time, running


def is_full(node: Node) -> bool:
    return len(node.slots.running) == node.slots.size


@in_virtual_time
async def test_nodes_that_hold_slots_of_different_caps_do_not_wait_for_each_other() -> None:
    """X7 X14"""
    app = dure.App(":memory:")
    done = asyncio.Event()

    @app.kind(timeout=None)
    async def free() -> None:
        await done.wait()

    @app.kind(timeout=None, max_running=2)
    async def capped() -> None:
        await done.wait()

    async with running(app, slots=4) as t:
        await t.commands.configure_lane("grey", max_running=2, by="test")
        for number, (kind, lane) in enumerate(
            [(free, "grey"), (free, "grey"), (capped, "red"), (capped, "red")]
        ):
            if number:
                await t.start_node(slots=4)
            await t.enqueue(kind(), lane=lane)
            await t.enqueue_many([free()] * 3, lane="red")
            await t.until(partial(is_full, t.nodes[number]), within="10s")
        done.set()
        both = await t.enqueue(capped(), lane="grey")
        await t.advance("1m")

        assert State.SUCCESS is (await t.job(both.id)).state
