"""C5-C7, C9: what fails, what is known already, what is killed, and workers that follow load."""

from itertools import pairwise
from typing import Any

from catalog.report import account_of
from catalog.spider import Sizes
from dure.core.breaker import BreakerPolicy
from dure.crawl.spider import Crew
from dure.fetch import Manners
from dure.testing import in_virtual_time
from dure_sandbox.faults.fault import Fault


@in_virtual_time
async def test_retries_wait_twice_as_long_each_time_with_jitter_then_become_dead_letters(
    scene: Any, retries: Any
) -> None:
    """C5: factor, cap, jitter of 0.5 to 1, a queue of retries, a queue of dead letters."""
    fault = Fault(kind="status", site="shop", path="/products/3", status=500)
    async with scene(10, faults=[fault], sizes=Sizes(retry=retries)) as s:
        await s.rig.advance("2m")
        account = await account_of(s.catalog.app)
        times = [e.at for e in s.box.log.find(path="/products/3")]

    gaps = [after - before for before, after in pairwise(times)]
    assert len(times) == 3
    assert 0.5 <= gaps[0] <= 2.0
    assert 1.0 <= gaps[1] <= 3.0
    (letter,) = account.dead_letters
    assert letter.url.endswith("/products/3")
    assert letter.attempts == 3
    assert "500" in letter.error
    assert account.is_accounted
    assert account.saved == 9


@in_virtual_time
async def test_a_dead_letter_is_replayed_and_saved(scene: Any, retries: Any) -> None:
    """C5."""
    fault = Fault(kind="status", site="shop", path="/products/3", status=500)
    async with scene(10, faults=[fault], sizes=Sizes(retry=retries)) as s:
        await s.rig.advance("2m")
        s.box.faults.clear()
        (failed,) = await s.rig.jobs("state:failed")
        await s.rig.commands.retry([failed.id], by="test")
        await s.rig.run_until_idle()

        assert set((await s.products()).values()) == {1}
        assert len(await s.products()) == 10


@in_virtual_time
async def test_a_page_that_cannot_be_read_is_kept_and_read_again_without_a_fetch(
    scene: Any,
) -> None:
    """C5, C7."""
    async with scene(10, begin=False) as s:
        product = s.catalog.spider.stages["product"]
        parse = product.parse
        product.parse = lambda page: 1 / 0
        await s.catalog.begin()
        await s.rig.run_until_idle()
        account = await account_of(s.catalog.app)
        assert account.products.kept_unread == 10
        assert account.saved == 0
        assert account.is_accounted
        asked = len(s.asked("/products/*"))

        product.parse = parse
        await s.rig.commands.retry([job.id for job in await s.rig.jobs("state:failed")], by="test")
        await s.rig.run_until_idle()
        assert len(await s.products()) == 10
        assert len(s.asked("/products/*")) == asked


@in_virtual_time
async def test_a_breaker_opens_for_one_host_and_one_kind_of_task(scene: Any) -> None:
    """C5: products of a host that only fails are left alone, the other host is not."""
    fault = Fault(kind="status", site="shop", host="shop-0*", path="/products/*", status=500)
    quick = Manners(delay=0.2, concurrency=1, breaker=BreakerPolicy())
    async with scene(400, hosts=2, faults=[fault], manners=quick) as s:
        await s.rig.advance("3m")
        struck = s.box.log.find(host="shop-0.sandbox.test", path="/products/*", status=500)
        other = s.box.log.find(host="shop-1.sandbox.test", path="/products/*", status=200)

    assert 0 < len(struck) < 60
    assert len(other) == 200


@in_virtual_time
async def test_links_that_are_known_cost_no_second_fetch(scene: Any) -> None:
    """C6: the filter, the exact set, then the store; pagers name most list pages many times."""
    async with scene(400) as s:
        await s.rig.run_until_idle()
        asked = s.asked("/products*")
        seen = next(iter(s.presence.seen()))

    assert len(asked) == len(set(asked)) == 420
    assert seen.known + seen.asked > 50


@in_virtual_time
async def test_a_second_node_that_knows_nothing_asks_the_store_and_fetches_nothing_twice(
    scene: Any,
) -> None:
    """C6 persistent, C7: a crawl goes on from the store after its node is gone."""
    async with scene(300, manners=Manners(delay=0.1, concurrency=2)) as s:
        await s.rig.until(lambda: len(s.asked("/products/*")) >= 120)
        await s.rig.nodes.pop().stop()
        await s.rig.advance("1s")
        saved = {url.rsplit("/", 1)[1] for url in await s.products()}
        asked = len(s.asked("/products/*"))
        s.catalog.crawler.courses.clear()

        assert (await s.catalog.begin()).session == "catalog-1"
        await s.start_node()
        await s.rig.until(lambda: len(set(s.asked("/products/*"))) == 300)
        await s.rig.run_until_idle()

        again = {target.rsplit("/", 1)[1] for target in s.asked("/products/*")[asked:]}
        assert not saved & again
        assert set((await s.products()).values()) == {1}
        assert len(await s.products()) == 300


@in_virtual_time
async def test_workers_grow_with_use_and_shrink_when_idle_within_their_bounds(scene: Any) -> None:
    """C9."""
    fault = Fault(kind="slow_start", site="shop", path="/products/*", seconds=0.5)
    quick = Manners(delay=0.0, concurrency=64, slow_from=10.0)
    async with scene(2000, faults=[fault], manners=quick) as s:
        crew = s.presence.lines["catalog.product"].crew
        crew.count = crew.low
        await s.rig.advance("10s")
        grown = crew.count
        assert crew.low < grown <= crew.high
        await s.rig.run_until_idle()
        await s.rig.advance("5m")
        assert crew.count < grown
        assert crew.count >= crew.low


@in_virtual_time
async def test_a_worker_rests_after_five_failures_in_a_row(scene: Any) -> None:
    """C9."""
    async with scene(30, nodes=0) as s:
        product = s.catalog.spider.stages["product"]
        product.parse = lambda page: 1 / 0
        product.parse_crew = Crew(1, 1)
        await s.start_node()
        await s.rig.advance("5s")
        crew = s.presence.lines["catalog.product"].parse.crew
        assert crew.figures.resting == 1
        assert crew.processed == 5
        board = await s.status()
        assert any("rest after five failures" in each.sentence for each in board.findings)

        await s.rig.advance("30s")
        assert crew.processed == 10
