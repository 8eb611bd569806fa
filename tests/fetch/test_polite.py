"""Nobody is asked before their time, whatever happens. In virtual time."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import count, pairwise

import pytest

from dure.fetch import Call, Fetcher, FetchPolicy, Manners, Robots
from dure.fetch.failure import Blocked, FetchError, HostResting, RateLimited, Unavailable
from dure.testing import in_virtual_time
from dure.testing.virtual import VirtualClock
from dure.testing.wire import Answer, ScriptedWire

URL = "https://shop.example/p"


class Half:
    """Dice that always fall in the middle."""

    def draw(self) -> float:
        return 0.5


def fetcher(wire: ScriptedWire, manners: Manners, **rules: object) -> Fetcher:
    policy = FetchPolicy(**{"robots": Robots.IGNORE, "manners": manners, **rules})  # type: ignore[arg-type]
    return Fetcher(policy, wire=wire, clock=VirtualClock(), dice=Half())


def gaps(wire: ScriptedWire) -> list[float]:
    return [round(later - earlier, 6) for earlier, later in pairwise(wire.times)]


def in_turn(*answers: Answer) -> Callable[[Call], Answer]:
    left: Iterator[Answer] = iter(answers)
    return lambda _: next(left, Answer())


@in_virtual_time
async def test_two_starts_at_a_host_are_never_closer_than_its_delay() -> None:
    """E2"""
    wire = ScriptedWire(lambda _: Answer(seconds=0.1))
    async with fetcher(wire, Manners(delay=1.0, concurrency=4)) as it:
        await asyncio.gather(*(it.get(f"{URL}{n}") for n in range(10)))

    assert len(wire.times) == 10
    assert min(gaps(wire)) >= 1.0 - 1e-6
    assert max(gaps(wire)) <= 1.01


@in_virtual_time
async def test_a_host_never_has_more_requests_under_way_than_its_concurrency() -> None:
    wire = ScriptedWire(lambda _: Answer(seconds=1.0))
    async with fetcher(wire, Manners(delay=0.0, concurrency=3)) as it:
        await asyncio.gather(*(it.get(f"{URL}{n}") for n in range(12)))

    assert wire.most == 3
    assert wire.times[-1] - wire.times[0] == pytest.approx(3.0, abs=0.01)


@in_virtual_time
async def test_whoever_asks_for_room_first_never_waits() -> None:
    wire = ScriptedWire(lambda _: Answer(seconds=0.2))
    clock = VirtualClock()
    async with fetcher(wire, Manners(delay=0.5, concurrency=2)) as it:
        host = it.host(URL)
        sent = 0
        while sent < 6:
            room = host.room(clock.monotonic())
            begun = [asyncio.create_task(it.get(f"{URL}{sent + n}")) for n in range(room)]
            before = clock.monotonic()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert all(when <= before for when in wire.times)
            assert len(wire.times) == sent + room
            sent += room
            await asyncio.gather(*begun)
            await asyncio.sleep(0.01)

    assert min(gaps(wire)) >= 0.5 - 1e-6


@pytest.mark.parametrize("asked", ["120", "Thu, 01 Jan 2026 00:02:00 GMT"])
def test_no_request_goes_out_while_a_host_asks_to_be_left_alone(asked: str) -> None:
    """X4, E2: Retry-After in seconds and as a date."""

    @in_virtual_time
    async def run() -> None:
        wire = ScriptedWire(in_turn(Answer(429, headers={"Retry-After": asked})))
        manners = Manners(delay=0.0, concurrency=8, wait_max=600.0)
        async with fetcher(wire, manners) as it:
            with pytest.raises(RateLimited) as caught:
                await it.get(URL)
            await asyncio.gather(*(it.get(f"{URL}{n}") for n in range(8)))

        assert caught.value.retry_after == pytest.approx(120.0, abs=0.1)
        assert wire.times[1] - wire.times[0] >= 119.99

    run()


@in_virtual_time
async def test_booked_starts_are_given_up_when_a_429_arrives_meanwhile() -> None:
    wire = ScriptedWire(in_turn(Answer(429, seconds=0.5, headers={"Retry-After": "60"})))
    async with fetcher(wire, Manners(delay=1.0, concurrency=8, wait_max=300.0)) as it:
        tasks = [asyncio.create_task(it.get(f"{URL}{n}")) for n in range(6)]
        failed = await asyncio.gather(*tasks, return_exceptions=True)

    assert sum(isinstance(each, RateLimited) for each in failed) == 1
    assert wire.times[1] - wire.times[0] >= 60.0
    assert min(gaps(wire)[1:]) >= 0.99


@in_virtual_time
async def test_a_storm_of_429_doubles_the_rest_and_success_forgives() -> None:
    wire = ScriptedWire(in_turn(*[Answer(429)] * 3))
    async with fetcher(wire, Manners(delay=0.0, pause_first=10.0, wait_max=3600.0)) as it:
        for _ in range(3):
            with pytest.raises(RateLimited):
                await it.get(URL)
        slowest = it.host(URL).gap
        for _ in range(45):
            await it.get(URL)

        assert gaps(wire)[:3] == pytest.approx([7.5, 15.0, 30.0], rel=0.05)
        assert slowest == 1.0
        assert it.host(URL).gap == 0.0


@in_virtual_time
async def test_a_slow_host_gets_one_request_at_a_time_on_average() -> None:
    wire = ScriptedWire(lambda _: Answer(seconds=4.0))
    async with fetcher(wire, Manners(delay=0.0, concurrency=8, wait_max=3600.0)) as it:
        await it.get(URL)
        await asyncio.gather(*(it.get(f"{URL}{n}") for n in range(8)))

    assert min(gaps(wire)[1:]) == pytest.approx(4.0, abs=0.01)


@in_virtual_time
async def test_a_refusal_changes_the_user_agent_and_a_round_of_them_ends_in_a_rest() -> None:
    """E2: 403 → other User-Agent"""
    wire = ScriptedWire(in_turn(*[Answer(403)] * 2))
    agents = ("one/1", "two/2")
    async with fetcher(wire, Manners(delay=0.0, ban_first=600.0), user_agents=agents) as it:
        with pytest.raises(Blocked):
            await it.get(URL)
        with pytest.raises(Blocked) as banned:
            await it.get(URL)
        with pytest.raises(HostResting) as resting:
            await it.get(URL)

    assert [call.headers["User-Agent"] for call in wire.calls] == ["one/1", "two/2"]
    assert banned.value.retry_after == pytest.approx(570.0)
    assert resting.value.retry_after == pytest.approx(570.0)


@in_virtual_time
async def test_a_dead_host_is_left_alone_by_its_breaker_and_others_go_on() -> None:
    """C5, X7"""
    wire = ScriptedWire(lambda call: Answer(503 if "dead" in call.url else 200, b"x"))
    async with fetcher(wire, Manners(delay=0.0, pause_first=0.0, gap_max=0.0)) as it:
        outcomes: list[type[BaseException] | None] = []
        for _ in range(30):
            try:
                await it.get("https://dead.example/")
                outcomes.append(None)
            except FetchError as error:
                outcomes.append(type(error))
            await it.get("https://alive.example/")

    assert outcomes == [Unavailable] * 10 + [HostResting] * 20
    assert len(wire.calls) == 10 + 30


@in_virtual_time
async def test_the_retries_of_all_pages_of_a_host_share_one_budget() -> None:
    numbers = count()
    wire = ScriptedWire(lambda _: Answer(500 if next(numbers) < 6 else 200))
    manners = Manners(delay=0.0, retries=3, retry_refill=100.0, breaker=None)
    async with fetcher(wire, manners) as it:
        waits: list[float | None] = []
        for n in range(6):
            with pytest.raises(Unavailable) as caught:
                await it.get(f"{URL}{n}")
            waits.append(caught.value.retry_after)

    assert waits == pytest.approx([None, None, None, 100.0, 200.0, 300.0], abs=1.0)


@in_virtual_time
async def test_a_restart_does_not_hammer_a_host_that_refused_us() -> None:
    wire = ScriptedWire(in_turn(*[Answer(403)]))
    manners = Manners(delay=0.0, ban_first=600.0)
    async with fetcher(wire, manners) as it:
        with pytest.raises(Blocked):
            await it.get(URL)
        kept = it.snapshot()
    await asyncio.sleep(100.0)
    async with fetcher(wire, manners) as again:
        again.restore(kept)
        with pytest.raises(HostResting) as resting:
            await again.get(URL)
        await asyncio.sleep(480.0)
        await again.get(URL)

    assert resting.value.retry_after == pytest.approx(470.0)
    assert len(wire.calls) == 2


@in_virtual_time
async def test_a_cancelled_fetch_gives_its_place_back() -> None:
    wire = ScriptedWire(lambda call: Answer(seconds=1e6 if "stuck" in call.url else 0.0))
    async with fetcher(wire, Manners(delay=0.0, concurrency=1)) as it:
        stuck = asyncio.create_task(it.get("https://shop.example/stuck"))
        await asyncio.sleep(1.0)
        waiting = asyncio.create_task(it.get(URL))
        await asyncio.sleep(1.0)
        stuck.cancel()

        assert (await waiting).status == 200
        assert it.host(URL).running == 0
