"""Errors as people and programs get them over HTTP: problem+json, by one table.

The table is the only place that knows which status a code has. An error that is not in it
is answered as the nearest class above it that is; what is no error of ours says nothing.
"""

from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dure.core.errors import DureError

MEDIA_TYPE: Final = "application/problem+json"

STATUS: Final = {
    "error": 500,
    "config": 400,
    "setting_invalid": 400,
    "kind_unknown": 404,
    "kind_invalid": 400,
    "url_invalid": 500,
    "not_found": 404,
    "conflict": 409,
    "illegal_transition": 409,
    "stale_version": 409,
    "refused": 409,
    "unauthenticated": 401,
    "forbidden": 403,
    "queue_full": 429,
    "batch_running": 409,
    "too_large": 413,
    "store": 503,
    "store_unavailable": 503,
    "store_full": 507,
    "store_denied": 500,
    "store_corrupt": 500,
    "schema_behind": 503,
    "schema_ahead": 503,
}
"""The status of each code."""

_RETRY_SECONDS: Final = 5
_PLAIN: Final = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}


def status_of(error: DureError) -> int:
    """The status of an error, or of the nearest class above it that has one."""
    classes = [cls for cls in type(error).__mro__ if issubclass(cls, DureError)]
    return next(STATUS[cls.code] for cls in classes if cls.code in STATUS)


def problem_of(error: DureError) -> Response:
    """The answer that says what is wrong, where, and what to do."""
    status = status_of(error)
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if error.retryable:
        headers["Retry-After"] = str(_RETRY_SECONDS)
    return problem(status, error.code, error.message, error.hint, headers)


def problem(
    status: int, code: str, detail: str, hint: str = "", headers: dict[str, str] | None = None
) -> Response:
    """An answer in the form of RFC 9457; `code` is stable, the sentences are for people."""
    body: dict[str, object] = {
        "type": f"urn:dure:error:{code}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail,
        "code": code,
    }
    if hint:
        body["hint"] = hint
    return Response(msgspec.json.encode(body), status, headers, MEDIA_TYPE)


async def on_dure_error(_: Request, error: Exception) -> Response:
    """Starlette's way in for what the engine and its users raise."""
    assert isinstance(error, DureError), "only registered for these"
    return problem_of(error)


async def on_http_error(request: Request, error: Exception) -> Response:
    """Starlette's own refusals: unknown paths and methods."""
    assert isinstance(error, HTTPException), "only registered for these"
    code = _PLAIN.get(error.status_code, "refused")
    detail = f"{request.method} {request.url.path}: {error.detail}."
    return problem(error.status_code, code, detail, headers=dict(error.headers or {}))


async def on_any_error(request: Request, _: Exception) -> Response:
    """A fault of ours: the log has it, the world does not."""
    detail = f"{request.method} {request.url.path} failed for a reason that is in the log."
    return problem(500, "error", detail)
