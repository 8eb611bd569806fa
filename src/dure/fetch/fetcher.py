"""The fetcher: one address in, one page out, by the operator's rules."""

from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

from dure.fetch.host import Host
from dure.fetch.page import Page, Validators
from dure.fetch.policy import FetchPolicy, Judge
from dure.fetch.url import split
from dure.fetch.wire import Call, Timeouts, Wire
from dure.ports.clock import Clock, Dice, SystemClock, SystemDice

_POLICY: Final = FetchPolicy()


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
        self._hosts: dict[str, Host] = {}

    async def __aenter__(self) -> Self:
        if self._wire is None:
            from dure.fetch.aiohttp_wire import AiohttpWire  # noqa: PLC0415

            self._wire = AiohttpWire(self.policy)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._wire is not None:
            await self._wire.close()

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        validators: Validators | None = None,
        timeouts: Timeouts | None = None,
    ) -> Page:
        """Fetch a page. With the validators of an earlier one it may come back not modified."""
        return await self.send(
            "GET", url, headers=headers, validators=validators, timeouts=timeouts
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
        assert self._wire is not None, "use `async with Fetcher(...) as fetcher`"
        sent = dict(headers or {})
        if validators is not None and validators.etag is not None:
            sent["If-None-Match"] = validators.etag
        if validators is not None and validators.last_modified is not None:
            sent["If-Modified-Since"] = validators.last_modified
        call = Call(method, split(url).href, sent, body, timeouts or self.policy.timeouts)
        reply = await self._wire.send(call)
        data = b"".join([chunk async for chunk in reply.chunks()])
        page = Page(asked=url, url=call.url, status=reply.status, headers=reply.headers, body=data)
        reply.close()
        failed = (judge or self.policy.judge)(page)
        if failed is not None:
            raise failed
        return page

    def host(self, url: str) -> Host:
        """The host an address belongs to: its pace, its rest, its breaker."""
        name = split(url).host
        host = self._hosts.get(name)
        if host is None:
            manners = self.policy.manners_of(name)
            host = Host(name, manners, agents=len(self.policy.user_agents))
            self._hosts[name] = host
        return host
