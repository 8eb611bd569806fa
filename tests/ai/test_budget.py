"""Budgets suspend instead of overspending, on both stores and however many ask at once."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from tests.ai.desk import GOOD, bench, start_at
from tests.ai.wire import STALL, said

from dure import State, open_store
from dure.ai import Budget, Price
from dure.ai.budget import (
    Counter,
    Line,
    Spent,
    day_of,
    lines_of,
    midnight_after,
    month_after,
    reserve,
    reserved,
    settle,
    settled,
    standing,
)
from dure.core.errors import ConfigError
from dure.testing import in_virtual_time, running

PRICE = Price("1", "10")
COST = 300_000
"""Billionths for 100 tokens in and 20 out."""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, sqlite_path: Path) -> str:
    if request.param == "sqlite":
        return str(sqlite_path)
    address: str = request.getfixturevalue("postgres_url")
    return address


async def test_a_budget_is_never_overspent_by_many_at_once(url: str) -> None:
    """Z4"""
    first, second = open_store(url), open_store(url)
    await first.open()
    await second.open()
    lines = lines_of(Budget(per_day="0.000001", per_lane="0.0000007"), "acme", "lane")

    answers = await asyncio.gather(
        *((first, second)[n % 2].run(reserved(lines, "d", 90, 0.0)) for n in range(40))
    )
    await first.run(settled({("acme", "d"): (90, 0), ("acme lane", "d"): (90, 0)}, 0.0))
    again = await second.run(reserved(lines, "d", 90, 0.0))
    counters = await first.read(standing())
    await first.close()
    await second.close()

    assert 7 == answers.count(None)
    assert again is None
    assert {"acme": 630, "acme lane": 630} == {name: each.aside for name, each in counters.items()}


@in_virtual_time
async def test_what_would_overspend_the_day_is_suspended_and_runs_the_next_day() -> None:
    """Z4"""
    b = bench(
        lambda _: said(GOOD),
        prices=PRICE,
        budget=Budget(per_day="0.03"),
        prompt={"output_max": 200},
        max_running=4,
    )
    async with running(b.app, nodes=0) as t:
        await start_at(t, 86400 - 100)
        await t.enqueue_many([b.kind(str(n)) for n in range(150)])
        await t.advance("75s")

        spent = sum(reply.cost for reply in b.replies)
        assert 30_000_000 - 5_000_000 <= spent <= 30_000_000
        assert 150 - len(b.replies) == len(await t.jobs("state:suspended reason:BUDGET"))
        [counter] = (await b.desk.budgets()).values()
        assert counter.spent == spent

        await t.advance("40s")
        assert len(b.replies) > 100


@in_virtual_time
async def test_a_lanes_budget_stops_that_lane_only() -> None:
    """Z4"""
    b = bench(lambda _: said(GOOD), prices=PRICE, budget=Budget(per_lane="0.011"), max_running=1)
    async with running(b.app) as t:
        await t.enqueue_many([b.kind(str(n)) for n in range(30)], lane="loud")
        await t.enqueue(b.kind("one"), lane="calm")
        await t.advance("60s")

        held = await t.jobs("state:suspended reason:BUDGET")
        assert {"loud"} == {job.lane for job in held}
        assert [State.SUCCESS] == [job.state for job in await t.jobs("lane:calm")]
        loud = [each for each in await b.desk.accounts(0, 1e12) if each.lane == "loud"]
        assert sum(each.cost for each in loud) <= 11_000_000


@in_virtual_time
async def test_a_call_without_an_answer_counts_as_if_it_had_been_billed() -> None:
    """Z4"""
    b = bench(lambda _: STALL, prices=PRICE, budget=Budget(per_day="0.03"))
    async with running(b.app) as t:
        await t.enqueue(b.kind("text"))
        await t.advance("25s")

        [counter] = (await b.desk.budgets()).values()
        assert counter.spent > 10_000_000
        assert 0 == counter.aside


@given(
    st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 400), st.sampled_from("ab")), max_size=40
    ),
    st.integers(0, 1000),
)
def test_what_is_spent_and_set_aside_never_passes_the_budget(
    calls: list[tuple[int, int, str]], most: int
) -> None:
    """Z4: as long as no call costs more than was set aside for it."""
    counter = Counter()
    spent = {"a": 0, "b": 0}
    for amount, real, day in sorted(calls, key=lambda call: call[2]):
        after = reserve({"x": counter}, [Line("x", most, is_lane=False)], day, amount)
        if isinstance(after, Spent):
            assert after.left < amount
            continue
        cost = min(real, amount)
        counter = settle(after["x"], day, amount, cost)
        spent[day] += cost
        assert spent[day] == counter.spent <= most


def test_days_begin_where_the_budget_says() -> None:
    eve = 1_767_225_600.0  # 2026-01-01 00:00 UTC, nine in the morning in Seoul

    assert ("2025-12-31", "2026-01-01") == (day_of(eve - 1, "UTC"), day_of(eve - 1, "Asia/Seoul"))
    assert eve == midnight_after(eve - 1, "UTC")
    assert eve + 15 * 3600 == midnight_after(eve, "Asia/Seoul")
    assert eve == month_after(eve - 1)
    with pytest.raises(ConfigError, match="no time zone"):
        Budget(per_day=1, tz="Mars/Base")
    with pytest.raises(ConfigError, match="needs an amount"):
        Budget()


def test_prices_are_exact() -> None:
    assert COST == PRICE.cost(100, 20)
    assert 1 == Price("0.000001", 0).cost(1, 0)
    assert 100 * 500 + 900 * 100 == Price("0.5", "2", "0.1").cost(1000, 0, 900)
    with pytest.raises(ConfigError, match="must be 0 to"):
        Price("-1", 0)
