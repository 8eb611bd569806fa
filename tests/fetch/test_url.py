"""Addresses have one spelling."""

import pytest

from dure.fetch import canonical, canonical_many
from dure.fetch.failure import UrlRefused
from dure.fetch.url import join


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://Example.org:80/a/../b?z=1&a=2#top", "http://example.org/b?a=2&z=1"),
        ("https://example.org:443", "https://example.org/"),
        ("https://user:pw@example.org/?", "https://example.org/"),
        ("https://example.org/?b=2&b=1&a", "https://example.org/?a&b=2&b=1"),
        ("https://한국.kr/뉴스?q=가", "https://xn--3e0b707e.kr/%EB%89%B4%EC%8A%A4?q=%EA%B0%80"),
        ("https://example.org/a?&&x=1&", "https://example.org/a?x=1"),
    ],
)
def test_two_spellings_of_one_page_are_one_address(url: str, expected: str) -> None:
    """C6"""
    assert canonical(url) == expected
    assert canonical(expected) == expected


def test_parameters_that_only_track_are_dropped_when_asked() -> None:
    url = "https://example.org/a?utm_source=x&id=7&fbclid=y"

    assert canonical(url, drop_tracking=True) == "https://example.org/a?id=7"
    assert canonical("https://example.org/?gclid=1", drop_tracking=True) == "https://example.org/"
    assert "fbclid" in canonical(url)


@pytest.mark.parametrize(
    "url", ["mailto:a@b.c", "file:///etc/passwd", "/a", "", "http://", "x" * 9000]
)
def test_what_cannot_be_fetched_is_refused(url: str) -> None:
    with pytest.raises(UrlRefused):
        canonical(url)
    assert canonical_many([url, "http://a.example"]) == [None, "http://a.example/"]


def test_a_link_is_read_against_its_page() -> None:
    assert join("https://a.example/b/c?d", " ../e?f ") == "https://a.example/e?f"
    assert join("https://a.example/b", "//z.example/") == "https://z.example/"
