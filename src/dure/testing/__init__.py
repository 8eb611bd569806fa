"""What a test needs: an app in virtual time with faults on demand, and real stores to run against.

A test is an async function in virtual time, and the app under test works inside a block:

    @dure.testing.in_virtual_time
    async def test_a_failed_page_is_fetched_again() -> None:
        async with dure.testing.running(app) as t:
            receipt = await t.enqueue(fetch("https://example.org"))
            await t.advance("1h")
            assert (await t.job(receipt.id)).state is dure.State.SUCCESS
"""

from dure.testing.app import Rig, in_virtual_time, running
from dure.testing.faults import FaultyStore

__all__ = ["FaultyStore", "Rig", "in_virtual_time", "running"]
