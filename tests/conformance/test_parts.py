"""Batteries and applications bring their own tables: plain SQL files, run once, on both stores."""

from collections.abc import Callable
from pathlib import Path

import pytest

import dure
from dure.core.errors import ConfigError, SchemaAhead, SchemaBehind
from dure.ports.rows import Migration
from dure.ports.store import Store
from dure.stores.statement import steps_of

Connect = Callable[[], Store]


@pytest.fixture
def url(request: pytest.FixtureRequest, dialect: str, sqlite_path: Path) -> str:
    if dialect == "sqlite":
        return str(sqlite_path)
    address: str = request.getfixturevalue("postgres_url")
    return address


@pytest.fixture(params=["sqlite", "postgres"])
def dialect(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def files(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


async def test_tables_are_made_when_the_app_opens_and_filled_with_the_outcome(
    url: str, tmp_path: Path
) -> None:
    """A1, X3"""
    folder = files(tmp_path / "sql", **{"0001_article": "create table article (title text);"})
    app = dure.App(url)
    app.migrations("news", folder)

    @app.kind
    async def save(title: str) -> dure.Outcome:
        return dure.Done(writes=[dure.Write("insert into article values (:t)", {"t": title})])

    async with app:
        await app.enqueue(save("first"))
        await app.drain()

        rows = await app.rows("select title from article where title = :t", {"t": "first"})

    assert [{"title": "first"}] == [dict(row) for row in rows]


async def test_each_step_runs_once_in_order_and_a_store_may_have_a_text_of_its_own(
    url: str, tmp_path: Path, dialect: str
) -> None:
    folder = files(
        tmp_path / "sql",
        **{
            "0002_more": "insert into note values ('shared');",
            "0001_note": "create table note (name text);",
            "sqlite__0002_more": "insert into note values ('sqlite');",
        },
    )
    for _ in range(2):
        app = dure.App(url)
        app.migrations("notes", folder)
        async with app:
            rows = await app.rows("select name from note")

    assert [{"sqlite": "sqlite", "postgres": "shared"}[dialect]] == [row["name"] for row in rows]


async def test_an_edited_step_and_a_newer_schema_are_refused_by_the_name_of_their_owner(
    url: str,
) -> None:
    store = dure.open_store(url)
    await store.open()
    await store.migrate("news", [Migration(1, "a", "select 1;"), Migration(2, "b", "select 2;")])

    with pytest.raises(SchemaAhead, match=r"made by a different file.*news release"):
        await store.migrate("news", [Migration(1, "a", "select 3;"), Migration(2, "b", "")])
    with pytest.raises(SchemaAhead, match="Upgrade news"):
        await store.migrate("news", [Migration(1, "a", "select 1;")])

    await store.migrate("other", [Migration(1, "a", "select 3;")])
    await store.close()


async def test_a_step_that_fails_leaves_nothing_behind(url: str) -> None:
    store = dure.open_store(url)
    await store.open()

    with pytest.raises(Exception, match="nonsense"):
        await store.migrate("x", [Migration(1, "a", "create table half (n integer);\nnonsense;")])
    await store.migrate("x", [Migration(1, "a", "create table half (n integer);")])

    await store.close()


async def test_where_nothing_may_be_migrated_what_is_missing_is_named(url: str) -> None:
    store = dure.open_store(url)
    await store.open()
    await store.close()
    await store.open(migrate=False)

    with pytest.raises(SchemaBehind, match=r"lacks migration 1 \(a\)"):
        await store.migrate("x", [Migration(1, "a", "select 1;")])

    await store.close()


def test_a_folder_that_cannot_be_read_as_migrations_is_refused(tmp_path: Path) -> None:
    app = dure.App(":memory:")

    with pytest.raises(ConfigError, match="no folder"):
        app.migrations("news", tmp_path / "missing")
    with pytest.raises(ConfigError, match="no version number"):
        steps_of(files(tmp_path / "sql", tables="select 1;"), "sqlite")
    app.migrations("news", tmp_path)
    with pytest.raises(ConfigError, match="another folder"):
        app.migrations("news", tmp_path / "sql")
