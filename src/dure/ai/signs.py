"""What an answer says about itself: codes, words and reset hints, whatever its dialect.

The same words sit in different places: OpenAI has `error.code` and `error.type`, Anthropic
`error.type` and `error.details.error_code`, Gemini `error.status` and a list of details; its
OpenAI-compatible endpoint wraps the whole in a list. Nothing here judges.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import msgspec

_TEXT_MAX: Final = 500
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SPAN_SECONDS: Final[Mapping[str, float]] = {
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
_AFTER_MAX: Final = 40 * 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """Everything a rule may look at."""

    status: int
    """Of HTTP; 0 where nothing came back."""
    code: str = ""
    type: str = ""
    """Of the error; Gemini calls it status."""
    details: tuple[str, ...] = ()
    finish: str = ""
    """Why a good answer ended: `refusal`, or the word its dialect has for it."""
    message: str = ""
    param: str = ""
    after: float | None = None
    """Seconds until it makes sense to ask again, as told."""
    should_retry: str = ""


def read(status: int, headers: Mapping[str, str], body: bytes | str) -> Signs:
    """Read an answer. Never raises: what cannot be read says nothing."""
    lower = {name.lower(): value for name, value in headers.items()}
    tree = _tree(body)
    raw = tree.get("error", tree if status != 200 else {})
    error: Mapping[str, Any] = raw if isinstance(raw, dict) else {"message": str(raw)}
    details = tuple(_details(error.get("details")))
    message = str(error.get("message") or "")
    if not message and status != 200:
        message = body if isinstance(body, str) else body[:_TEXT_MAX].decode("utf-8", "replace")
    told = [after for after in (_from_headers(lower), *_delays(error.get("details"))) if after]
    return Signs(
        status=status,
        code=_word(error.get("code")),
        type=_word(error.get("type")) or _word(error.get("status")),
        details=details,
        finish=_finish(tree) if status == 200 else "",
        message=" ".join(message.split())[:_TEXT_MAX],
        param=_word(error.get("param")),
        after=min(max(told), _AFTER_MAX) if told else None,
        should_retry=lower.get("x-should-retry", ""),
    )


def _tree(body: bytes | str) -> dict[str, Any]:
    try:
        tree = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    if isinstance(tree, list) and tree:
        tree = tree[0]
    return tree if isinstance(tree, dict) else {}


def _word(value: object) -> str:
    """A code as text; a bare HTTP status in its place says nothing."""
    return value if isinstance(value, str) else ""


def _details(details: object) -> Iterator[str]:
    """Reasons, quota ids and error codes, wherever they are among the details."""
    match details:
        case list():
            for each in details[:50]:
                yield from _details(each)
        case dict():
            for key in ("reason", "quotaId", "error_code"):
                if isinstance(details.get(key), str):
                    yield details[key]
            yield from _details(details.get("violations"))


def _delays(details: object) -> Iterator[float]:
    for each in details if isinstance(details, list) else ():
        if isinstance(each, dict) and isinstance(each.get("retryDelay"), str):
            yield _span(each["retryDelay"]) or 0.0


def _finish(tree: Mapping[str, Any]) -> str:
    """Why an answer ended, and `empty` where there is none."""
    feedback = tree.get("promptFeedback")
    if isinstance(feedback, dict) and feedback.get("blockReason"):
        return "blocked"
    for key in ("choices", "candidates"):
        if key not in tree:
            continue
        first = (tree[key] or [None])[0] if isinstance(tree[key], list) else None
        if not isinstance(first, dict):
            return "empty"
        message = first.get("message")
        if isinstance(message, dict) and message.get("refusal"):
            return "refusal"
        return _word(first.get("finish_reason")) or _word(first.get("finishReason"))
    return _word(tree.get("stop_reason")) or ("" if "content" in tree else "empty")


def _from_headers(headers: Mapping[str, str]) -> float | None:
    """Seconds until the next try makes sense: what is asked for, else what is used up."""
    if (text := headers.get("retry-after-ms", "")).replace(".", "", 1).isdigit():
        return float(text) / 1000.0
    if text := headers.get("retry-after", ""):
        return _seconds(text, headers)
    resets = []
    for name, value in headers.items():
        if "ratelimit" in name and ("-reset-" in name or name.endswith("-reset")):
            seconds = _span(value) or _seconds(value, headers)
            left = headers.get(name.replace("-reset", "-remaining"), "")
            if seconds is not None:
                resets.append((left.strip() == "0", seconds))
    used_up = [seconds for is_used_up, seconds in resets if is_used_up]
    if used_up:
        return max(used_up)
    return min((seconds for _, seconds in resets), default=None)


def _seconds(text: str, headers: Mapping[str, str]) -> float | None:
    """A number, or a moment, counted from the server's own Date."""
    text = text.strip()
    if text.replace(".", "", 1).isdigit():
        return float(text)
    try:
        now = parsedate_to_datetime(headers["date"]).timestamp()
        if "T" in text and "," not in text:
            then = datetime.fromisoformat(text)
        else:
            then = parsedate_to_datetime(text)
        return max(then.timestamp() - now, 0.0)
    except (KeyError, ValueError, TypeError, IndexError, OverflowError):
        return None


def _span(text: str) -> float | None:
    """`1s`, `6m0s`, `20ms`, `53.7s`."""
    parts = _SPAN.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    return sum(float(number) * _SPAN_SECONDS[unit] for number, unit in parts)
