"""The eight economy sections and who publishes in them."""

from dataclasses import dataclass
from typing import Final

ECONOMY: Final = "101"

SECTIONS: Final = {
    "259": "금융",
    "258": "증권",
    "261": "산업/재계",
    "771": "중기/벤처",
    "260": "부동산",
    "262": "글로벌 경제",
    "310": "생활경제",
    "263": "경제 일반",
}
"""By the number that stands in the address of the list."""

SECTION_IDS: Final = tuple(SECTIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    oid: str
    name: str
    charset: str = "utf-8"
    says_charset_in_header: bool = True
    """Else only a meta element says it, as on pages that were never touched again."""
    is_english: bool = False


PRESSES: Final = (
    Press(oid="001", name="두레통신"),
    Press(oid="009", name="매일경제신보"),
    Press(oid="011", name="서울금융일보"),
    Press(oid="014", name="한강경제"),
    Press(oid="015", name="새벽경제"),
    Press(oid="018", name="오늘의시장"),
    Press(oid="023", name="동방일보"),
    Press(oid="025", name="중앙상보"),
    Press(oid="032", name="들녘신문"),
    Press(oid="050", name="비즈나루"),
    Press(oid="055", name="누리방송"),
    Press(oid="092", name="디지털포구"),
    Press(oid="119", name="데일리장터"),
    Press(oid="277", name="아침경제"),
    Press(oid="366", name="조선비즈니스리뷰"),
    Press(oid="421", name="뉴스두물"),
    Press(oid="629", name="더팩트라인", charset="euc-kr"),
    Press(oid="648", name="비즈한빛", charset="euc-kr", says_charset_in_header=False),
    Press(oid="640", name="Korea Ledger", is_english=True),
)
