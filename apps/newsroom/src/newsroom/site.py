"""The newsroom's surface: the paper for readers, the admin API, health and metrics."""

from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from dure.core.errors import ConfigError
from dure.engine.node import Node
from dure.web import Access, Metrics, job_routes, site
from newsroom import pages
from newsroom.program import Newsroom
from newsroom.prompts import KINDS
from newsroom.reading import Reading
from newsroom.report import Report
from newsroom.sections import SECTIONS
from newsroom.words import LANGUAGES

ADMIN: Final = "/api/v1/admin/ai/jobs"
_STYLE: Final = (files("newsroom") / "style.css").read_text("utf-8")


def site_of(newsroom: Newsroom, node: Node | None = None) -> ASGIApp:
    """Everything that is answered over HTTP."""
    app, settings = newsroom.app, newsroom.settings
    access = Access.parse(settings.tokens)

    routes: list[BaseRoute] = [
        *Paper(newsroom).routes(),
        Mount(ADMIN, routes=job_routes(app, access, kinds=KINDS, resume=newsroom.desk.resume)),
    ]
    metrics = Metrics(app, node=node, registry=newsroom.registry)
    return site(routes, node=node, metrics=metrics)


class Paper:
    """Pages for readers; nothing here can change anything."""

    def __init__(self, newsroom: Newsroom) -> None:
        self._least = newsroom.settings.min_content_length_for_ai
        self._records = newsroom.records
        self._reading = Reading(newsroom.records)
        self._report = Report(newsroom.app, newsroom.records, self._least)

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/", self._front),
            Route("/articles/{oid}/{aid}", self._article),
            Route("/style.css", _style),
        ]

    async def _front(self, request: Request) -> Response:
        section = request.query_params.get("section", "")
        if section and section not in SECTIONS:
            raise ConfigError(
                f"There is no section {section[:40]!r}.", f"There are {', '.join(SECTIONS)}."
            )
        try:
            before = float(request.query_params.get("before", "1e12"))
        except ValueError:
            raise ConfigError("'before' must be a moment in seconds since 1970.") from None
        below = request.query_params.get("below", "")
        shown = await self._reading.newest(section=section, before=before, below=below)
        counts = await self._report.counts()
        language = _language(request)
        now = self._records.now()
        return _html(
            pages.front(
                shown, counts, section=section, language=language, least=self._least, now=now
            )
        )

    async def _article(self, request: Request) -> Response:
        language = _language(request)
        shown = await self._reading.one("{oid}-{aid}".format(**request.path_params))
        if shown is None:
            return _html(pages.nothing(language), 404)
        return _html(pages.article(shown, language, self._least))


def _language(request: Request) -> str:
    """What was asked for, else what the browser says first, else Korean."""
    asked = request.query_params.get("lang", "")
    if asked in LANGUAGES:
        return asked
    first = request.headers.get("Accept-Language", "")[:2].lower()
    return first if first in LANGUAGES else LANGUAGES[0]


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="text/html")


async def _style(_: Request) -> Response:
    return Response(_STYLE, media_type="text/css")
