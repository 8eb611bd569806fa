"""robots.txt is read once and obeyed, also when it cannot be read."""

import asyncio
from collections.abc import Callable

import pytest

from dure.fetch import Call, Fetcher, FetchPolicy, Manners, Robots
from dure.fetch.failure import ConnectFailed, HostResting, RobotsDisallowed, RobotsUnreachable
from dure.fetch.robots import SIZE_MAX, RobotsTxt
from dure.testing import in_virtual_time
from dure.testing.virtual import VirtualClock
from dure.testing.wire import Answer, ScriptedWire

SITE = "https://site.example"
MANNERS = Manners(delay=0.0, wait_max=1.0)
IGNORING = FetchPolicy(robots=Robots.IGNORE)


def crawler(robots: Callable[[Call], Answer], **rules: object) -> tuple[Fetcher, ScriptedWire]:
    wire = ScriptedWire(lambda _: Answer(), robots)
    policy = FetchPolicy(**{"manners": MANNERS, **rules})  # type: ignore[arg-type]
    return Fetcher(policy, wire=wire, clock=VirtualClock()), wire


def text(body: str, status: int = 200) -> Callable[[Call], Answer]:
    return lambda _: Answer(status, body.encode())


@in_virtual_time
async def test_what_robots_txt_forbids_is_never_asked() -> None:
    fetcher, wire = crawler(text("User-agent: *\nDisallow: /private\nAllow: /private/open"))
    async with fetcher:
        await fetcher.get(f"{SITE}/public")
        await fetcher.get(f"{SITE}/private/open/page")
        with pytest.raises(RobotsDisallowed):
            await fetcher.get(f"{SITE}/private/page")

    assert [call.url for call in wire.calls] == [f"{SITE}/public", f"{SITE}/private/open/page"]


@in_virtual_time
async def test_the_rules_for_our_own_name_come_before_those_for_all() -> None:
    rules = "User-agent: *\nDisallow: /\n\nUser-agent: other\nUser-agent: dure\nDisallow: /a\n"
    fetcher, _ = crawler(text(rules))
    async with fetcher:
        assert (await fetcher.get(f"{SITE}/b")).status == 200
        with pytest.raises(RobotsDisallowed):
            await fetcher.get(f"{SITE}/a")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418])
@in_virtual_time
async def test_a_missing_file_allows_everything(status: int) -> None:
    """RFC 9309, 2.3.1.3"""
    fetcher, wire = crawler(text("User-agent: *\nDisallow: /", status))
    async with fetcher:
        assert (await fetcher.get(f"{SITE}/x")).status == 200

    assert wire.asked_robots == 1


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_a_file_that_cannot_be_read_forbids_everything_until_it_can(status: int) -> None:
    """RFC 9309, 2.3.1.4"""

    @in_virtual_time
    async def run() -> None:
        broken = True
        robots = lambda _: Answer(status if broken else 200, b"User-agent: *\nAllow: /\n")
        fetcher, wire = crawler(robots, manners=Manners(delay=0.0, pause_first=0.0))
        async with fetcher:
            for _ in range(5):
                with pytest.raises(RobotsUnreachable) as caught:
                    await fetcher.get(f"{SITE}/x")
            asked = wire.asked_robots
            broken = False
            await asyncio.sleep(61.0)
            page = await fetcher.get(f"{SITE}/x")

        assert asked == 1
        assert caught.value.retry_after == pytest.approx(54.0, abs=6.1)
        assert page.status == 200

    run()


@in_virtual_time
async def test_an_unreachable_host_forbids_everything_and_an_earlier_copy_goes_on() -> None:
    answers = [Answer(200, b"User-agent: *\nDisallow: /a"), Answer(error=ConnectFailed("down"))]
    fetcher, wire = crawler(lambda _: answers.pop(0), robots_fresh=3600.0)
    async with fetcher:
        await fetcher.get(f"{SITE}/b")
        await asyncio.sleep(3601.0)
        await fetcher.get(f"{SITE}/b")
        with pytest.raises(RobotsUnreachable):
            await fetcher.get(f"{SITE}/a")

    assert wire.asked_robots == 2


@in_virtual_time
async def test_a_thousand_fetches_read_robots_txt_once() -> None:
    fetcher, wire = crawler(lambda _: Answer(404, seconds=0.5))
    async with fetcher:
        await asyncio.gather(*(fetcher.get(f"{SITE}/{n}") for n in range(1000)))

    assert wire.asked_robots == 1


@in_virtual_time
async def test_a_crawl_delay_is_obeyed() -> None:
    fetcher, wire = crawler(text("User-agent: *\nCrawl-delay: 7\n"), manners=Manners(delay=0.1))
    async with fetcher:
        await fetcher.get(f"{SITE}/a")
        await fetcher.get(f"{SITE}/b")
        with pytest.raises(HostResting):
            await asyncio.gather(*(fetcher.get(f"{SITE}/{n}") for n in range(5)))

    assert wire.times[1] - wire.times[0] == pytest.approx(7.0, abs=0.01)


@in_virtual_time
async def test_ignoring_robots_txt_is_a_visible_decision_of_the_operator() -> None:
    wire = ScriptedWire(lambda _: Answer(), text("User-agent: *\nDisallow: /"))
    policy = FetchPolicy(manners=MANNERS, robots=Robots.IGNORE)
    fetcher = Fetcher(policy, wire=wire, clock=VirtualClock())
    async with fetcher:
        await fetcher.get(f"{SITE}/a")

    assert wire.asked_robots == 0
    assert fetcher.policy.robots is Robots.IGNORE


@pytest.mark.parametrize(("policy", "said"), [(FetchPolicy.for_api(), 0), (IGNORING, 1)])
async def test_only_a_crawl_says_that_robots_txt_is_ignored(
    policy: FetchPolicy, said: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "dure.fetch")
    async with Fetcher(policy, wire=ScriptedWire(lambda _: Answer())):
        pass

    assert said == caplog.text.count("robots.txt is not read")


@in_virtual_time
async def test_a_redirected_page_is_asked_of_the_new_host_s_robots_txt() -> None:
    robots = lambda call: Answer(
        200, b"User-agent: *\nDisallow: /" if "two" in call.url else b"User-agent: *\nAllow: /"
    )
    wire = ScriptedWire(lambda _: Answer(302, headers={"Location": "https://two.example/"}), robots)
    async with Fetcher(FetchPolicy(manners=MANNERS), wire=wire, clock=VirtualClock()) as fetcher:
        with pytest.raises(RobotsDisallowed):
            await fetcher.get("https://one.example/")

    assert len(wire.calls) == 1


HOSTILE = {
    "agents times rules": "\n".join(
        [f"User-agent: bot{n}" for n in range(14_000)] + ["Disallow: /x"] * 14_000
    ),
    "agents again and again": "User-agent: a\nDisallow: /b\nUser-agent: c\n" * 12_000,
    "patterns": "User-agent: *\n" + "Disallow: /*a*a*a*a*a*b$\n" * 20_000,
    "one line": "Disallow: " + "/" * 600_000,
    "no text": "\0\xff" * 200_000,
}


@pytest.mark.timeout(20)  # naive parsing of the first takes minutes and gigabytes
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_robots_txt_costs_little(name: str) -> None:
    body = HOSTILE[name].encode("utf-8", "replace")
    rules = RobotsTxt.read(200, body[:SIZE_MAX], "dure", 0.0)
    for _ in range(100):
        assert rules.allows(f"{SITE}/" + "a" * 1000) is (name != "patterns")


def test_more_patterns_than_can_be_weighed_forbid_the_site() -> None:
    rules = RobotsTxt.read(200, HOSTILE["patterns"].encode(), "dure", 0.0)

    assert not rules.allows(f"{SITE}/x")
    assert "patterns" in rules.why


def test_sitemaps_are_known() -> None:
    rules = RobotsTxt.read(200, b"Sitemap: https://a.example/s.xml\n", "dure", 0.0)

    assert rules.sitemaps == ("https://a.example/s.xml",)
