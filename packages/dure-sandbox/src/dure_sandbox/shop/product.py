"""Products by number: every field is drawn from the seed, the price also from the week."""

from dataclasses import dataclass
from typing import Final

from dure_sandbox.lots import dice, drawn, mixed

WEEK_SECONDS: Final = 7 * 86_400

BRANDS: Final = (
    *("한결", "도담", "누리온", "라온하우스", "미리내", "가온전자", "솔빛", "다온", "아라", "해든"),
    *("Norden", "Bluefield", "Kestrel", "Monoform", "Lumen & Co"),
)
CATEGORIES: Final = {
    "주방": ("전기포트", "프라이팬", "칼세트", "토스터", "믹서기", "도마", "머그컵"),
    "생활가전": ("공기청정기", "가습기", "무선청소기", "선풍기", "제습기", "다리미"),
    "디지털": ("무선이어폰", "기계식키보드", "마우스", "모니터", "보조배터리", "스피커"),
    "침구": ("베개", "이불", "매트리스커버", "담요"),
    "캠핑": ("텐트", "랜턴", "코펠", "침낭", "접이식의자"),
    "문구": ("만년필", "노트", "다이어리", "필통", "스테이플러"),
}
MATERIALS: Final = ("스테인리스", "알루미늄", "대나무", "면", "재생 플라스틱", "유리", "세라믹")
COLOURS: Final = ("화이트", "차콜", "네이비", "올리브", "베이지", "레드", "민트")
PRAISES: Final = (
    "매일 쓰는 물건일수록 손에 잘 맞아야 합니다",
    "불필요한 기능을 덜어 내고 꼭 필요한 것만 남겼습니다",
    "국내 공장에서 검수를 거쳐 출고합니다",
    "분리해서 씻을 수 있어 관리가 쉽습니다",
    "소음을 줄이기 위해 내부 구조를 새로 설계했습니다",
    "포장재는 모두 재활용할 수 있습니다",
    "구매 후 1년 동안 무상으로 수리해 드립니다",
    "선물용 포장을 고를 수 있습니다",
    "같은 계열의 다른 제품과 색을 맞추어 쓸 수 있습니다",
    "오래 써도 변색이 적은 재질을 골랐습니다",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    number: int
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
    material: str
    colour: str
    weight_grams: int
    description: str


def week_of(seed: int, number: int, now: float) -> int:
    """Which price holds; products change theirs on different days."""
    return int(now + WEEK_SECONDS * drawn(seed, number, 1)) // WEEK_SECONDS


def product(seed: int, number: int, week: int) -> Product:
    draw = dice(seed, number, 2)
    category = draw.choice(tuple(CATEGORIES))
    noun = draw.choice(CATEGORIES[category])
    brand = draw.choice(BRANDS)
    colour = draw.choice(COLOURS)
    list_price = draw.randint(30, 4000) * 100
    discount = mixed(seed, number, 3, week) % 7 * 5
    description = ". ".join(draw.sample(PRAISES, draw.randint(3, 6)))
    return Product(
        number=number,
        sku=f"{mixed(seed, number, 4) % 36**6:08X}-{number}",
        name=f"{brand} {noun} {draw.choice('ABCDEFGHKMRSTX')}{draw.randint(10, 990)} {colour}",
        brand=brand,
        category=category,
        price=list_price * (100 - discount) // 1000 * 10,
        list_price=list_price,
        rating=draw.randint(20, 50) / 10,
        review_count=int(draw.paretovariate(0.9)) % 20_000,
        stock=draw.choice((0, *range(1, 200))),
        material=draw.choice(MATERIALS),
        colour=colour,
        weight_grams=draw.randint(5, 900) * 10,
        description=f"{description}.",
    )
