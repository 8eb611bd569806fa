"""How large what a job carries may be. A row is read whole, and hundreds of them at once."""

from typing import Final

from dure.core.errors import TooLarge

BODY_BYTES_MAX: Final = 4 << 20
"""A job's arguments as JSON in UTF-8."""
RESULT_BYTES_MAX: Final = 4 << 20
"""A job's result as JSON in UTF-8."""
ERROR_LENGTH_MAX: Final = 2_000
"""Characters of a reason or an error that are kept; the rest is cut off."""
TEXT_BYTES_MAX: Final = 2_000
"""A unique key with its scope, a session, a subject; PostgreSQL cannot index much more."""

_ELSEWHERE: Final = "Keep large data in a file or a table of your own and pass a reference."
_BYTES_PER_CHARACTER_MAX: Final = 4


def check_body(what: str, body: str) -> None:
    """Raise TooLarge when these arguments are more than a job may carry."""
    if _is_over(body, BODY_BYTES_MAX):
        raise TooLarge(
            f"The arguments of {what} are {_size(body)} bytes; a job carries at most "
            f"{BODY_BYTES_MAX}.",
            _ELSEWHERE,
        )


def check_result(what: str, result: bytes) -> None:
    """Raise TooLarge when a result is more than a job may keep."""
    if len(result) > RESULT_BYTES_MAX:
        raise TooLarge(
            f"The result of {what} is {len(result)} bytes; a job keeps at most {RESULT_BYTES_MAX}.",
            _ELSEWHERE,
        )


def check_text(what: str, text: str) -> None:
    """Raise TooLarge when a name cannot be indexed everywhere."""
    if _is_over(text, TEXT_BYTES_MAX):
        raise TooLarge(
            f"A job's {what} is at most {TEXT_BYTES_MAX} bytes, not {_size(text)} "
            f"({text[:40]!a}…).",
            "Use a digest of it.",
        )


def shortened(text: str) -> str:
    """A reason or an error as it is kept: the beginning says what went wrong."""
    return text if len(text) <= ERROR_LENGTH_MAX else text[: ERROR_LENGTH_MAX - 1] + "…"


def _is_over(text: str, most: int) -> bool:
    return len(text) * _BYTES_PER_CHARACTER_MAX > most and _size(text) > most


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
