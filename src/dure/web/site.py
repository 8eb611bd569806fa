"""An application's site: its own routes, health and metrics around one app."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dure.core.errors import DureError
from dure.engine.desk.health import checks, is_live, is_ready
from dure.engine.node import Node
from dure.web.metrics import MEDIA_TYPE, Metrics
from dure.web.problem import on_any_error, on_dure_error, on_http_error

BODY_BYTES_MAX: Final = 64 * 1024
_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'",
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)


def site(
    routes: Sequence[BaseRoute], *, node: Node | None = None, metrics: Metrics | None = None
) -> ASGIApp:
    """Routes of an application, with `/health/live`, `/health/ready` and `/metrics`.

    Without a node in this process health only says that the site answers.
    """
    found = [
        *routes,
        Route("/health/live", _health(node, is_ready_asked=False)),
        Route("/health/ready", _health(node, is_ready_asked=True)),
    ]
    if metrics is not None:

        async def measured(_: Request) -> Response:
            return Response(await metrics.text(), headers={"Content-Type": MEDIA_TYPE})

        found.append(Route("/metrics", measured))
    handlers = {
        DureError: on_dure_error,
        HTTPException: on_http_error,
        Exception: on_any_error,
    }
    return _Hardened(
        Starlette(routes=found, exception_handlers=handlers, max_body_size=BODY_BYTES_MAX)
    )


def _health(node: Node | None, *, is_ready_asked: bool) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        if node is None:
            return Response(b'{"status":"ok","checks":[]}', media_type="application/json")
        is_well = is_ready(node) if is_ready_asked else is_live(node)
        document = {"status": "ok" if is_well else "failing", "checks": checks(node)}
        body = msgspec.json.encode(document)
        return Response(body, 200 if is_well else 503, media_type="application/json")

    return answer


class _Hardened:
    """Headers that every answer has, unless its route has said otherwise."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message["headers"]}
                missing = [pair for pair in _HEADERS if pair[0] not in known]
                message = {**message, "headers": [*message["headers"], *missing]}
            await send(message)

        await self._inner(scope, receive, sending if scope["type"] == "http" else send)
