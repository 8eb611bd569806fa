"""A site on a real port over real HTTP, around an app on a real file."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import msgspec
import pytest
from starlette.routing import Mount

import dure
from dure.web import Access, Metrics, job_routes, serve, site

ADMIN = "a-token-for-the-chief-editor"
READER = "a-token-for-whoever-only-looks"


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.text)


class Client:
    """Talks to the site."""

    reader = READER

    def __init__(self, session: aiohttp.ClientSession, app: dure.App) -> None:
        self._session = session
        self.app = app

    async def ask(
        self, method: str, path: str, token: str | None = ADMIN, body: str | None = None
    ) -> Answer:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with self._session.request(method, path, headers=headers, data=body) as answer:
            return Answer(answer.status, answer.headers, await answer.text())


@pytest.fixture
async def client(sqlite_path: Path) -> AsyncIterator[Client]:
    """Jobs of two kinds that fail, suspend or succeed as they are told."""
    app = dure.App(sqlite_path)

    @app.kind(retry=1)
    async def sheet(how: str) -> dure.Outcome:
        match how:
            case "fails":
                return dure.Fail("torn")
            case "suspends":
                return dure.Suspend("QUOTA", "no paper left")
            case _:
                return dure.Done()

    @app.kind(retry=1)
    async def other(how: str) -> dure.Outcome:
        return dure.Fail(f"not here: {how}")

    async with app:
        node = app.node(slots=4)
        metrics = Metrics(app, node=node)
        await node.start()
        access = Access.parse(f"anna:admin:{ADMIN} ben:reader:{READER}")
        routes = [Mount("/press/jobs", routes=job_routes(app, access, kinds=["sheet"]))]
        async with (
            serve(site(routes, node=node, metrics=metrics)) as url,
            aiohttp.ClientSession(url) as session,
        ):
            yield Client(session, app)
        await node.stop()
