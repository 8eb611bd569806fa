"""What both stores make sure of before they touch the database: texts, and one change a job."""

from collections.abc import Sequence
from typing import Final

from dure.core.bounds import ERROR_LENGTH_MAX, shortened
from dure.ports.rows import Change, NewJob

_FIELDS: Final = ("body", "session", "subject", "key")
_NO_NAMES: Final = (None, None, None)


def check_jobs(jobs: Sequence[NewJob]) -> None:
    """Raise ValueError naming the first job with a text that a store cannot hold."""
    for index, job in enumerate(jobs):
        body, names = job[1], (job[6], job[7], job[10])
        if "\0" in body or not body.isascii() or names != _NO_NAMES:
            for field, text in zip(_FIELDS, (body, *names), strict=True):
                if text is not None and not _is_storable(text):
                    raise ValueError(
                        f"the {field} of job {index} holds U+0000 or half of a surrogate pair, "
                        f"which no store can keep: remove or escape it ({text[:40]!a})"
                    )


def rounds(changes: Sequence[Change]) -> list[Sequence[Change]]:
    """Changes in groups that name a job once; reasons and errors as they are kept.

    Nearly always one group. What somebody raised may hold any text, and must be kept.
    """
    changes = [_readable(c) if c[0][7] or c[0][8] else c for c in changes]
    if len({c[0][0] for c in changes}) == len(changes):
        return [changes]
    found: list[list[Change]] = []
    counts: dict[int, int] = {}
    for change in changes:
        job = change.transition.id
        turn = counts[job] = counts.get(job, -1) + 1
        if turn == len(found):
            found.append([])
        found[turn].append(change)
    return list(found)


def _readable(change: Change) -> Change:
    t = change.transition
    if all(text is None or _is_kept(text) for text in (t.reason, t.error)):
        return change
    replaced = t._replace(reason=_replaced(t.reason), error=_replaced(t.error))
    return change._replace(transition=replaced)


def _replaced(text: str | None) -> str | None:
    if text is None:
        return None
    text = shortened(text).encode(errors="replace").decode()
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _is_kept(text: str) -> bool:
    return len(text) <= ERROR_LENGTH_MAX and _is_storable(text)


def _is_storable(text: str) -> bool:
    """PostgreSQL has no text with U+0000, and neither store has one with half a surrogate pair."""
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
