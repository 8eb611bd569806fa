"""The sandbox in memory, through the fetcher, in virtual time (Z3)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dure.fetch import Call, FetchError, Timeouts
from dure.fetch.failure import ConnectionLost, NameUnresolved, TimedOut
from dure.testing.virtual import VirtualClock, run_virtual
from dure_sandbox import Fault, Sandbox, ShopOptions


def in_virtual_time(main: Callable[[Sandbox], Awaitable[Any]], **options: Any) -> Any:
    async def run() -> Any:
        return await main(Sandbox(seed=1, clock=VirtualClock(), **options))

    return run_virtual(run())


async def ask(box: Sandbox, url: str, **options: Any) -> tuple[int, bytes]:
    call = Call(method="GET", url=url, headers={}, body=None, timeouts=Timeouts(**options))
    reply = await box.wire().send(call)
    return reply.status, b"".join([piece async for piece in reply.chunks()])


def test_the_sites_answer_in_memory_under_their_own_and_under_the_real_names() -> None:
    async def main(box: Sandbox) -> list[tuple[int, bytes]]:
        path = "/breakingnews/section/101/259"
        return [
            await ask(box, f"{box.shop.url}/products/3"),
            await ask(box, f"{box.news.url}{path}"),
            await ask(box, f"https://news.naver.com{path}"),
        ]

    shop, news, real = in_virtual_time(main)

    assert (shop[0], news[0], real[0]) == (200, 200, 200)
    assert b'href="http://news.sandbox.test/mnews/article/' in news[1]
    assert b'href="https://n.news.naver.com/mnews/article/' in real[1]


def test_each_host_of_a_spread_shop_has_a_name_in_memory() -> None:
    async def main(box: Sandbox) -> tuple[list[str], tuple[int, bytes]]:
        urls = list(box.shop_urls())
        return urls, await ask(box, f"{urls[2]}/products/2")

    urls, answer = in_virtual_time(main, shop=ShopOptions(hosts=3, products=30))

    assert urls[2] == "http://shop-2.sandbox.test"
    assert answer[0] == 200


def test_a_host_that_does_not_exist_cannot_be_resolved() -> None:
    async def main(box: Sandbox) -> None:
        await ask(box, "http://elsewhere.example/")

    with pytest.raises(NameUnresolved):
        in_virtual_time(main)


@pytest.mark.parametrize(
    ("fault", "error", "after"),
    [
        (Fault(kind="stall", seconds=3600), TimedOut, 20.0),
        (Fault(kind="stall", seconds=3600, at="body"), TimedOut, 5.0),
        (Fault(kind="stall", seconds=3), ConnectionLost, 3.0),
        (Fault(kind="reset"), ConnectionLost, 0.0),
        (Fault(kind="reset", at="body"), ConnectionLost, 0.0),
        (Fault(kind="cut_body"), ConnectionLost, 0.0),
        (Fault(kind="slow_start", seconds=60), TimedOut, 20.0),
    ],
)
def test_a_break_is_the_failure_that_a_socket_would_show_at_its_time(
    fault: Fault, error: type[FetchError], after: float
) -> None:
    async def main(box: Sandbox) -> float:
        box.faults.add(fault)
        began = box.clock.now()
        with pytest.raises(error):
            await ask(box, f"{box.shop.url}/products/1", idle=5.0)
        return box.clock.now() - began

    assert in_virtual_time(main) == pytest.approx(after, abs=0.01)


def test_a_slow_body_arrives_at_its_rate() -> None:
    async def main(box: Sandbox) -> tuple[int, float]:
        box.faults.add(Fault(kind="slow_body", rate=100))
        began = box.clock.now()
        _, body = await ask(box, f"{box.shop.url}/products/1")
        return len(body), box.clock.now() - began

    length, took = in_virtual_time(main)

    assert took == pytest.approx(length / 100, rel=0.01)


def test_a_fault_begins_and_ends_at_its_time_and_stops_after_its_count() -> None:
    async def main(box: Sandbox) -> list[int]:
        box.faults.add(Fault(kind="status", starts_in=10, lasts=10))
        box.faults.add(Fault(kind="status", status=500, starts_in=40, skip=1, count=1))
        seen = []
        for _ in range(7):
            seen.append((await ask(box, f"{box.shop.url}/products/1"))[0])
            await asyncio.sleep(10)
        return seen

    assert in_virtual_time(main) == [200, 503, 200, 200, 200, 500, 200]


def test_a_share_of_requests_is_struck_the_same_by_seed_in_any_order() -> None:
    async def main(box: Sandbox, numbers: list[int]) -> tuple[set[int], int]:
        box.faults.add(Fault(kind="throttle", share=0.3))
        struck = {n for n in numbers if (await ask(box, f"{box.shop.url}/products/{n}"))[0] == 429}
        again = [(await ask(box, f"{box.shop.url}/products/{n}"))[0] for n in sorted(struck)]
        return struck, again.count(200)

    up, healed = in_virtual_time(lambda box: main(box, list(range(500))))
    down, _ = in_virtual_time(lambda box: main(box, list(range(499, -1, -1))))

    assert up == down
    assert 110 <= len(up) <= 190
    assert healed > len(up) // 2


def test_the_log_tells_how_polite_a_client_was() -> None:
    async def main(box: Sandbox) -> Any:
        for number in (1, 2, 2):
            await ask(box, f"{box.shop.url}/products/{number}")
            await asyncio.sleep(0.4)
        return box.log.summary()["shop.sandbox.test"]

    told = in_virtual_time(main)

    assert (told.requests, told.asked_again, told.busiest_second) == (3, 1, 3)
    assert told.smallest_gap_seconds == pytest.approx(0.4)
