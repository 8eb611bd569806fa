"""Conditional answers: ETag and Last-Modified, and 304 when the client's copy is still good."""

from email.utils import formatdate, parsedate_to_datetime

from dure_sandbox.exchange import Request, Response


def validated(
    request: Request, response: Response, *, tag: str, modified_at: float | None = None
) -> Response:
    """The response with its validators, or 304 when the client has exactly this."""
    headers = [("ETag", f'"{tag}"')]
    if modified_at is not None:
        headers.append(("Last-Modified", formatdate(modified_at, usegmt=True)))
    if _is_known(request, f'"{tag}"', modified_at):
        return Response(status=304, headers=tuple(headers))
    return response.with_headers(*headers)


def _is_known(request: Request, tag: str, modified_at: float | None) -> bool:
    """If-None-Match decides alone when it is there (RFC 9110, 13.2.2)."""
    tags = request.headers.get("if-none-match")
    if tags is not None:
        known = {each.strip().removeprefix("W/") for each in tags.split(",")}
        return tag in known or "*" in known
    since = request.headers.get("if-modified-since")
    if since is None or modified_at is None:
        return False
    try:
        return int(modified_at) <= parsedate_to_datetime(since).timestamp()
    except ValueError:
        return False
