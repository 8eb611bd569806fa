"""Bytes become text: header, BOM, meta, strict UTF-8, strict CP949, then a guess.

A label is a claim, not a proof: servers that moved to UTF-8 still say EUC-KR, and the
other way round. So a label is believed only when the bytes decode under it without an error,
and statistics, which take short Korean texts for Big5, come last.
"""

import codecs
import re
from functools import lru_cache
from typing import Final

import chardet

PRESCAN_BYTES: Final = 1024
"""How far into a page a meta element can name its charset (HTML standard)."""
_LIKE_UTF8: Final = (None, "utf-8")
_THREE_BYTES: Final = "\u0800"
"""The first letter that UTF-8 writes in three bytes; Hangul lies beyond it."""
_TOLERATED: Final = 100
"""One broken sign in so many bytes is damage; more is another charset."""
_DETECT_BYTES: Final = 64 * 1024
"""How much a detector reads; more does not change its mind."""

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_IN_HEADER: Final = re.compile(r"(?i)charset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]+)")
_IN_META: Final = re.compile(
    rb"(?i)<(?:meta\b[^>]{0,512}?\bcharset|\?xml\b[^>]{0,256}?\bencoding)"
    rb"\s*=\s*[\"']?\s*([A-Za-z0-9._:-]+)"
)
_WHATWG: Final = {
    **dict.fromkeys(
        (
            *("cseuckr", "csksc56011987", "euc-kr", "euckr", "iso-ir-149", "korean"),
            *("ks_c_5601-1987", "ks_c_5601-1989", "ksc5601", "ksc_5601", "windows-949"),
            *("ms949", "uhc", "cp949", "x-windows-949"),
        ),
        "cp949",
    ),
    **dict.fromkeys(("latin1", "iso-8859-1", "ascii", "us-ascii", "l1"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk", "x-gbk"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j"), "cp932"),
    **dict.fromkeys(("big5", "big5-hkscs", "cn-big5", "x-x-big5"), "big5hkscs"),
    "utf8": "utf-8",
    "utf-16": "utf-16-le",
}


def decode(body: bytes, content_type: str = "") -> tuple[str, str]:
    """The text and the charset it was read with. Never fails: at worst signs are replaced."""
    for mark, charset in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(charset, "replace"), charset
    named = label_in(content_type)
    text = _strict(body, "utf-8")
    # By far the most pages are UTF-8, and no other text looks like it by accident: letters of
    # three bytes prove it even against a label.
    if text is not None and (named in _LIKE_UTF8 or max(text, default="") >= _THREE_BYTES):
        return text, "utf-8"
    claims = dict.fromkeys(filter(None, (named, _meta(body), "utf-8", "cp949")))
    for charset in claims:
        text = _strict(body, charset)
        if text is not None:
            return text, charset
    return _guess(body, list(claims))


@lru_cache(maxsize=256)
def label_in(content_type: str) -> str | None:
    """The charset a Content-Type names, as Python knows it; None for none or an unknown one."""
    match = _IN_HEADER.search(content_type)
    return None if match is None else _known(match[1])


def _meta(body: bytes) -> str | None:
    match = _IN_META.search(body, 0, PRESCAN_BYTES)
    if match is None:
        return None
    named = _known(match[1].decode("ascii"))
    # A page that says UTF-16 in ASCII letters is not UTF-16.
    return "utf-8" if named is not None and named.startswith("utf-16") else named


def _known(label: str) -> str | None:
    label = label.strip().lower()
    name = _WHATWG.get(label, label)
    try:
        info = codecs.lookup(name)
    except LookupError:
        return None
    is_text: bool = getattr(info, "_is_text_encoding", True)
    return info.name if is_text else None


def _strict(body: bytes, charset: str) -> str | None:
    try:
        return body.decode(charset)
    except (UnicodeDecodeError, UnicodeError):
        return None


def _guess(body: bytes, claims: list[str]) -> tuple[str, str]:
    """What no rule could read whole, mostly a text with a few broken bytes: the least damage."""
    best = min((_lossy(body, charset) for charset in claims), key=_damage)
    if _damage(best) * _TOLERATED <= len(body):
        return best
    seen = chardet.detect(body[:_DETECT_BYTES])["encoding"]
    guessed = _known(seen) if seen else None
    return best if guessed is None else min(best, _lossy(body, guessed), key=_damage)


def _lossy(body: bytes, charset: str) -> tuple[str, str]:
    return body.decode(charset, "replace"), charset


def _damage(read: tuple[str, str]) -> int:
    return read[0].count("\ufffd")
