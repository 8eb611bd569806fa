"""Korean pages are read as they were written, whatever their labels say."""

import pytest

from dure.fetch.charset import decode

KOREAN = "삼성전자, 3분기 영업이익 12조원 … 뷁 시가총액 1위"
HTML = "text/html"


@pytest.mark.parametrize(
    "label", ["euc-kr", "EUC_KR".replace("_", "-"), "ks_c_5601-1987", "ksc5601", "ms949", "cp949"]
)
def test_every_label_of_korean_is_read_with_the_whole_of_cp949(label: str) -> None:
    assert decode(KOREAN.encode("cp949"), f"text/html; charset={label}") == (KOREAN, "cp949")


@pytest.mark.parametrize(
    ("body", "content_type", "charset"),
    [
        (KOREAN.encode(), HTML, "utf-8"),
        (KOREAN.encode(), "text/html; charset=UTF-8", "utf-8"),
        (KOREAN.encode(), "text/html; charset=euc-kr", "utf-8"),
        (KOREAN.encode("cp949"), "text/html; charset=utf-8", "cp949"),
        (KOREAN.encode("cp949"), HTML, "cp949"),
        (KOREAN.encode("utf-8-sig"), "text/html; charset=euc-kr", "utf-8"),
        (b"\xff\xfe" + KOREAN.encode("utf-16-le"), HTML, "utf-16-le"),
        (b"\xfe\xff" + KOREAN.encode("utf-16-be"), HTML, "utf-16-be"),
        (KOREAN.encode("cp949"), "text/html; charset=nonsense", "cp949"),
    ],
)
def test_a_wrong_or_missing_label_does_not_matter(
    body: bytes, content_type: str, charset: str
) -> None:
    assert decode(body, content_type) == (KOREAN, charset)


@pytest.mark.parametrize(
    "meta",
    [
        b'<html><head><meta charset="shift_jis">',
        b"<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'>",
        b'<?xml version="1.0" encoding="Shift_JIS"?>',
    ],
)
def test_a_meta_element_counts_where_the_header_says_nothing(meta: bytes) -> None:
    text, charset = decode(meta + "日本語のページ".encode("cp932"), HTML)

    assert text.endswith("日本語のページ")
    assert charset == "cp932"


def test_a_few_broken_bytes_do_not_spoil_a_page() -> None:
    body = KOREAN.encode("cp949") * 50
    text, charset = decode(body[:700] + b"\xff" + body[700:], "text/html; charset=utf-8")

    assert charset == "cp949"
    assert KOREAN in text
    assert decode(KOREAN.encode() + b"\xea\xb0")[0].startswith(KOREAN)


@pytest.mark.parametrize("body", [b"", b"\x00\xff\xfe\x80", bytes(range(256)) * 40])
def test_anything_becomes_some_text(body: bytes) -> None:
    assert isinstance(decode(body, "image/png; charset=")[0], str)
