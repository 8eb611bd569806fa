"""A1, A2: what a crawl finds, keeps and leaves alone."""

from dure.testing import in_virtual_time
from newsroom.rehearsal import at_work


@in_virtual_time
async def test_a_crawl() -> None:
    async with at_work() as stage:
        await stage.crawl()
        print(
            await stage.rows(
                "select section, kept, count(*) as n, avg(characters) as c from newsroom_article group by 1,2"
            )
        )
        jobs = await stage.t.jobs()
        from collections import Counter

        print(Counter((j.kind, j.state.name) for j in jobs))
        print([(j.error, j.reason) for j in jobs if j.state.name not in ("SUCCESS",)][:5])
        assert 0
