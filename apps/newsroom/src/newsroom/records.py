"""The newsroom's tables: what handlers read before they act, and write with their outcome."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import dure
from dure.fetch import Validators
from dure.ports.rows import Row
from newsroom.article import Article
from newsroom.listing import Item

_KEEP_LIST: Final = (
    "insert into newsroom_list (section, etag, last_modified, checked_at) "
    "values (:section, :etag, :last_modified, :now) on conflict (section) do update set "
    "etag = excluded.etag, last_modified = excluded.last_modified, checked_at = excluded.checked_at"
)
_KEEP_ARTICLE: Final = (
    "insert into newsroom_article (id, oid, aid, section, url, kept, version, title, press, "
    "reporter, characters, fingerprint, is_urgent, published_at, edited_at, first_seen_at, "
    "checked_at, etag, last_modified) values (:id, :oid, :aid, :section, :url, :kept, :version, "
    ":title, :press, :reporter, :characters, :fingerprint, :is_urgent, :published_at, :edited_at, "
    ":now, :now, :etag, :last_modified) on conflict (id) do update set kept = excluded.kept, "
    "version = excluded.version, title = excluded.title, press = excluded.press, "
    "reporter = excluded.reporter, characters = excluded.characters, "
    "fingerprint = excluded.fingerprint, is_urgent = excluded.is_urgent, "
    "published_at = excluded.published_at, edited_at = excluded.edited_at, "
    "checked_at = excluded.checked_at, etag = excluded.etag, last_modified = excluded.last_modified"
)
_KEEP_VERSION: Final = (
    "insert into newsroom_version (article, version, title, body, edited_at, saved_at) "
    "values (:id, :version, :title, :body, :edited_at, :now)"
)
_CHECKED: Final = (
    "update newsroom_article set checked_at = :now, etag = :etag, "
    "last_modified = :last_modified where id = :id"
)
_GONE: Final = "update newsroom_article set kept = 'deleted', checked_at = :now where id = :id"
_KEEP_RESULT: Final = (
    "insert into newsroom_result (article, version, kind, answer, model, prompt, made_at) "
    "values (:article, :version, :kind, :answer, :model, :prompt, :now) "
    "on conflict (article, version, kind) do update set answer = excluded.answer, "
    "model = excluded.model, prompt = excluded.prompt, made_at = excluded.made_at"
)
_ARTICLE: Final = (
    "select kept, version, fingerprint, etag, last_modified from newsroom_article where id = :id"
)
_TEXT: Final = (
    "select a.version as newest, a.kept, v.body from newsroom_article a "
    "join newsroom_version v on v.article = a.id and v.version = :version where a.id = :id"
)
_KNOWN: Final = "select id from newsroom_article where id = any (:ids)"
_LIST: Final = "select etag, last_modified from newsroom_list where section = :section"
_TO_CHECK: Final = (
    "select oid, aid, url, title from newsroom_article where section = :section and kept = 'ok' "
    "and checked_at < :checked_before and published_at > :published_after "
    "order by checked_at limit :most"
)
CURRENT: Final = "select version from newsroom_article where id = :id"


class Known(NamedTuple):
    """An article as it was last seen."""

    kept: str
    version: int
    fingerprint: str
    validators: Validators


class Text(NamedTuple):
    """One version of an article, to be read by a model."""

    newest: int
    kept: str
    body: str


class Records:
    """Reads, and the writes that handlers hand to the engine."""

    def __init__(self, app: dure.App) -> None:
        self._app = app

    def now(self) -> float:
        """The store's time, to which all moments in the tables belong."""
        return self._app.store_clock.now()

    async def list_validators(self, section: str) -> Validators | None:
        """What the list said about its version when it was last read."""
        row = await self._one(_LIST, section=section)
        return None if row is None else Validators(row["etag"], row["last_modified"])

    async def known(self, items: Sequence[Item]) -> set[str]:
        """Which of these articles are there already."""
        rows = await self._app.rows(_KNOWN, {"ids": [item.id for item in items]})
        return {row["id"] for row in rows}

    async def to_check(
        self, section: str, *, checked_before: float, published_after: float, most: int
    ) -> list[Item]:
        """Articles that may have been edited, those first that were not looked at for longest."""
        rows = await self._app.rows(
            _TO_CHECK,
            {
                "section": section,
                "checked_before": checked_before,
                "published_after": published_after,
                "most": most,
            },
        )
        return [Item(**row) for row in rows]

    async def article(self, article: str) -> Known | None:
        """An article as it was last seen."""
        row = await self._one(_ARTICLE, id=article)
        if row is None:
            return None
        validators = Validators(row["etag"], row["last_modified"])
        return Known(row["kept"], row["version"], row["fingerprint"], validators)

    async def text(self, article: str, version: int) -> Text | None:
        """A version of an article."""
        row = await self._one(_TEXT, id=article, version=version)
        return None if row is None else Text(**row)

    async def rows(self, sql: str, **params: object) -> list[Row]:
        """Any reading of the tables, for pages and reports."""
        return await self._app.rows(sql, params)

    async def _one(self, sql: str, **params: object) -> Row | None:
        rows = await self._app.rows(sql, params)
        return rows[0] if rows else None

    def keep_list(self, section: str, validators: Validators) -> dure.Write:
        return dure.Write(_KEEP_LIST, {"section": section, "now": self.now(), **_parts(validators)})

    def keep_article(
        self,
        item: Item,
        article: Article,
        *,
        section: str,
        version: int,
        is_urgent: bool,
        validators: Validators,
    ) -> Iterable[dure.Write]:
        """An article and, where it has a text, this version of it."""
        row: Mapping[str, Any] = {
            "id": item.id,
            "oid": item.oid,
            "aid": item.aid,
            "section": section,
            "url": item.url,
            "kept": str(article.kept),
            "version": version,
            "title": article.title or item.title,
            "press": article.press,
            "reporter": article.reporter,
            "characters": len(article.body),
            "fingerprint": article.fingerprint,
            "is_urgent": int(is_urgent),
            "published_at": article.published_at,
            "edited_at": article.edited_at,
            "now": self.now(),
            **_parts(validators),
        }
        yield dure.Write(_KEEP_ARTICLE, row)
        if version:
            text = {name: row[name] for name in ("id", "version", "title", "edited_at", "now")}
            yield dure.Write(_KEEP_VERSION, {**text, "body": article.body})

    def checked(self, article: str, validators: Validators) -> dure.Write:
        """It was looked at, and is as it was."""
        return dure.Write(_CHECKED, {"id": article, "now": self.now(), **_parts(validators)})

    def gone(self, article: str) -> dure.Write:
        """Its publisher has taken back an article that we have; its text stays with us."""
        return dure.Write(_GONE, {"id": article, "now": self.now()})

    def keep_result(
        self, article: str, version: int, kind: str, *, answer: str, model: str, prompt: str
    ) -> dure.Write:
        return dure.Write(
            _KEEP_RESULT,
            {
                "article": article,
                "version": version,
                "kind": kind,
                "answer": answer,
                "model": model,
                "prompt": prompt,
                "now": self.now(),
            },
        )


def _parts(validators: Validators) -> dict[str, str | None]:
    return {"etag": validators.etag, "last_modified": validators.last_modified}
