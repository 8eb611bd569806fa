"""The sandbox as a whole: sites, faults and the log, on sockets or in memory."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from dure.core.errors import ConfigError
from dure.ports.clock import Clock, SystemClock
from dure_sandbox.ai.site import Ai, AiOptions
from dure_sandbox.control import PREFIX, Control
from dure_sandbox.delivery import Delivery, Head, Step, Steps
from dure_sandbox.exchange import Request, Response, Site
from dure_sandbox.faults.active import Faults
from dure_sandbox.faults.effects import strike
from dure_sandbox.faults.fault import Fault
from dure_sandbox.listener import Listener
from dure_sandbox.log import Log
from dure_sandbox.news.site import ARTICLE_HOST, LIST_HOST, News, NewsOptions
from dure_sandbox.shop.site import Shop, ShopOptions
from dure_sandbox.wire import SandboxWire

SiteT = TypeVar("SiteT", bound=Site)

MEMORY_DOMAIN: Final = "sandbox.test"
"""Where sites live when there are no sockets; the name is reserved, so nothing real has it."""


OPENAI_HOST: Final = "api.openai.com"
"""In memory the real names of hosts lead here too, so that real settings can be tried."""


class Place(Generic[SiteT]):
    """Where a site is, and the site itself to compare with what was collected."""

    def __init__(self, site: SiteT) -> None:
        self.site = site
        self.url = f"http://{site.name}.{MEMORY_DOMAIN}"

    @property
    def name(self) -> str:
        return self.site.name


class Sandbox:
    """Outside services on this machine.

    As a context manager it listens on sockets. Without, `wire()` answers in memory, also in
    virtual time. Both see the same sites, faults and log.
    """

    def __init__(
        self,
        *,
        seed: int = 1,
        host: str = "127.0.0.1",
        port: int = 0,
        news: NewsOptions | None = None,
        shop: ShopOptions | None = None,
        ai: AiOptions | None = None,
        faults: Iterable[Fault] = (),
        log_file: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        if not 0 <= port <= 65_000:
            raise ConfigError(f"There is no port {port}.", "Give 0 (any) or up to 65000.")
        self.clock: Clock = clock or SystemClock()
        self.news = Place(News(seed, news or NewsOptions()))
        self.shop = Place(Shop(seed, shop or ShopOptions()))
        self.ai = Place(Ai(seed, ai or AiOptions()))
        self.faults = Faults(seed, self.clock)
        for fault in faults:
            self.faults.add(fault)
        self.log = Log(log_file)
        self._control = Control(
            self.faults, self.log, lambda: {each.name: each.url for each in self.places}
        )
        self._host, self._port = host, port
        self._has_many_hosts = shop is not None and shop.hosts > 1
        self._listeners: list[Listener] = []

    @property
    def places(self) -> tuple[Place[News] | Place[Shop] | Place[Ai], ...]:
        return self.news, self.shop, self.ai

    async def __aenter__(self) -> Self:
        try:
            ports = range(self._port, self._port + 3) if self._port else (0, 0, 0)
            for place, port in zip(self.places, ports, strict=True):
                await self._open(place, port)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        for each in self._listeners:
            await each.close()
        self._listeners.clear()
        self.log.close()

    def shop_urls(self) -> Iterator[str]:
        """Where each host of the shop is."""
        return self.shop.site.urls(self.shop.url)

    def respond(self, site: Site, request: Request) -> Delivery:
        """Answer one request, as a fault leaves the answer, and note it."""
        if request.target.startswith(PREFIX):
            return self._control.answer(request)
        now = self.clock.now()
        fault = self.faults.pick(site.name, request, now)
        if fault is None:
            response = site.answer(request, now)
            self.log.note(site.name, request, response.status, "", now)
            return response
        delivery = strike(fault, request, site.answer(request, now), site)
        if isinstance(delivery, Response):
            status = delivery.status
        else:
            delivery, status = _with_status(delivery)
        self.log.note(site.name, request, status, fault.kind, now)
        return delivery

    def wire(self) -> SandboxWire:
        """The sites in memory, for `dure.fetch`: without sockets, on whatever time the loop has."""
        return SandboxWire(self)

    def site_at(self, host: str) -> Site | None:
        """Which site a host belongs to, in memory."""
        name = host.rpartition(":")[0] or host
        if name in {LIST_HOST, ARTICLE_HOST}:
            return self.news.site
        if name == OPENAI_HOST:
            return self.ai.site
        first, _, domain = name.partition(".")
        kind = first.partition("-")[0]
        if domain == MEMORY_DOMAIN:
            return next((each.site for each in self.places if each.name == kind), None)
        return None

    async def _open(self, place: Place[News] | Place[Shop] | Place[Ai], port: int) -> None:
        site: Site = place.site
        listener = Listener(lambda request: self.respond(site, request))
        self._listeners.append(listener)
        is_spread = site.name == "shop" and self._has_many_hosts
        try:
            await listener.open(self._host, port, has_many_hosts=is_spread)
        except OSError as error:
            raise ConfigError(
                f"The sandbox cannot listen on {self._host}:{port}: {error.strerror}.",
                "Choose another --port, or end what listens there.",
            ) from error
        place.url = f"http://{self._host}:{listener.port}"


def _with_status(steps: Steps) -> tuple[Steps, int]:
    """The same steps, and the status they will send; 0 when they break off before that."""
    seen: list[Step] = []
    for step in steps:
        seen.append(step)
        if isinstance(step, Head):
            return chain(seen, steps), step.status
    return iter(seen), 0
