"""One request and its answer, at the host's turn, and what it teaches about the host."""

import asyncio
from typing import Final

from multidict import CIMultiDict

from dure.fetch.address import check_address, is_address, may_reach
from dure.fetch.body import ENCODINGS, read
from dure.fetch.failure import AddressRefused, FetchError, TimedOut
from dure.fetch.host import Host, Result
from dure.fetch.page import Page
from dure.fetch.policy import FetchPolicy, Judge
from dure.fetch.turn import Turns
from dure.fetch.url import Parts, split
from dure.fetch.verdict import retry_after
from dure.fetch.wire import Call, Reply, Wire
from dure.ports.clock import Clock, Dice

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


class Exchange:
    """Sends calls over a wire by the policy's rules. Redirects and robots.txt lie above it."""

    def __init__(self, policy: FetchPolicy, wire: Wire, clock: Clock, dice: Dice) -> None:
        self._policy = policy
        self._wire = wire
        self._clock = clock
        self._dice = dice
        self._turns = Turns(clock)

    def checked(self, url: str) -> Parts:
        """An address that may be asked for. Raises UrlRefused or AddressRefused."""
        parts = split(url)
        if is_address(parts.name):
            check_address(parts.name, self._policy.networks, parts.name)
        return parts

    async def page(
        self, host: Host, parts: Parts, call: Call, judge: Judge, *, cut: int | None = None
    ) -> Page:
        """The answer to a call. Raises FetchError, also for an answer that is judged a failure.

        A redirect that is to be followed is returned without being judged.
        """
        clock = self._clock
        begun = await self._turns.take(host, call.url)
        page: Page | None = None
        head = 0.0
        try:
            try:
                async with asyncio.timeout(call.timeouts.total):
                    reply = await self._send(self._dressed(host, parts, call))
                    head = clock.monotonic() - begun
                    try:
                        body = await read(reply, self._policy, cut=cut)
                    finally:
                        reply.close()
            except TimeoutError:
                raise TimedOut(f"No whole answer within {call.timeouts.total:g}s") from None
            page = Page(
                asked=call.url,
                url=call.url,
                status=reply.status,
                headers=reply.headers,
                body=body,
                elapsed=clock.monotonic() - begun,
            )
            self._learn_cookies(host, parts, page)
            failed = None if self._leads_on(page) else judge(page)
        except FetchError as error:
            failed = error
        except BaseException:
            # Cancelled, or a fault of ours: it says nothing about the host.
            host.unbook(clock.monotonic())
            self._turns.free(host)
            raise
        now = clock.monotonic()
        if failed is None:
            assert page is not None
            host.saw(Result(None, page.status, head), now)
            self._turns.free(host)
            return page
        raise self._failed(host, call, failed, page, head or now - begun)

    def _failed(
        self, host: Host, call: Call, failed: FetchError, page: Page | None, latency: float
    ) -> FetchError:
        """The failure with all that is known about it, after the host has learnt of it."""
        now, asked, status = self._clock.monotonic(), failed.retry_after, failed.status
        if page is not None:
            status = page.status
            if asked is None:
                asked = retry_after(page.headers.get("Retry-After"), self._clock.now())
        host.saw(Result(failed.failure, status, latency, asked), now, self._dice.draw())
        self._turns.free(host)
        if failed.failure.is_worth_a_retry:
            failed.retry_after = host.retry_after(now, asked)
        failed.about(call.url, host.name)
        return failed

    def _leads_on(self, page: Page) -> bool:
        return (
            page.status in REDIRECTS
            and self._policy.redirects_max > 0
            and "Location" in page.headers
        )

    async def _send(self, call: Call) -> Reply:
        reply = await self._wire.send(call)
        peer = reply.peer
        if peer is not None and not may_reach(peer, self._policy.networks):
            reply.close()
            raise AddressRefused(f"The answer came from {peer}, which may not be reached")
        return reply

    def _dressed(self, host: Host, parts: Parts, call: Call) -> Call:
        """The call with the headers every request of ours has."""
        headers = CIMultiDict(call.headers)
        headers.setdefault("Accept", _ACCEPT)
        headers["Accept-Encoding"] = ENCODINGS
        headers.setdefault("User-Agent", self._policy.user_agents[host.agent])
        if host.has_cookies and "Cookie" not in headers:
            line = host.cookies.header(
                parts.path, is_secure=parts.scheme == "https", now=self._clock.now()
            )
            if line:
                headers["Cookie"] = line
        return Call(call.method, call.url, headers, call.body, call.timeouts)

    def _learn_cookies(self, host: Host, parts: Parts, page: Page) -> None:
        if self._policy.cookies and "Set-Cookie" in page.headers:
            lines = page.headers.getall("Set-Cookie")
            host.cookies.take(lines, parts.path, self._clock.now())
