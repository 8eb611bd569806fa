"""The shop: any number of products, found through lists, links or sitemaps (C1, Z3)."""

import re

import pytest

from dure.core.errors import ConfigError
from dure_sandbox.exchange import Request
from dure_sandbox.shop.product import WEEK_SECONDS
from dure_sandbox.shop.site import Shop, ShopOptions

NOW = 1_767_225_600.0


def ask(shop: Shop, target: str, now: float = NOW) -> str:
    answer = shop.answer(Request(target=target, host="shop.test", headers={}), now)
    assert answer.status == 200, answer
    return answer.body.decode()


def test_list_pages_lead_to_every_product_once() -> None:
    shop = Shop(1, ShopOptions(products=105, page_size=20))
    target, found = "/products?page=1", []
    while target:
        text = ask(shop, target)
        found += re.findall(r'class="name" href="/products/(\d+)"', text)
        following = re.search(r'<link rel="next" href="([^"]+)"', text)
        target = following[1] if following else ""

    assert found == [str(number) for number in range(105)]


def test_a_million_products_are_there_without_being_stored() -> None:
    shop = Shop(1, ShopOptions(products=1_000_000))

    assert shop.product(999_999, NOW).sku in ask(shop, "/products/999999")
    assert "상품 <b>1000000</b>개" in ask(shop, "/products?page=50000")


def test_a_product_page_shows_every_field_and_is_about_as_long_as_asked() -> None:
    shop = Shop(1, ShopOptions(page_bytes=20_000))
    text = ask(shop, "/products/7")
    each = shop.product(7, NOW)

    for shown in (each.name, each.brand, each.sku, f"{each.price:,}원", each.description):
        assert shown in text
    assert 18_000 < len(text.encode()) < 22_000


def test_prices_change_with_the_weeks_and_nothing_else_does() -> None:
    shop = Shop(1, ShopOptions())
    now, later = ([shop.product(n, t) for n in range(50)] for t in (NOW, NOW + WEEK_SECONDS))

    changed = [a for a, b in zip(now, later, strict=True) if a.price != b.price]
    assert 30 < len(changed) <= 50
    assert [each.name for each in now] == [each.name for each in later]


def test_sitemaps_name_every_product() -> None:
    shop = Shop(1, ShopOptions(products=2500))
    parts = re.findall(r"<loc>http://shop.test(/[^<]+)</loc>", ask(shop, "/sitemap.xml"))
    listed = [url for part in parts for url in re.findall(r"/products/(\d+)<", ask(shop, part))]

    assert listed == [str(number) for number in range(2500)]


@pytest.mark.parametrize("target", ["/products/10000", "/products?page=0", "/no", "/sitemap-0.xml"])
def test_what_the_shop_does_not_have_is_404(target: str) -> None:
    shop = Shop(1, ShopOptions())

    assert shop.answer(Request(target=target, headers={}), NOW).status == 404


def test_a_senseless_size_is_refused() -> None:
    with pytest.raises(ConfigError, match="page_size = 0"):
        ShopOptions(page_size=0)
