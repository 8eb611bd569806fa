"""Unique keys that outlive their jobs: which there are under a prefix, and forgetting them.

A key with a period frees itself, one that is taken forever stays until it is forgotten here.
What an unfinished job holds is never forgotten: it would let a second one in beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from dure.core.errors import ConfigError
from dure.core.job import FOREVER
from dure.ports.rows import Query
from dure.ports.store import Script
from dure.scripts import audit

SCOPES: Final = ("kind:", "lane:", "global:")
"""How every stored key begins. What is forgotten names one, lest a slip mean all there are."""
_LAST: Final = "\U0010ffff"
_SURROGATES: Final = (0xD800, 0xE000)
"""No text holds what lies between these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A unique key and the job that took it."""

    key: str
    job: int
    until: float | None
    """None: as long as its job is unfinished."""
    is_held: bool
    """Whether its job is unfinished."""

    @property
    def is_forever(self) -> bool:
        return self.until is not None and self.until >= FOREVER


class Forgotten(NamedTuple):
    """What a step has forgotten, and where the next one goes on."""

    forgotten: int
    held: int
    """Keys under the prefix that stay, because their jobs are unfinished."""
    after: str | None
    """The last key that was looked at; None when there are no more."""


def listing(prefix: str, *, limit: int, after: str = "") -> Script[list[Key]]:
    """Keys under a prefix in order; `after` is the last one of the page before."""
    beyond = _beyond(prefix)
    rows = yield Query(
        "keys_page", {"prefix": prefix, "after": after, "beyond": beyond, "most": limit}
    )
    return [Key(**{**row, "is_held": bool(row["is_held"])}) for row in rows]


def forget(
    prefix: str, *, by: str, reason: str, now: float, limit: int, after: str = ""
) -> Script[Forgotten]:
    """Forget up to `limit` keys under a prefix whose jobs are finished, and write that down.

    Raises ConfigError unless the prefix begins with a scope.
    """
    if not prefix.startswith(SCOPES):
        raise ConfigError(
            f"{prefix!r} is not how unique keys begin.",
            "Begin with global:, kind:NAME: or lane:NAME:, as `dure keys list` shows them.",
        )
    found = yield from listing(prefix, limit=limit, after=after)
    over = [key.key for key in found if not key.is_held and key.until is not None]
    gone: Sequence[object] = ()
    if over:
        gone = yield Query("keys_forget", {"keys": over})
    if gone:
        target = f"keys {prefix}"
        yield from audit.add("keys.forget", target, by=by, reason=reason, now=now, count=len(gone))
    is_last = len(found) < limit
    return Forgotten(len(gone), len(found) - len(gone), None if is_last else found[-1].key)


def under(prefix: str, *, limit: int, after: str = "") -> Script[list[str]]:
    """Keys under a prefix in order, without looking at their jobs."""
    beyond = _beyond(prefix)
    given = {"prefix": prefix, "after": after, "beyond": beyond, "most": limit}
    rows = yield Query("keys_under", given)
    return [row["key"] for row in rows]


def known(wanted: Sequence[str]) -> Script[set[str]]:
    """Which of these keys are taken."""
    rows = yield Query("keys_known", {"keys": list(wanted)})
    return {row["key"] for row in rows}


def _beyond(prefix: str) -> str:
    """The first text after all that begin with the prefix."""
    kept = prefix.rstrip(_LAST)
    if not kept:
        return _LAST
    following = ord(kept[-1]) + 1
    if following == _SURROGATES[0]:
        following = _SURROGATES[1]
    return kept[:-1] + chr(following)
