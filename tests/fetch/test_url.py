"""Addresses have one spelling."""

from dure.fetch import canonical


def test_two_spellings_of_one_page_are_one_address() -> None:
    assert canonical("HTTP://Example.org:80/a/../b?z=1&a=2#top") == "http://example.org/b?a=2&z=1"
