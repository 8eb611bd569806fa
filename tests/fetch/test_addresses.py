"""Addresses that must not be reached are not, however they are written or come about."""

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from dure.fetch import Fetcher, FetchPolicy, Manners, Robots
from dure.fetch.address import may_reach
from dure.fetch.aiohttp_wire import AiohttpWire
from dure.fetch.failure import AddressRefused, UrlRefused
from dure.testing import in_virtual_time
from dure.testing.virtual import VirtualClock
from dure.testing.wire import Answer, ScriptedWire

if TYPE_CHECKING:
    from tests.fetch.conftest import Serve

RULES = FetchPolicy(robots=Robots.IGNORE, manners=Manners(delay=0.0))

INNER = [
    *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
    *("100.64.0.1", "224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "240.0.0.1"),
    *("168.63.129.16", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254"),
    *("ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1"),
    *("64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001:db8::1", "2001:0:4136:e378:8000:63bf:80ff:fffe"),
    *("fec0::1", "not an address", ""),
]


@pytest.mark.parametrize("address", INNER)
def test_inner_addresses_are_not_reached(address: str) -> None:
    """Z5"""
    assert not may_reach(address, ())


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "223.130.192.247", "2606:4700:4700::1111", "::ffff:8.8.8.8"]
)
def test_public_addresses_are_reached(address: str) -> None:
    assert may_reach(address, ())


def test_an_allowed_network_opens_only_itself() -> None:
    policy = FetchPolicy(allow=("127.0.0.0/8", "fd00::/8"))

    assert may_reach("127.0.0.9", policy.networks)
    assert may_reach("::ffff:127.0.0.9", policy.networks)
    assert may_reach("fd00::1", policy.networks)
    assert not may_reach("10.0.0.1", policy.networks)


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.1/", "http://0x7f000001/", "http://2130706433/", "http://017700000001/"),
        *("http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://169.254.169.254/latest/"),
        *("http://１２７.0.0.1/", "http://user@127.0.0.1/", "http://127.0.0.1:8080/"),
    ],
)
@in_virtual_time
async def test_an_address_in_any_spelling_is_refused_before_anything_is_sent(url: str) -> None:
    """Z5"""
    wire = ScriptedWire(lambda _: Answer())
    async with Fetcher(RULES, wire=wire, clock=VirtualClock()) as fetcher:
        with pytest.raises(AddressRefused):
            await fetcher.get(url)

    assert wire.calls == []


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://a.example/", "data:text/html,x", "javascript:1", "//x", ""]
)
@in_virtual_time
async def test_only_http_and_https_are_fetched(url: str) -> None:
    wire = ScriptedWire(lambda _: Answer())
    async with Fetcher(RULES, wire=wire, clock=VirtualClock()) as fetcher:
        with pytest.raises(UrlRefused):
            await fetcher.get(url)

    assert wire.calls == []


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("http://169.254.169.254/latest/meta-data/", AddressRefused),
        ("//[::1]/", AddressRefused),
        ("file:///etc/passwd", UrlRefused),
    ],
)
@in_virtual_time
async def test_a_redirect_leads_nowhere_an_address_may_not(
    target: str, error: type[Exception]
) -> None:
    """Z5"""
    wire = ScriptedWire(lambda _: Answer(302, headers={"Location": target}))
    async with Fetcher(RULES, wire=wire, clock=VirtualClock()) as fetcher:
        with pytest.raises(error):
            await fetcher.get("https://shop.example/")

    assert len(wire.calls) == 1


@in_virtual_time
async def test_an_answer_from_an_inner_address_is_not_read() -> None:
    wire = ScriptedWire(lambda _: Answer(peer="10.0.0.7"))
    async with Fetcher(RULES, wire=wire, clock=VirtualClock()) as fetcher:
        with pytest.raises(AddressRefused):
            await fetcher.get("https://shop.example/")


class Names(AbstractResolver):
    """A name server that gives each answer once: the second lookup finds another address."""

    def __init__(self, *addresses: str) -> None:
        self.left = list(addresses)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found: dict[str, Any] = {
            "hostname": host,
            "host": self.left.pop(0),
            "port": port,
            "family": socket.AF_INET,
            "proto": 0,
            "flags": 0,
        }
        return [ResolveResult(**found)]  # type: ignore[typeddict-item]

    async def close(self) -> None:
        """Nothing is open."""


async def test_a_name_that_stands_for_an_inner_address_is_refused() -> None:
    """Z5"""
    wire = AiohttpWire(RULES, resolver=Names("127.0.0.1"))
    async with Fetcher(RULES, wire=wire) as fetcher:
        with pytest.raises(AddressRefused):
            await fetcher.get("http://rebind.example/")


async def test_the_connection_goes_to_the_address_that_was_checked(serve: "Serve") -> None:
    """Z5: a second lookup, which would find another address, does not happen"""
    asked: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(b"request")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

    policy = RULES.but(allow=("127.0.0.0/8",))
    names = Names("127.0.0.1")
    async with serve(handle) as url:
        port = url.rpartition(":")[2]
        async with Fetcher(policy, wire=AiohttpWire(policy, resolver=names)) as fetcher:
            page = await fetcher.get(f"http://name.example:{port}/")

    assert page.body == b"ok"
    assert asked == [b"request"]
    assert names.left == []
