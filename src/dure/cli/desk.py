"""One command's way to the store: which one it is, opened, with what may be asked and done."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from dure.cli.catalog import DONE
from dure.cli.grammar import Given, Handler
from dure.cli.screen import Screen
from dure.compose import App, open_store
from dure.core.errors import ConfigError, StoreUnavailable
from dure.engine.desk.commands import Commands, Kinds
from dure.engine.desk.insights import Insights
from dure.ports.store import Store

VARIABLE = "DURE_STORE"


class Desk(NamedTuple):
    """An open store, and what a command does with it."""

    store: Store
    insights: Insights
    commands: Commands
    screen: Screen
    kinds: Kinds
    by: str


class Place(NamedTuple):
    """A store that is not opened yet, and the kinds of the program at hand."""

    store: Store
    kinds: Kinds


def work(handler: Handler, screen: Screen, given: Given) -> int:
    """Run a command on an open store; its exit code."""
    return asyncio.run(_work(handler, screen, given))


async def _work(handler: Handler, screen: Screen, given: Given) -> int:
    async with at_desk(screen, given) as desk:
        code = await handler(desk, given)
    return DONE if code is None else code


@asynccontextmanager
async def at_desk(screen: Screen, given: Given) -> AsyncIterator[Desk]:
    """Open the store that is meant, as it is: its schema is not touched."""
    store, kinds = place_of(given)
    await store.open(migrate=False)
    try:
        yield Desk(
            store=store,
            insights=Insights(store, kinds),
            commands=Commands(store, kinds),
            screen=screen,
            kinds=kinds,
            by=actor(given),
        )
    finally:
        await store.close()


def place_of(given: Given, *, must_exist: bool = True) -> Place:
    """The store that is meant: `--store`, else DURE_STORE, else the one of `--app`."""
    app = None if given.app is None else _app(given.app)
    url = given.store or os.environ.get(VARIABLE)
    if url is None and app is None:
        raise ConfigError(
            "Which store is meant?",
            f"Give --store URL, set {VARIABLE}, or name the program with --app MODULE.",
        )
    if url is None:
        assert app is not None
        store: Store = app.store
    else:
        store = open_store(url)
    if must_exist:
        _refuse_missing(store)
    return Place(store, {} if app is None else app.kinds)


def _app(target: str) -> App:
    from dure.cli.program import load

    return load(target)


def _refuse_missing(store: Store) -> None:
    """Looking at a file that does not exist must not create it."""
    path = store.url.removeprefix("sqlite:")
    if store.dialect == "sqlite" and path != ":memory:" and not Path(path).exists():
        raise StoreUnavailable(
            f"There is no database at {path!r}.",
            f"Check the path; `dure migrate --store {path}` creates it.",
        )


def actor(given: Given) -> str:
    """Who asks, for the audit."""
    name: str | None = getattr(given, "by", None)
    if name:
        return name
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"
