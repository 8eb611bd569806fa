"""What an answer's status says about the fetch."""

from email.utils import parsedate_to_datetime
from typing import Final

from dure.fetch.failure import (
    AuthRequired,
    Blocked,
    ContractChanged,
    FetchError,
    NotThere,
    RateLimited,
    RequestRejected,
    Unavailable,
)
from dure.fetch.page import Page

_KINDS: Final[dict[int, type[FetchError]]] = {
    **dict.fromkeys((401, 407), AuthRequired),
    **dict.fromkeys((403, 451), Blocked),
    **dict.fromkeys((404, 410), NotThere),
    **dict.fromkeys((408, 425), Unavailable),
    429: RateLimited,
}
_NOT_MODIFIED: Final = 304


def judge(page: Page) -> FetchError | None:
    """The failure an answer stands for, by its status alone; None for success."""
    status = page.status
    if 200 <= status < 300 or status == _NOT_MODIFIED:
        return None
    kind = _KINDS.get(status)
    if kind is None:
        if status >= 500:
            asked = status == 503 and "Retry-After" in page.headers
            kind = RateLimited if asked else Unavailable
        else:
            kind = RequestRejected if status >= 400 else ContractChanged
    return kind(f"The server answered {status}", url=page.url, status=status, page=page)


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds that a Retry-After asks for, from a number or a date; None when it says nothing.

    `now` is the moment of the answer, in seconds since 1970.
    """
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:12])
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    try:
        return max(moment.timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None
