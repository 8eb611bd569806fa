"""The eight economy sections: their names for people, for labels, and in addresses."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of the paper; it is also the lane of all jobs about its articles."""

    name: str
    sid2: str
    """Its number in the addresses of the site."""
    korean: str
    english: str


SECTIONS: Final = {
    section.name: section
    for section in (
        Section(name="finance", sid2="259", korean="금융", english="Finance"),
        Section(name="securities", sid2="258", korean="증권", english="Securities"),
        Section(name="industry", sid2="261", korean="산업/재계", english="Industry"),
        Section(name="venture", sid2="771", korean="중기/벤처", english="Small business"),
        Section(name="real-estate", sid2="260", korean="부동산", english="Real estate"),
        Section(name="world", sid2="262", korean="글로벌 경제", english="World economy"),
        Section(name="living", sid2="310", korean="생활경제", english="Living"),
        Section(name="general", sid2="263", korean="경제 일반", english="General"),
    )
}
"""By name, in the order in which they are shown."""
