"""C1-C4, C8: five stages with queues, workers and figures; what a task carries; back-pressure."""

from typing import Any

from catalog.figures import dashboard_of
from catalog.spider import STAGES, Sizes
from dure import Priority
from dure.core.load import Load
from dure.crawl import Crew
from dure.fetch import Manners
from dure.testing import in_virtual_time
from dure_sandbox.faults.fault import Fault


@in_virtual_time
async def test_every_product_is_saved_once_with_what_its_page_says(scene: Any) -> None:
    """C1."""
    async with scene(95) as s:
        await s.rig.run_until_idle()

        saved = await s.products()
        assert set(saved.values()) == {1}
        assert len(saved) == 95
        now = s.box.clock.now()
        rows = await s.rig.sql("select url, sku, name, price, stock, colour from catalog_product")
        for url, *fields in rows:
            there = s.box.shop.site.product(int(url.rsplit("/", 1)[1]), now)
            assert [there.sku, there.name, there.price, there.stock, there.colour] == fields
        assert (await s.status()).status == "done"


@in_virtual_time
async def test_each_of_the_five_stages_has_its_own_bounded_queue_workers_and_figures(
    scene: Any,
) -> None:
    """C1, C3: every page went through every queue of its way, once."""
    async with scene(95) as s:
        await s.rig.run_until_idle()
        await s.rig.advance("5s")
        board = await dashboard_of(s.catalog.app)

    assert list(STAGES) == list(board.queue_health) == list(board.worker_health)
    lists, products = 5, 95
    passed = {name: crew.total_tasks_processed for name, crew in board.worker_health.items()}
    assert list(passed.values()) == [lists, lists, products, products, products]
    for name, queue in board.queue_health.items():
        assert queue.capacity >= 1
        assert queue.current_depth == 0
        assert queue.max_depth_reached >= 1
        assert queue.total_dequeued == passed[name]


@in_virtual_time
async def test_a_task_carries_its_id_birth_attempts_priority_session_and_parent(scene: Any) -> None:
    """C2."""
    async with scene(25) as s:
        await s.rig.run_until_idle()
        lists = {job.id: job for job in await s.rig.jobs("kind:catalog.list")}
        products = await s.rig.jobs("kind:catalog.product")

    assert len(products) == 25
    for job in products:
        assert job.parent in lists
        assert job.session == "catalog-1"
        assert job.attempt == 1
        assert job.priority == Priority.NORMAL
        assert job.enqueued_at >= lists[job.parent].enqueued_at


@in_virtual_time
async def test_a_full_queue_of_products_keeps_list_pages_from_being_fetched(scene: Any) -> None:
    """C3: discovery is held back at the bound, counted, and goes on when there is room."""
    sizes = Sizes(products=40)
    async with scene(600, sizes=sizes, manners=Manners(delay=0.1, concurrency=1)) as s:
        await s.rig.advance("20s")
        queue = (await dashboard_of(s.catalog.app)).queue_health["FetchProductDetail"]
        waiting = len(await s.rig.jobs("kind:catalog.product state:pending"))
        assert waiting <= 40 + 20
        assert 20 <= queue.max_depth_reached <= 40 + 20
        assert queue.blocked_enqueue_count >= 1

        await s.rig.until(lambda: len(s.asked("/products/*")) == 600, "10m")
        await s.rig.run_until_idle()
        assert len(await s.products()) == 600


@in_virtual_time
async def test_a_slow_save_holds_parsing_back_and_parsing_holds_fetching_back(scene: Any) -> None:
    """C3: pressure goes back through the queues to the shop."""
    sizes = Sizes(queue=4)
    async with scene(200, sizes=sizes, nodes=0) as s:
        s.catalog.spider.stages["product"].save_crew = Crew(1, 1)
        await s.start_node()
        await s.rig.run_until_idle()
        line = s.presence.lines["catalog.product"]

        assert line.save.queue.max_depth <= 4
        assert line.parse.queue.max_depth <= 4
        assert line.save.queue.blocked > 0
        assert line.parse.queue.blocked > 0
        assert len(await s.products()) == 200


@in_virtual_time
async def test_http_cpu_memory_and_db_are_limited_each_by_itself(scene: Any) -> None:
    """C4."""
    async with scene(120, nodes=0) as s:
        node = await s.start_node(resources={"http": 6, "cpu": 1, "memory": 5, "db": 2})
        peaks = dict.fromkeys(node.pacer.resources, 0)
        for name, each in node.pacer.resources.items():
            take = each.take

            def noted(count: int, name: str = name, each: Any = each, take: Any = take) -> None:
                take(count)
                peaks[name] = max(peaks[name], each.used)

            each.take = noted
            s.presence.meter.bounds[name] = type(s.presence.meter.bounds[name])(1, each.size)
        await s.rig.run_until_idle()

        assert len(await s.products()) == 120
        assert {name: peaks[name] for name in ("cpu", "memory", "db")} == {
            "cpu": 1,
            "memory": 5,
            "db": 2,
        }
        assert peaks["http"] <= 6
        assert all(each.used == 0 for each in node.pacer.resources.values())


@in_virtual_time
async def test_memory_pressure_takes_places_away_and_gives_them_back(scene: Any) -> None:
    """C4."""
    async with scene(10) as s:
        meter, http = s.presence.meter, s.rig.node.pacer.resources["http"]
        given = http.size
        meter.read = lambda now: Load(memory=0.95, cpu=0.2)
        await s.rig.advance("10s")
        assert http.size < given

        meter.read = lambda now: Load(memory=0.3, cpu=0.6)
        await s.rig.advance("60s")
        assert http.size == given


@in_virtual_time
async def test_a_page_that_is_tried_again_goes_before_the_others(scene: Any) -> None:
    """C8: retried work is HIGH."""
    fault = Fault(kind="status", site="shop", path="/products/0", count=1, status=500)
    async with scene(200, faults=[fault], manners=Manners(delay=0.5, concurrency=1)) as s:
        await s.rig.until(lambda: "/products/0" in s.asked("/products/*"))
        await s.rig.advance("100ms")
        (waiting,) = await s.rig.jobs("state:retry_wait")
        assert waiting.priority == Priority.HIGH
        before = len(s.asked("/products/*"))
        await s.rig.until(lambda: s.asked("/products/*").count("/products/0") == 2)

        # Some hundred pages of its kind have waited for longer.
        assert len(s.asked("/products/*")) - before <= 12
