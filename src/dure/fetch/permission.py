"""Reading robots.txt of each origin once, and asking it before each fetch."""

import asyncio
import logging
from typing import Final

from dure.fetch.exchange import REDIRECTS, Exchange
from dure.fetch.failure import (
    AddressRefused,
    FetchError,
    HostResting,
    RedirectsEndless,
    RobotsDisallowed,
    RobotsUnreachable,
)
from dure.fetch.host import Host
from dure.fetch.hosts import Hosts
from dure.fetch.page import Page
from dure.fetch.policy import FetchPolicy
from dure.fetch.robots import SIZE_MAX, RobotsTxt
from dure.fetch.url import Parts, join
from dure.fetch.verdict import judge as by_status
from dure.fetch.wire import Call
from dure.ports.clock import Clock, Dice

_LOG: Final = logging.getLogger(__name__)


class Permissions:
    """The robots.txt of every origin asked so far."""

    def __init__(
        self, policy: FetchPolicy, exchange: Exchange, hosts: Hosts, clock: Clock, dice: Dice
    ) -> None:
        self._policy = policy
        self._exchange = exchange
        self._hosts = hosts
        self._clock = clock
        self._dice = dice
        self._known: dict[str, RobotsTxt] = {}
        self._reading: dict[str, asyncio.Task[RobotsTxt]] = {}

    async def ask(self, host: Host, parts: Parts) -> None:
        """Raise RobotsDisallowed or RobotsUnreachable unless this address may be fetched."""
        rules = self._known.get(parts.origin)
        if rules is None or rules.until <= self._clock.monotonic():
            rules = await self.rules(parts)
        host.crawl_delay = rules.crawl_delay
        if rules.allows(parts.href):
            return
        if rules.failures:
            left = max(rules.until - self._clock.monotonic(), 0.0)
            raise RobotsUnreachable(rules.why, url=parts.href, host=host.name, retry_after=left)
        raise RobotsDisallowed(
            rules.why or "robots.txt forbids this address", url=parts.href, host=host.name
        )

    async def rules(self, parts: Parts) -> RobotsTxt:
        """The rules of an origin, read by one task however many wait for them."""
        origin = parts.origin
        rules = self._known.get(origin)
        if rules is not None and rules.until > self._clock.monotonic():
            return rules
        task = self._reading.get(origin)
        if task is None:
            task = self._reading[origin] = asyncio.create_task(self._read(origin))
            task.add_done_callback(lambda _: self._reading.pop(origin, None))
        return await asyncio.shield(task)

    async def close(self) -> None:
        """End readings under way."""
        tasks = list(self._reading.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, origin: str) -> RobotsTxt:
        agent = self._policy.robots_agent
        try:
            page = await self._answer(f"{origin}/robots.txt")
        except (AddressRefused, HostResting):
            raise  # nothing was asked, so nothing was learnt
        except FetchError as error:
            _LOG.info("robots.txt of %s could not be read: %s", origin, error)
            now = self._clock.monotonic()
            earlier = self._known.get(origin)
            rules = RobotsTxt.unreachable(earlier, agent, now, self._dice.draw())
        else:
            until = self._clock.monotonic() + self._policy.robots_fresh
            rules = RobotsTxt.read(page.status, page.body, agent, until)
        if len(self._known) >= self._policy.hosts_max:
            del self._known[next(iter(self._known))]
        self._known[origin] = rules
        return rules

    async def _answer(self, url: str) -> Page:
        policy = self._policy
        for _ in range(policy.redirects_max + 1):
            parts = self._exchange.checked(url)
            host = self._hosts.of(parts.host)
            call = Call("GET", parts.href, {"Accept": "text/plain,*/*"}, None, policy.timeouts)
            page = await self._exchange.page(host, parts, call, _judge, cut=SIZE_MAX)
            target = page.headers.get("Location")
            if page.status not in REDIRECTS or target is None:
                return page
            url = join(parts.href, target)
        raise RedirectsEndless("robots.txt is redirected without end", url=url)


def _judge(page: Page) -> FetchError | None:
    """A failure only where the answer does not count as one to "may we?"."""
    return by_status(page) if page.status >= 500 or page.status == 429 else None
