"""Asking within a job: a validated value, accounts, the cache, and what stops it."""

from tests.ai.desk import GOOD, bench
from tests.ai.wire import said

from dure import State
from dure.testing import in_virtual_time, running


@in_virtual_time
async def test_an_answer_is_validated_counted_and_committed_with_its_job() -> None:
    """A6, Z4"""
    b = bench(lambda _: said(GOOD), limits=("15/m", "1000000 tokens/m"))
    async with running(b.app) as t:
        job = await t.enqueue(b.kind("text"))
        await t.run_until_idle()

        assert State.SUCCESS is (await t.job(job.id)).state
        assert "ok" == b.replies[0].value.summary
