"""What holds work back, in scenarios whose end can be worked out by hand. X22"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dure.simulate.plan.binding import Hold
from dure.simulate.plan.fleet import Fleet
from dure.simulate.plan.page import comparison, page
from dure.simulate.plan.reading import example, read
from dure.simulate.plan.report import Report, report


def share(found: Report, hold: Hold, name: str = "") -> float:
    """Of the time that something bound."""
    return sum(b.share for b in found.binds if b.hold is hold and name in {"", b.name})


def test_a_limit_binds_at_its_own_pace(plan: Any) -> None:
    """600 jobs that take no time, ten a second: a minute, less the first ten at once."""
    found = plan(
        """
        [limits.api]
        windows = ["10/s"]
        [kinds.job]
        duration = "0s"
        limits = "api"
        [[arrivals]]
        jobs = 600
        """
    )

    assert 0 == found.left
    assert 59.0 <= found.seconds <= 60.0 * 62 / 60  # exact in any second costs two slices of 60
    assert share(found, Hold.LIMIT, "api") > 0.99
    assert found.advice[0].startswith("Limit api (10/s) binds 100 % of the time; more workers")


def test_the_narrower_of_two_windows_binds(plan: Any) -> None:
    """100 at once, then none until the minute is over: three rounds of a minute each."""
    found = plan(
        """
        [limits.api]
        windows = ["100/m", "1000/d"]
        [kinds.job]
        duration = "0s"
        limits = ["api"]
        [[arrivals]]
        jobs = 300
        """
    )

    assert found.binds[0].text == "limit api (100/m)"
    assert 120.0 <= found.seconds <= 126.0


def test_tokens_are_a_window_of_their_own_and_what_is_not_used_comes_back(plan: Any) -> None:
    """1,000 tokens a second carry 10 jobs of 100; at 50 really used they carry nearly 20."""
    text = """
        [limits.model]
        windows = ["1000 tokens/s"]
        [kinds.ask]
        duration = "10ms"
        limits = ["model"]
        tokens = 100
        {used}
        [[arrivals]]
        jobs = 200
    """

    whole, half = plan(text.format(used="")), plan(text.format(used="tokens_used = 50"))

    assert 19.0 <= whole.seconds <= 20.8
    assert whole.seconds * 0.45 <= half.seconds <= whole.seconds * 0.6


def test_a_cap_of_a_lane_binds_however_many_slots_there_are(plan: Any) -> None:
    """20 jobs of a second, two at a time: ten seconds."""
    found = plan(
        """
        workers = 5
        [kinds.job]
        duration = "1s"
        [lanes.shop]
        max_running = 2
        [[arrivals]]
        jobs = 20
        """
    )

    assert (10.0, 9.0) == (found.seconds, found.waits.most)
    assert found.binds[0].text == "max_running of lane shop (2)"
    assert 0.9 == pytest.approx(share(found, Hold.CAP))
    assert found.advice[0].endswith("Raise max_running there, or make jobs shorter.")


def test_a_cap_holds_for_each_lane_of_a_group(plan: Any) -> None:
    """Four lanes of five jobs, one at a time in each."""
    found = plan(
        """
        [kinds.job]
        duration = "1s"
        [lanes.shop]
        count = 4
        max_running = 1
        [[arrivals]]
        jobs = 20
        """
    )

    assert 5.0 == found.seconds
    assert 4.0 == found.lanes[0].waits.most


@pytest.mark.parametrize(
    ("terms", "seconds", "binds"),
    [
        ("max_running = 4", 5.0, "max_running of kind job (4)"),
        ("limits = ['api']", 4.0, "max_running of limit api (5)"),
        ("uses = ['db']", 10.0, "resource db (1 in each worker)"),
    ],
)
def test_kinds_limits_and_resources_have_caps_too(
    plan: Any, terms: str, seconds: float, binds: str
) -> None:
    found = plan(
        f"""
        workers = 2
        [resources]
        db = 1
        [limits.api]
        max_running = 5
        [kinds.job]
        duration = "1s"
        {terms}
        [[arrivals]]
        jobs = 20
        """
    )

    assert (seconds, binds) == (found.seconds, found.binds[0].text)


def test_a_lane_with_little_does_not_wait_behind_one_with_much(plan: Any) -> None:
    """Lanes take turns: five jobs beside a thousand wait for five rounds of two."""
    found = plan(
        """
        slots = 1
        [kinds.job]
        duration = "1s"
        [lanes.big]
        [lanes.small]
        [[arrivals]]
        lanes = "big"
        jobs = 1000
        [[arrivals]]
        lanes = "small"
        jobs = 5
        """
    )

    big, small = found.lanes
    assert small.waits.most <= 10.0
    assert (1004.0, 1005.0) == (big.waits.most, found.seconds)


def test_twice_the_weight_is_twice_the_pace(plan: Any) -> None:
    found = plan(
        """
        slots = 1
        patience = "300s"
        [kinds.job]
        duration = "1s"
        [lanes.plain]
        [lanes.paying]
        weight = 2.0
        [[arrivals]]
        lanes = "plain"
        jobs = 1000
        [[arrivals]]
        lanes = "paying"
        jobs = 1000
        """
    )

    plain, paying = found.lanes
    assert (100, 200) == pytest.approx((plain.waits.jobs, paying.waits.jobs), abs=2)
    assert 2.0 == pytest.approx(paying.pace / plain.pace, rel=0.03)


def test_the_urgent_go_first_inside_a_lane(plan: Any) -> None:
    found = plan(
        """
        slots = 1
        [kinds.slow]
        duration = "1s"
        priority = "low"
        [kinds.fast]
        duration = "1s"
        priority = "critical"
        [[arrivals]]
        kind = "slow"
        jobs = 10
        [[arrivals]]
        kind = "fast"
        jobs = 10
        """
    )

    slow, fast = found.kinds
    assert fast.waits.most <= 10.0
    assert 19.0 == slow.waits.most


def test_failures_are_tried_again_until_the_attempts_are_spent(plan: Any) -> None:
    found = plan(
        """
        [kinds.job]
        duration = "1s"
        fails = 1.0
        retry = { attempts = 3, base = "10s", factor = 1.0, jitter = 0.0 }
        [[arrivals]]
        jobs = 4
        """
    )

    (job,) = found.kinds
    assert (12, 8, 0, 4) == (job.attempts, job.retries, job.succeeded, job.failed)
    assert 23.0 <= found.seconds <= 25.0  # three attempts and two delays; the promoter looks
    assert share(found, Hold.RETRY) > 0.8


def test_what_takes_too_long_is_stopped_in_time(plan: Any) -> None:
    found = plan(
        """
        [kinds.job]
        duration = "1h"
        timeout = "2s"
        retry = { attempts = 1 }
        [[arrivals]]
        jobs = 3
        """
    )

    assert (2.0, 3, 3) == (found.seconds, found.kinds[0].timeouts, found.kinds[0].failed)


def test_a_success_enqueues_what_follows_from_it(plan: Any) -> None:
    found = plan(
        """
        [kinds.fetch]
        duration = "1s"
        then = { parse = 2, index = 0.5 }
        [kinds.parse]
        duration = "1s"
        [kinds.index]
        duration = "1s"
        [[arrivals]]
        kind = "fetch"
        jobs = 1000
        """
    )

    jobs = {kind.name: kind.succeeded for kind in found.kinds}
    assert (1000, 2000) == (jobs["fetch"], jobs["parse"])
    assert 500 == pytest.approx(jobs["index"], abs=50)


def test_an_outage_opens_the_breaker_and_what_was_held_runs_afterwards(plan: Any) -> None:
    found = plan(
        """
        lasts = "30m"
        [kinds.call]
        duration = "1s"
        breaker = "shop"
        retry = { attempts = 20, base = "10s", cap = "1m" }
        [[arrivals]]
        rate = "2/s"
        [[outages]]
        from = "5m"
        until = "10m"
        """
    )

    (call,) = found.kinds
    assert (0, call.succeeded) == (call.failed, found.jobs)
    assert share(found, Hold.BREAKER, "shop") > 0.1
    assert call.retries < 300  # without the breaker each of 600 jobs would fail once and more


def test_a_breaker_that_stays_open_ends_with_the_attempts(plan: Any) -> None:
    found = plan(
        """
        [kinds.call]
        duration = "1s"
        breaker = "per lane"
        fails = 1.0
        retry = { attempts = 2, base = "1s" }
        [lanes.shops]
        count = 3
        [[arrivals]]
        jobs = 60
        """
    )

    assert (60, 0) == (found.kinds[0].failed, found.left)


def test_work_by_timetable_comes_when_it_says(plan: Any) -> None:
    """Intervals are counted in UTC, as schedules do: the last of the day is at 21:00 in Seoul."""
    found = plan(
        """
        start = 2026-01-05T00:00:00
        zone = "Asia/Seoul"
        [kinds.job]
        duration = "1s"
        [lanes.shops]
        count = 7
        [[arrivals]]
        jobs = 10
        every = "6h"
        [[arrivals]]
        jobs = 1
        every = "30 9 * * *"
        """
    )

    assert 41 == found.jobs
    assert 21 * 3600.0 + 1.0 == found.seconds


def test_work_spread_over_a_time_all_comes_within_it(plan: Any) -> None:
    found = plan(
        """
        [kinds.job]
        duration = "0s"
        [[arrivals]]
        jobs = 2000
        from = "1h"
        over = "1h"
        """
    )

    assert 2000 == found.ended
    assert 7190.0 <= found.seconds <= 7200.0
    assert 1.0 == pytest.approx(share(found, Hold.IDLE))


def test_the_shares_of_all_that_binds_are_the_whole_time(plan: Any) -> None:
    work = {"kind": "fetch", "lanes": "shops", "jobs": 500, "every": "1h"}
    found = plan(example(), lasts="4h", arrivals=[work], outages=[{"until": "90m"}])

    assert 1.0 == pytest.approx(sum(bind.share for bind in found.binds))
    assert 0 == found.left
    assert found.jobs == found.ended == sum(k.succeeded + k.failed for k in found.kinds)


def test_a_comparison_says_from_where_on_more_workers_gain_nothing(
    scenario: Callable[[str], Path],
) -> None:
    path = scenario(
        """
        slots = 1
        lasts = "100s"
        [kinds.job]
        duration = "1s"
        [[arrivals]]
        rate = "2/s"
        steady = true
        """
    )
    found = []
    for workers in (1, 2, 4, 8):
        fleet = Fleet(read(path, {"workers": workers}))
        fleet.run()
        found.append(report(fleet))

    told = list(comparison(found))

    assert "Beyond 2 workers nothing is gained." in told
    assert ["1", "2", "4", "8"] == [line.split()[0] for line in told[1:5]]
    assert any("slots 99 %" in line for line in told)
    assert any("199 in 1 lanes" in line for line in page(found[1]))
