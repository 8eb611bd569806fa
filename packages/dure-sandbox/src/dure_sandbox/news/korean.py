"""Korean particles: which form follows a word depends on how the word ends."""

import re
from typing import Final

_FORMS: Final = {
    "은는": ("은", "는"),
    "이가": ("이", "가"),
    "을를": ("을", "를"),
    "과와": ("과", "와"),
    "으로": ("으로", "로"),
    "이라": ("이라", "라"),
}
_MARK: Final = re.compile(r"(.)\|(은는|이가|을를|과와|으로|이라)")
_DIGITS_WITH_END: Final = frozenset("013678LMNRlmnr")
"""What is spoken with a final consonant: 영, 일, 삼, 육, 칠, 팔, and letters such as 엘."""


def joined(text: str) -> str:
    """The text with its marks resolved: `금리|은는` becomes `금리는`."""
    return _MARK.sub(lambda found: found[1] + _form(found[1], found[2]), text)


def _form(last: str, marks: str) -> str:
    closed, opened = _FORMS[marks]
    code = ord(last) - 0xAC00
    if 0 <= code < 11172:
        final = code % 28
        if marks == "으로" and final == 8:
            return opened
        return closed if final else opened
    return closed if last in _DIGITS_WITH_END else opened
