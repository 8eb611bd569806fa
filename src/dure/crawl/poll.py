"""Polled pages: asked for conditionally, and neither sent nor parsed while nothing has changed.

What the last visit found of a page is written down with what its stage yielded, in one commit.
So whoever is answered 304 may leave the page alone: all it would bring is there already. Only
what the stage wanted to have fetched again, a next poll for instance, is asked for once more.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from dure.core.outcome import Write
from dure.core.state import Priority
from dure.crawl.request import Follow, Request
from dure.crawl.seen import digest_of
from dure.crawl.spider import Stage
from dure.fetch.page import Page, Validators
from dure.ports.rows import Query
from dure.ports.store import Script

_LAST: Final = "select etag, last_modified, again from dure_visit where key = :key"
_KEEP: Final = """
insert into dure_visit (key, etag, last_modified, again, at)
values (:key, :etag, :last_modified, :again, :at)
on conflict (key) do update set etag = excluded.etag,
  last_modified = excluded.last_modified, again = excluded.again, at = excluded.at
"""


class Again(msgspec.Struct, frozen=True):
    """A request to fetch a page although it is known, as it is written down."""

    url: str
    stage: str
    meta: Mapping[str, Any]
    priority: int | None
    delay: float


class Visit(msgspec.Struct, frozen=True):
    """The last visit of a page."""

    validators: Validators
    again: list[Again]


class Poll(NamedTuple):
    """A page that is polled, with its last visit if that left validators."""

    key: str
    last: Visit | None

    def is_unchanged(self, page: Page) -> bool:
        """Whether the answer says that nothing has changed since the last visit."""
        return page.is_not_modified and self.last is not None and bool(self.last.validators)

    def requests(self, stages: Mapping[str, Stage]) -> list[Request | Follow]:
        """What its stage wanted to have fetched again; stages that are gone are left out."""
        by_kind = {stage.kind: stage for stage in stages.values()}
        return [
            Request(
                each.url,
                by_kind[each.stage],
                each.meta,
                None if each.priority is None else Priority(each.priority),
                again=True,
                delay=each.delay,
            )
            for each in (self.last.again if self.last is not None else ())
            if each.stage in by_kind
        ]

    def writes(self, page: Page, asked: Iterable[Request | Follow], at: float) -> list[Write]:
        """Writes this visit down, unless there is nothing to remember and nothing to forget."""
        validators = page.validators
        if not validators and self.last is None:
            return []
        again = [
            Again(each.url, each.stage.kind, each.meta, each.priority, each.delay)
            for each in asked
            if isinstance(each, Request) and each.again
        ]
        given = {
            "key": self.key,
            "etag": validators.etag,
            "last_modified": validators.last_modified,
            "again": msgspec.json.encode(again).decode(),
            "at": at,
        }
        return [Write(_KEEP, given)]


def visit_key(scope: str, stage: Stage, url: str) -> str:
    """A page's name: within what its run remembers, so that a fresh run parses everything."""
    return f"{scope}:{digest_of(stage.kind, url).hex()}"


def last_visit(key: str) -> Script[Visit | None]:
    """What the last visit found, if its page had validators."""
    rows = yield Query("crawl_last_visit", {"key": key}, text=_LAST)
    if not rows:
        return None
    row = rows[0]
    again = msgspec.json.decode(row["again"], type=list[Again])
    return Visit(Validators(row["etag"], row["last_modified"]), again)
