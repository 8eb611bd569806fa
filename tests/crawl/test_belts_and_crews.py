"""C3, C4, C9, C13: bounded queues, workers that follow load, resources that follow memory."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from dure.core.adaptive import Bounds
from dure.core.load import Load, places
from dure.crawl.advice import profile_of
from dure.crawl.belt import Belt
from dure.crawl.crew import FAILURES_MAX, REST_SECONDS, Crew
from dure.crawl.figures import NodeFigures, QueueFigures, StageFigures, findings_of
from dure.crawl.flow import Flow
from dure.crawl.load import memory_share
from dure.crawl.spider import Crew as Size
from dure.testing import in_virtual_time

CALM = Load(memory=0.4, cpu=0.7)
IDLE = Load(memory=0.4, cpu=0.1)
TIGHT = Load(memory=0.85, cpu=0.1)


@in_virtual_time
async def test_a_full_belt_holds_its_producer_back_and_counts_that() -> None:
    """C3."""
    belt = Belt("parse", 2)
    await belt.enter()
    await belt.enter()
    third = asyncio.create_task(belt.enter())
    await asyncio.sleep(1)
    assert not third.done()

    belt.leave()
    await third

    figures = belt.figures
    assert (figures.depth, figures.max_depth, figures.blocked) == (2, 2, 1)
    assert (figures.total_in, figures.total_out) == (3, 1)


@in_virtual_time
async def test_a_place_whose_waiter_gave_up_goes_to_the_next() -> None:
    belt = Belt("parse", 1)
    await belt.enter()
    first, second = asyncio.create_task(belt.enter()), asyncio.create_task(belt.enter())
    await asyncio.sleep(1)
    belt.leave()
    first.cancel()

    await second

    assert belt.depth == 1


@in_virtual_time
async def test_a_belt_that_is_made_larger_lets_waiters_in() -> None:
    """C12."""
    belt = Belt("parse", 1)
    await belt.enter()
    waiter = asyncio.create_task(belt.enter())
    await asyncio.sleep(1)

    belt.resize(2)
    await waiter

    assert belt.depth == 2


def test_a_worker_that_failed_five_times_in_a_row_rests() -> None:
    """C9."""
    crew = Crew(Size(1, 1))
    for _ in range(FAILURES_MAX):
        worker = crew.begin()
        crew.end(worker, is_good=False, took=0.1, now=100.0)

    assert crew.room() == 0
    crew.tick(100.0 + REST_SECONDS - 1)
    assert crew.room() == 0
    crew.tick(100.0 + REST_SECONDS)
    assert crew.room() == 1


def test_a_success_in_between_keeps_a_worker_at_work() -> None:
    """C9."""
    crew = Crew(Size(1, 1))
    for turn in range(20):
        crew.end(crew.begin(), is_good=turn % 5 == 4, took=0.1, now=1.0)

    assert crew.room() == 1


def test_workers_grow_with_use_and_shrink_without_and_wait_in_between() -> None:
    """C9: bounds, cooldown."""
    crew = Crew(Size(2, 18))
    assert crew.count == 9
    busy = [crew.begin() for _ in range(9)]
    crew.tick(10.0)
    assert crew.count == 11
    crew.tick(10.5)
    assert crew.count == 11
    for worker in busy:
        crew.end(worker, is_good=True, took=0.1, now=11.0)
    crew.tick(12.1)
    for second in range(40):
        crew.tick(20.0 + 2.5 * second)
    assert crew.count == 2


def test_lanes_that_found_no_worker_are_asked_again_one_for_each_that_is_free() -> None:
    crew = Crew(Size(1, 1))
    worker = crew.begin()
    asked: list[str] = []
    for name in ("a", "b"):
        crew.refused(partial(asked.append, name))

    crew.end(worker, is_good=True, took=0.1, now=1.0)

    assert asked == ["a"]


@pytest.mark.parametrize(
    ("size", "used", "load", "expected"),
    [
        (8, 8, TIGHT, 6),
        (1, 1, TIGHT, 1),
        (4, 0, CALM, 5),
        (8, 8, CALM, 8),
        (8, 8, IDLE, 11),
        (8, 1, IDLE, 8),
        (32, 32, IDLE, 32),
    ],
)
def test_places_follow_memory_first_and_then_idle_processors(
    size: int, used: int, load: Load, expected: int
) -> None:
    """C4."""
    assert places(Bounds(1, 32), size, given=8, used=used, load=load) == expected


def test_the_memory_of_a_container_counts_before_that_of_the_machine(tmp_path: Path) -> None:
    """C4."""
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("900\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 400\n")
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 100 kB\nMemAvailable: 25 kB\n")

    assert memory_share(tmp_path, meminfo) == 0.5
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_share(tmp_path, meminfo) == 0.75
    assert memory_share(tmp_path, tmp_path / "nowhere") is None


def test_what_was_claimed_and_not_begun_is_told_from_four_counts() -> None:
    flow = Flow()
    flow.taken += 3
    flow.begun += 1
    assert flow.ahead == 2
    flow.ended += 1
    flow.settle(1)
    assert flow.ahead == 2
    flow.settle(1)  # given back without having begun
    assert flow.ahead == 1
    flow.settle(1)
    assert (flow.ahead, flow.taken) == (0, 0)


def test_a_queue_over_90_percent_is_unhealthy() -> None:
    """C13."""
    full = _node(_queue(depth=91))
    fine = _node(_queue(depth=90))

    assert findings_of([fine]) == []
    (finding,) = findings_of([full])
    assert "91% full" in finding.sentence


def test_the_profile_names_what_would_help_and_why() -> None:
    """C14."""
    node = _node(_queue(blocked=50))

    profile = profile_of([node], "shop")

    assert profile.pages == 100
    assert profile.stages[0].parse_ms == 20.0
    advice = " ".join(each.what for each in profile.advice)
    assert "item.crew_high over 8" in advice
    assert "larger queue" in advice
    assert "outside of the loop" in advice


def _queue(depth: int = 0, blocked: int = 0) -> QueueFigures:
    return QueueFigures(
        name="shop.item.parse",
        depth=depth,
        capacity=100,
        max_depth=100,
        total_in=100,
        total_out=100,
        blocked=blocked,
    )


def _node(queue: QueueFigures) -> NodeFigures:
    stage = StageFigures(
        stage="shop.item",
        fetched=100,
        bytes=1_000_000,
        fetch_seconds=1.0,
        parsed=100,
        parse_seconds=2.0,
        parse_failed=0,
        items=100,
        children=0,
        workers_active=8,
        workers_count=8,
        workers_resting=0,
        workers_low=1,
        workers_high=8,
        mean_seconds=0.1,
        error_share=0.0,
        idle_seconds=0.0,
    )
    return NodeFigures(
        node="worker 1",
        at=0.0,
        up_seconds=10.0,
        pages_per_second=10.0,
        stages=[stage],
        queues=[queue],
        steps=[],
        resources={},
        memory_share=0.1,
        cpu_share=0.6,
        memory_peak=0,
        hosts=1,
        hosts_owned=1,
        known_new=0,
        known_again=0,
        known_asked=0,
        known_wrongly=0,
    )
