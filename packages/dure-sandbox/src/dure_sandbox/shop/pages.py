"""The shop's HTML: list pages that name the next one, and product pages with their fields."""

from dataclasses import dataclass, field
from html import escape
from typing import Final

import msgspec

from dure_sandbox.shop.product import PRAISES, Product

_HEAD: Final = (
    '<!doctype html>\n<html lang="ko">\n<head>\n<meta charset="utf-8">\n'
    '<title>{title}</title>\n<link rel="stylesheet" href="/static/shop.css">\n{more}</head>\n'
    "<body>\n"
    '<header class="site"><a href="/">두레상회</a><nav><a href="/products">전체 상품</a>'
    '<a href="/about">소개</a></nav></header>\n<main>\n'
)
_TAIL: Final = (
    '</main>\n<footer class="site">두레상회 · 교환과 환불은 7일 안에</footer>\n</body>\n</html>\n'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """One list page."""

    page: int
    pages: int
    total: int
    products: list[Product] = field(default_factory=list)


def list_page(shelf: Shelf) -> str:
    more = ""
    if shelf.page < shelf.pages:
        more = f'<link rel="next" href="/products?page={shelf.page + 1}">\n'
    cards = "".join(_card(each) for each in shelf.products)
    return (
        _HEAD.format(title=f"전체 상품 {shelf.page}쪽", more=more)
        + f'<p class="total">상품 <b>{shelf.total}</b>개</p>\n<ul class="products">\n{cards}</ul>\n'
        + _pager(shelf)
        + _TAIL
    )


def _card(each: Product) -> str:
    return (
        f'<li class="product" data-id="{each.number}">'
        f'<a class="name" href="/products/{each.number}">{escape(each.name)}</a>'
        f'<span class="price">{each.price:,}원</span></li>\n'
    )


def _pager(shelf: Shelf) -> str:
    near = range(max(1, shelf.page - 4), min(shelf.pages, shelf.page + 5) + 1)
    links = "".join(
        f'<b class="here">{page}</b>'
        if page == shelf.page
        else f'<a href="/products?page={page}">{page}</a>'
        for page in near
    )
    if shelf.page < shelf.pages:
        links += f'<a class="next" rel="next" href="/products?page={shelf.page + 1}">다음</a>'
    return f'<nav class="pager">{links}</nav>\n'


def product_page(each: Product, related: list[int], page_bytes: int) -> str:
    name = escape(each.name)
    facts = {
        "@context": "https://schema.org",
        "@type": "Product",
        "sku": each.sku,
        "name": each.name,
        "brand": each.brand,
        "offers": {"@type": "Offer", "price": each.price, "priceCurrency": "KRW"},
    }
    script = msgspec.json.encode(facts).decode().replace("</", "<\\/")
    stock = f"재고 {each.stock}개" if each.stock else "품절"
    links = "".join(f'<li><a href="/products/{n}">상품 {n}</a></li>' for n in related)
    text = (
        _HEAD.format(title=name, more=f'<script type="application/ld+json">{script}</script>\n')
        + f'<article class="product-detail" data-id="{each.number}">\n'
        f'<h1 class="name">{name}</h1>\n<p class="brand">{escape(each.brand)}</p>\n'
        f'<p class="category">{each.category}</p>\n'
        f'<p class="price"><del>{each.list_price:,}원</del> <strong>{each.price:,}원</strong></p>\n'
        f'<p class="rating" data-value="{each.rating}">별점 {each.rating} '
        f'(<span class="reviews">{each.review_count:,}</span>)</p>\n<p class="stock">{stock}</p>\n'
        f'<table class="spec"><tr><th>품번</th><td class="sku">{each.sku}</td></tr>'
        f"<tr><th>재질</th><td>{each.material}</td></tr><tr><th>색상</th><td>{each.colour}</td></tr>"
        f"<tr><th>무게</th><td>{each.weight_grams}g</td></tr></table>\n"
        f'<div class="description"><p>{each.description}</p></div>\n</article>\n'
        f'<ul class="related">{links}</ul>\n'
    )
    return text + _filling(page_bytes - len(text.encode()) - len(_TAIL.encode())) + _TAIL


_ONE_REVIEW: Final = "".join(f'<p class="review">{praise}.</p>\n' for praise in PRAISES)
_ONE_REVIEW_BYTES: Final = len(_ONE_REVIEW.encode())


def _filling(size: int) -> str:
    """Reviews, so that a page is about as long as pages are."""
    count = max(0, round(size / _ONE_REVIEW_BYTES))
    return f'<section class="reviews">\n{_ONE_REVIEW * count}</section>\n' if count else ""
