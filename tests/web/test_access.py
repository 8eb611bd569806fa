"""Tokens: who is let in, what they may do, and what a configuration may say."""

import pytest
from starlette.requests import Request

from dure.core.errors import ConfigError, Forbidden, Unauthenticated
from dure.web.access import Access, Actor, Role

LONG = "x" * 16


def request(header: str | None) -> Request:
    headers = [] if header is None else [(b"authorization", header.encode())]
    return Request({"type": "http", "headers": headers})


def test_a_token_names_its_actor() -> None:
    access = Access.parse(f"anna:admin:{LONG},ben:reader:{LONG}b")

    assert Actor("anna", Role.ADMIN) == access.actor(request(f"Bearer {LONG}"))
    assert "ben" == access.actor(request(f"bearer {LONG}b"), needs=Role.READER).name


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", f"Basic {LONG}", "Bearer " + "y" * 16, LONG, f"Bearer {LONG[:-1]}"],
)
def test_anybody_else_is_refused(header: str | None) -> None:
    with pytest.raises(Unauthenticated):
        Access.parse(f"anna:admin:{LONG}").actor(request(header))


def test_without_tokens_nobody_is_let_in() -> None:
    for text in ("", "  "):
        with pytest.raises(Unauthenticated):
            Access.parse(text).actor(request(f"Bearer {LONG}"), needs=Role.READER)


def test_who_may_look_may_not_change_anything() -> None:
    with pytest.raises(Forbidden, match="ben may look"):
        Access.parse(f"ben:reader:{LONG}").actor(request(f"Bearer {LONG}"))


@pytest.mark.parametrize(
    "text", ["anna:admin", f"anna:king:{LONG}", "anna:admin:short", ":admin:x"]
)
def test_a_bad_configuration_is_refused_without_showing_the_secret(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Access.parse(text)

    assert LONG not in str(refused.value)
    assert "short" not in str(refused.value).split()
