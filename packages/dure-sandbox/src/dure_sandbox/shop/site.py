"""The shop as a site: a million products need no more memory than ten."""

import ipaddress
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from dure.core.errors import ConfigError
from dure_sandbox.exchange import Request, Response, html, plain
from dure_sandbox.lots import mixed
from dure_sandbox.shop.pages import Shelf, list_page, product_page
from dure_sandbox.shop.product import Product, product, week_of
from dure_sandbox.validators import validated

CACHE_BYTES_MAX: Final = 64 * 1024 * 1024
FIRST_HOST: Final = int(ipaddress.IPv4Address("127.0.0.1"))
ROBOTS: Final = "User-agent: *\nDisallow: /cart\nAllow: /\nSitemap: {origin}/sitemap.xml\n"
SITEMAP_URLS_MAX: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShopOptions:
    products: int = 10_000
    """On all hosts together; host number h of n has the products whose number leaves h."""
    page_size: int = 20
    hosts: int = 1
    page_bytes: int = 10_000
    """About how long a product page is."""
    links: int = 8
    """Other products that a product page links to."""
    robots: str = ROBOTS

    def __post_init__(self) -> None:
        for name, least, most in (
            ("products", 0, 1_000_000_000),
            ("page_size", 1, 1000),
            ("hosts", 1, 10_000),
            ("page_bytes", 0, 10_000_000),
            ("links", 0, 1000),
        ):
            if not least <= getattr(self, name) <= most:
                raise ConfigError(
                    f"The shop cannot have {name} = {getattr(self, name)}.",
                    f"Give a number from {least} to {most}.",
                )


class Shop:
    name = "shop"

    def __init__(self, seed: int, options: ShopOptions) -> None:
        self._seed = mixed(seed, 0x5409)
        self._options = options
        self._cache: OrderedDict[tuple[int, int], Response] = OrderedDict()
        self._cached_bytes = 0

    def answer(self, request: Request, now: float) -> Response:
        host = self._host_of(request)
        if host is None:
            return self.refuse(421)
        if request.method not in {"GET", "HEAD"}:
            return self.refuse(405)
        match request.path.strip("/").split("/"):
            case [""] | ["products"]:
                return self._list(request, host, now)
            case ["products", number] if number.isascii() and number.isdigit():
                return self._detail(request, host, int(number), now)
            case ["robots.txt"]:
                return plain(self._options.robots.replace("{origin}", request.origin))
            case ["sitemap.xml"]:
                return self._sitemaps(request, host)
            case [name] if name.startswith("sitemap-") and name.endswith(".xml"):
                return self._sitemap(request, host, name.removeprefix("sitemap-")[:-4])
            case ["about"]:
                return html("<!doctype html><title>소개</title><p>두레상회입니다.</p>")
        return self.refuse(404)

    def refuse(self, status: int) -> Response:
        return html(f"<!doctype html><title>{status}</title><h1>오류 {status}</h1>\n", status)

    def product(self, number: int, now: float) -> Product:
        """What the page of that number says now, for comparing what was collected."""
        return product(self._seed, number, week_of(self._seed, number, now))

    def numbers(self, host: int = 0) -> range:
        """The products that a host sells."""
        return range(host, self._options.products, self._options.hosts)

    def urls(self, first: str) -> Iterator[str]:
        """Where each host is, given the first: following addresses, or names in memory."""
        parts = urlsplit(first)
        port = f":{parts.port}" if parts.port else ""
        if self._options.hosts == 1:
            yield first
            return
        for number in range(self._options.hosts):
            name = (
                str(ipaddress.IPv4Address(FIRST_HOST + number))
                if port
                else str(parts.hostname).replace("shop", f"shop-{number}", 1)
            )
            yield f"{parts.scheme}://{name}{port}"

    def _host_of(self, request: Request) -> int | None:
        """Which of the hosts is asked: 127.0.0.1 and following, or shop-0, shop-1 by name."""
        if self._options.hosts == 1:
            return 0
        name = request.hostname
        try:
            number = int(ipaddress.IPv4Address(name)) - FIRST_HOST
        except ValueError:
            digits = name.partition(".")[0].rpartition("-")[2]
            number = int(digits) if digits.isascii() and digits.isdigit() else 0
        return number if 0 <= number < self._options.hosts else None

    def _list(self, request: Request, host: int, now: float) -> Response:
        asked = request.query.get("page", "1")
        numbers = self.numbers(host)
        size = self._options.page_size
        pages = max(1, -(-len(numbers) // size))
        if not (asked.isascii() and asked.isdigit() and 1 <= int(asked) <= pages):
            return self.refuse(404)
        page = int(asked)
        shown = numbers[(page - 1) * size : page * size]
        products = [self.product(number, now) for number in shown]
        return html(list_page(Shelf(page=page, pages=pages, total=len(numbers), products=products)))

    def _detail(self, request: Request, host: int, number: int, now: float) -> Response:
        numbers = self.numbers(host)
        if number not in numbers:
            return self.refuse(404)
        week = week_of(self._seed, number, now)
        response = self._cache.get((number, week))
        if response is None:
            place = numbers.index(number)
            related = [
                numbers[mixed(self._seed, number, 5, each) % len(numbers)]
                if each % 2
                else numbers[(place + 1 + each // 2) % len(numbers)]
                for each in range(self._options.links)
            ]
            each = product(self._seed, number, week)
            response = html(product_page(each, related, self._options.page_bytes))
            self._keep((number, week), response)
        return validated(request, response, tag=f"{number:x}-{week:x}")

    def _keep(self, key: tuple[int, int], response: Response) -> None:
        self._cache[key] = response
        self._cached_bytes += len(response.body)
        while self._cached_bytes > CACHE_BYTES_MAX:
            self._cached_bytes -= len(self._cache.popitem(last=False)[1].body)

    def _sitemaps(self, request: Request, host: int) -> Response:
        count = -(-len(self.numbers(host)) // SITEMAP_URLS_MAX)
        places = "".join(
            f"<sitemap><loc>{request.origin}/sitemap-{each}.xml</loc></sitemap>\n"
            for each in range(1, count + 1)
        )
        return _xml(f"<sitemapindex{_SITEMAP_NAMESPACE}>\n{places}</sitemapindex>\n")

    def _sitemap(self, request: Request, host: int, number: str) -> Response:
        if not (number.isascii() and number.isdigit()):
            return self.refuse(404)
        start = (int(number) - 1) * SITEMAP_URLS_MAX
        listed = self.numbers(host)[max(start, 0) : start + SITEMAP_URLS_MAX] if start >= 0 else ()
        if not listed:
            return self.refuse(404)
        places = "".join(
            f"<url><loc>{request.origin}/products/{each}</loc></url>\n" for each in listed
        )
        return _xml(f"<urlset{_SITEMAP_NAMESPACE}>\n{places}</urlset>\n")


_SITEMAP_NAMESPACE: Final = ' xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def _xml(text: str) -> Response:
    return plain(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}', kind="application/xml")
