"""C10-C14: pause, resume, cancel; figures, settings, health; profile and several nodes."""

import json
from typing import Any

import msgspec
import pytest

from catalog import desk
from catalog.figures import dashboard_of
from catalog.report import account_of
from catalog.screen import account_lines, dashboard_lines, profile_lines
from catalog.spider import Sizes
from catalog.words import LANGUAGES, Words
from dure.core.errors import NotFound, SettingInvalid
from dure.crawl.advice import profile_of
from dure.fetch import Manners
from dure.testing import in_virtual_time
from dure_sandbox.faults.fault import Fault

SLOW = Manners(delay=0.5, concurrency=1)


@in_virtual_time
async def test_a_paused_crawl_asks_for_nothing_and_goes_on_when_resumed(scene: Any) -> None:
    """C10."""
    async with scene(100, manners=SLOW) as s:
        app = s.catalog.app
        await s.rig.advance("10s")
        await desk.pause(app, by="test")
        await s.rig.advance("5s")
        asked = len(s.asked("/*"))
        await s.rig.advance("60s")
        assert len(s.asked("/*")) == asked
        assert (await dashboard_of(app)).overall_status == "paused"

        await desk.resume(app, by="test")
        await s.rig.until(lambda: len(set(s.asked("/products/*"))) == 100)
        await s.rig.run_until_idle()
        assert len(await s.products()) == 100


@in_virtual_time
async def test_a_cancelled_crawl_ends_at_once_and_still_adds_up(scene: Any) -> None:
    """C10."""
    async with scene(100, manners=SLOW) as s:
        await s.rig.advance("10s")
        session, count = await desk.cancel(s.catalog.app, by="test")
        await s.rig.advance("5s")
        asked = len(s.asked("/*"))
        await s.rig.advance("60s")

        assert session == "catalog-1"
        assert count > 0
        assert len(s.asked("/*")) == asked
        account = await account_of(s.catalog.app)
        assert account.status == "cancelled"
        assert account.is_accounted
        assert account.products.cancelled > 0


@in_virtual_time
async def test_commands_on_a_run_that_nobody_began_are_refused(scene: Any) -> None:
    async with scene(10, begin=False) as s:
        with pytest.raises(NotFound, match="no crawl 'catalog'"):
            await desk.pause(s.catalog.app, by="test")


@in_virtual_time
async def test_the_dashboard_says_how_a_crawl_stands_as_json_and_in_two_languages(
    scene: Any,
) -> None:
    """C11."""
    broken = Fault(kind="status", site="shop", path="/products/7", status=500)
    slow = Fault(kind="slow_start", site="shop", path="/products/*", seconds=0.1)
    async with scene(200, faults=[broken, slow], manners=SLOW) as s:
        await s.rig.advance("60s")
        board = await dashboard_of(s.catalog.app)
        now = await s.rig.store.now()

    assert board.overall_status == "running"
    assert 1.0 <= board.throughput.pages_per_second <= 3.0
    assert board.throughput.pages_left > 0
    assert board.error_summary.reasons
    assert board.resource_usage.nodes == 1
    assert set(board.resource_usage.places) >= {"http", "cpu", "memory", "db"}
    workers = board.worker_health["FetchProductDetail"]
    assert workers.average_task_seconds > 0
    assert workers.last_activity is not None
    eta = board.estimated_completion
    assert eta is not None
    assert now <= eta.earliest <= eta.likely
    told = json.loads(msgspec.json.encode(board))
    assert {"overall_status", "queue_health", "estimated_completion"} <= told.keys()
    english, korean = ("\n".join(dashboard_lines(board, Words(each))) for each in LANGUAGES)
    assert "fetch product" in english
    assert "상품 수집" in korean


@in_virtual_time
async def test_settings_change_while_it_runs_and_nonsense_is_refused(scene: Any) -> None:
    """C12: limits, retry policies, capacities, worker counts and rates."""
    async with scene(500, manners=SLOW) as s:
        app = s.catalog.app
        await s.rig.advance("10s")
        for key, text in (
            ("http", "17"),
            ("product.retry_attempts", "3"),
            ("product.frontier_max", "77"),
            ("product.queue_max", "33"),
            ("product.save_max", "44"),
            ("product.crew_high", "9"),
            ("product.parse_high", "5"),
            ("host.delay", "100ms"),
        ):
            await desk.change(app, key, text, by="test")
        before = len(s.asked("/*"))
        await s.rig.advance("12s")
        line = s.presence.lines["catalog.product"]

        assert s.rig.node.pacer.resources["http"].size == 17
        assert s.rig.node.kinds["catalog.product"].terms.retry.max_attempts == 3
        assert line.frontier.capacity == 77
        assert (line.parse.queue.capacity, line.save.queue.capacity) == (33, 44)
        assert (line.crew.high, line.parse.crew.high) == (9, 5)
        assert len(s.asked("/*")) - before >= 60
        for key, text in (
            ("product.queue_max", "0"),
            ("product.crew_low", "10"),
            ("product.retry_attempts", "many"),
            ("host.delay", "-1"),
            ("product.colour", "3"),
            ("nobody.queue_max", "3"),
        ):
            with pytest.raises(SettingInvalid):
                await desk.change(app, key, text, by="test")
        (entry, *_) = await s.rig.insights.audit()
        assert entry.command == "crawl.set"


@in_virtual_time
async def test_a_queue_over_90_percent_is_unhealthy(scene: Any) -> None:
    """C13."""
    async with scene(400, sizes=Sizes(products=40), manners=SLOW) as s:
        await s.rig.until(lambda: s.presence.lines["catalog.product"].frontier.figures.depth > 36)
        await s.rig.advance("3s")
        health = (await dashboard_of(s.catalog.app)).health
        assert not health.is_healthy
        assert any("full" in sentence for sentence in health.details.values())

        await desk.change(s.catalog.app, "product.frontier_max", "10000", by="test")
        await s.rig.advance("5s")
        assert (await dashboard_of(s.catalog.app)).health.is_healthy


@in_virtual_time
async def test_a_profile_says_where_time_goes_and_what_to_change(scene: Any) -> None:
    """C14: profiling and advice."""
    async with scene(200, manners=SLOW) as s:
        await s.rig.advance("60s")
        status = await s.status()
        profile = profile_of(status.nodes, "catalog")

    assert {stage.stage for stage in profile.stages} == {"catalog.list", "catalog.product"}
    assert profile.advice
    assert profile_lines(profile, Words("ko"))


@in_virtual_time
async def test_several_nodes_share_a_crawl_and_fetch_nothing_twice(scene: Any) -> None:
    """C14: distributed."""
    async with scene(400, hosts=4, nodes=3, manners=Manners(delay=0.1, concurrency=2)) as s:
        await s.rig.until(lambda: len(set(s.asked("/products/*"))) == 400, "30m")
        await s.rig.run_until_idle()
        asked = s.asked("/products/*")

        assert len(asked) == 400
        assert set((await s.products()).values()) == {1}
        assert sum(node.tally.claimed > 0 for node in s.rig.nodes) >= 2
        account = await account_of(s.catalog.app)
        assert account.is_accounted
        for language in LANGUAGES:
            assert account_lines(account, Words(language))
