"""A product: read from its page, and saved as one row for each address."""

import re
from dataclasses import asdict, dataclass
from typing import Final
from urllib.parse import urlsplit

from dure import Write
from dure.crawl import Missing, Page

_NUMBER: Final = re.compile(r"\d[\d,]*")
_SAVE: Final = (
    "insert into catalog_product (url, host, sku, name, brand, category, price, list_price, "
    "rating, review_count, stock, material, colour, weight_grams, description, session, saved_at, "
    "saves) values (:url, :host, :sku, :name, :brand, :category, :price, :list_price, :rating, "
    ":review_count, :stock, :material, :colour, :weight_grams, :description, :session, :at, 1) on "
    "conflict (url) do update set host = excluded.host, sku = excluded.sku, name = excluded.name, "
    "brand = excluded.brand, category = excluded.category, price = excluded.price, list_price = "
    "excluded.list_price, rating = excluded.rating, review_count = excluded.review_count, stock = "
    "excluded.stock, material = excluded.material, colour = excluded.colour, weight_grams = "
    "excluded.weight_grams, description = excluded.description, session = excluded.session, "
    "saved_at = excluded.saved_at, saves = catalog_product.saves + 1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """What a product page says."""

    url: str
    host: str
    sku: str
    name: str
    brand: str
    category: str
    price: int
    """Won."""
    list_price: int
    rating: float
    review_count: int
    stock: int
    """0 when it is sold out."""
    material: str
    colour: str
    weight_grams: int
    description: str


def read_product(page: Page) -> Product:
    """The product of a page. Raises Missing, or ValueError for a value that makes no sense."""
    spec = {
        row.css_first("th").text(): row.css_first("td").text()  # type: ignore[union-attr]
        for row in page.all("table.spec tr")
        if row.css_first("th") is not None and row.css_first("td") is not None
    }
    stock = page.text(".product-detail .stock")
    return Product(
        url=page.url,
        host=urlsplit(page.url).netloc,
        sku=page.text(".spec .sku"),
        name=page.text(".product-detail h1.name"),
        brand=page.text(".product-detail .brand"),
        category=page.text(".product-detail .category"),
        price=_number(page, page.text(".product-detail .price strong")),
        list_price=_number(page, page.text(".product-detail .price del")),
        rating=float(page.attr(".product-detail .rating", "data-value")),
        review_count=_number(page, page.text(".product-detail .reviews")),
        stock=0 if stock == "품절" else _number(page, stock),
        material=_of(page, spec, "재질"),
        colour=_of(page, spec, "색상"),
        weight_grams=_number(page, _of(page, spec, "무게")),
        description=page.text(".product-detail .description"),
    )


def save(product: Product, session: str, at: float) -> Write:
    """The statement that saves a product, together with its page's job."""
    return Write(_SAVE, {**asdict(product), "session": session, "at": at})


def _number(page: Page, text: str) -> int:
    found = _NUMBER.search(text)
    if found is None:
        raise Missing(f"{text!r} holds no number at {page.url}")
    return int(found[0].replace(",", ""))


def _of(page: Page, spec: dict[str, str], name: str) -> str:
    if name not in spec:
        raise Missing(f"the table has no {name!r} at {page.url}")
    return spec[name].strip()
