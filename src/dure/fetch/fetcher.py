"""The fetcher: one address in, one page out, by the operator's rules."""

import logging
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

from dure.fetch.exchange import REDIRECTS, Exchange
from dure.fetch.failure import RedirectsEndless
from dure.fetch.host import Host
from dure.fetch.hosts import Hosts
from dure.fetch.page import Page, Validators
from dure.fetch.permission import Permissions
from dure.fetch.policy import FetchPolicy, Judge, Robots
from dure.fetch.robots import RobotsTxt
from dure.fetch.url import join, split
from dure.fetch.wire import Call, Timeouts, Wire
from dure.ports.clock import Clock, Dice, SystemClock, SystemDice

_LOG: Final = logging.getLogger(__name__)
_POLICY: Final = FetchPolicy()
_CROSSING: Final = frozenset(
    {"accept", "accept-language", "if-none-match", "if-modified-since", "user-agent"}
)
"""Headers that may go to another origin than they were meant for."""


class Fetcher:
    """Fetches pages. One for each set of rules; used as an async context manager."""

    def __init__(
        self,
        policy: FetchPolicy = _POLICY,
        *,
        wire: Wire | None = None,
        clock: Clock | None = None,
        dice: Dice | None = None,
    ) -> None:
        self.policy = policy
        self._wire = wire
        self._clock: Clock = clock or SystemClock()
        self._dice: Dice = dice or SystemDice()
        self._hosts = Hosts(policy)
        self._exchange: Exchange
        self._permissions: Permissions

    async def __aenter__(self) -> Self:
        policy, clock, dice = self.policy, self._clock, self._dice
        if self._wire is None:
            from dure.fetch.aiohttp_wire import AiohttpWire  # noqa: PLC0415 - only where needed

            self._wire = AiohttpWire(policy)
        self._exchange = Exchange(policy, self._wire, clock, dice)
        self._permissions = Permissions(policy, self._exchange, self._hosts, clock, dice)
        if policy.robots is Robots.IGNORE and not policy.is_api:
            _LOG.info("robots.txt is not read: the operator decided so (robots=IGNORE)")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._permissions.close()
        if self._wire is not None:
            await self._wire.close()

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        validators: Validators | None = None,
        timeouts: Timeouts | None = None,
        judge: Judge | None = None,
    ) -> Page:
        """Fetch a page. With the validators of an earlier one it may come back not modified."""
        return await self.send(
            "GET", url, headers=headers, validators=validators, timeouts=timeouts, judge=judge
        )

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        validators: Validators | None = None,
        timeouts: Timeouts | None = None,
        judge: Judge | None = None,
    ) -> Page:
        """Send any request. Raises FetchError, which carries the page where there was one.

        `judge` says which answers are failures, where the policy's own judgement does not fit.
        """
        policy = self.policy
        own = {**(headers or {}), **_conditions(validators)}
        call = Call(method, url, own, body, timeouts or policy.timeouts)
        origin = ""
        for _ in range(policy.redirects_max + 1):
            parts = self._exchange.checked(call.url)
            call.url = parts.href
            if origin and parts.origin != origin:
                call.headers = _only_crossing(call.headers)
            origin = parts.origin
            host = self._hosts.of(parts.host)
            if policy.robots is Robots.OBEY:
                await self._permissions.ask(host, parts)
            page = await self._exchange.page(host, parts, call, judge or policy.judge)
            page.asked = url
            target = page.headers.get("Location") if page.status in REDIRECTS else None
            if target is None or not policy.redirects_max:
                return page
            call.url = join(call.url, target)
            if page.status == 303 or (page.status in {301, 302} and call.method == "POST"):
                call.method, call.body = "GET", None
                call.headers = _without_body(call.headers)
        raise RedirectsEndless(f"More than {policy.redirects_max} redirects", url=url)

    def host(self, url: str) -> Host:
        """The host an address belongs to: its pace, its rest, its breaker."""
        return self._hosts.of(split(url).host)

    def hosts(self) -> tuple[Host, ...]:
        """Every host this fetcher remembers."""
        return self._hosts.all()

    async def robots(self, url: str) -> RobotsTxt:
        """The robots.txt that applies to an address: what it allows, its sitemaps."""
        return await self._permissions.rules(self._exchange.checked(url))

    def snapshot(self) -> dict[str, Any]:
        """What a restart must remember about hosts, as built-in values."""
        return self._hosts.snapshot(self._clock.now(), self._clock.monotonic())

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Take up what `snapshot` gave, so that a restart does not hammer who refused us."""
        self._hosts.restore(kept, self._clock.now(), self._clock.monotonic())


def _conditions(validators: Validators | None) -> dict[str, str]:
    if validators is None:
        return {}
    said = {"If-None-Match": validators.etag, "If-Modified-Since": validators.last_modified}
    return {name: value for name, value in said.items() if value is not None}


def _only_crossing(headers: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in headers.items() if name.lower() in _CROSSING}


def _without_body(headers: Mapping[str, str]) -> Mapping[str, str]:
    return {
        name: value for name, value in headers.items() if not name.lower().startswith("content-")
    }
