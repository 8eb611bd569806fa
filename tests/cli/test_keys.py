"""`dure keys`: looking at unique keys, and letting them be taken again."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import with_store

import dure


@pytest.fixture
def keyed(on_store: Any, sqlite_path: Path) -> None:
    """A key that a finished job has taken for good, and one that an unfinished job holds."""

    async def fill(store: Any) -> None:
        app = dure.App(store)

        @app.kind
        async def fetch() -> None:
            pass

        crawled = dure.Unique(key="crawl:page", scope="global", forever=True)
        async with app:
            await app.enqueue(fetch(), unique=crawled)
            await app.drain()
            await app.enqueue(fetch(), unique="now", delay="1d")

    with_store(sqlite_path, fill)


def test_keys_are_shown_with_who_took_them_and_how_long(on_store: Any, keyed: None) -> None:
    """X2"""
    words = ["global:crawl:page", "forever", "fetch:now", "while its job is unfinished"]

    shown = on_store("keys").out

    assert [] == [word for word in words if word not in shown]


def test_keys_under_a_prefix_are_forgotten_after_a_look(on_store: Any, keyed: None) -> None:
    """X2 X17"""
    looked = on_store("keys", "forget", "global:", "--dry-run")
    asked = on_store("keys", "forget", "global:")
    done = on_store("keys", "forget", "global:", "--yes", "--by", "kim", "--reason", "again")
    entry = on_store("audit", "--json").items[0]

    assert (0, "Would forget 1 key.\n") == (looked.code, looked.err)
    assert 2 == asked.code
    assert "Forget 1 key? Nobody is there to ask." in asked.err
    assert (0, "Forgot 1 key.\n") == (done.code, done.err)
    assert ["kind:fetch:now"] == [key["name"] for key in on_store("keys", "--json").items]
    assert ("kim", "keys.forget", "keys global:", "again", 1) == (
        entry["by"],
        entry["command"],
        entry["target"],
        entry["reason"],
        entry["count"],
    )


def test_what_unfinished_jobs_hold_stays_and_is_counted(on_store: Any, keyed: None) -> None:
    ran = on_store("keys", "forget", "kind:fetch:", "--yes")
    document = on_store("keys", "forget", "kind:fetch:", "--yes", "--json")

    assert (0, "Forgot 0 keys; 1 stay, their jobs are unfinished.\n") == (ran.code, ran.err)
    assert {
        "command": "keys.forget",
        "prefix": "kind:fetch:",
        "forgotten": 0,
        "held": 1,
    } == document.item


def test_a_page_of_keys_says_how_to_see_the_next(on_store: Any, keyed: None) -> None:
    first = on_store("keys", "list", "--limit", "1")
    second = on_store("keys", "list", "--after", "global:crawl:page", "--output", "ids")

    assert "There may be more: --after 'global:crawl:page'" in first.err
    assert "kind:fetch:now\n" == second.out


def test_every_key_at_once_cannot_be_forgotten(on_store: Any, keyed: None) -> None:
    ran = on_store("keys", "forget", "", "--yes")

    assert 2 == ran.code
    assert "Begin with global:" in ran.err
