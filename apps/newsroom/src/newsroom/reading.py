"""What pages and reports show: articles with whatever has been made of them so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from newsroom.prompts import KINDS, STEPS
from newsroom.records import Records

PAGE: Final = 40
_COLUMNS: Final = (
    "id, oid, aid, section, url, kept, version, title, press, characters, is_urgent, "
    "published_at, edited_at, first_seen_at"
)
_NEWEST: Final = (
    f"select {_COLUMNS} from newsroom_article where version > 0 "  # noqa: S608 - constants
    "and (:section = '' or section = :section) "
    "and (coalesce(published_at, first_seen_at) < :before "
    "or (coalesce(published_at, first_seen_at) = :before and id < :below)) "
    "order by coalesce(published_at, first_seen_at) desc, id desc limit :most"
)
_ONE: Final = f"select {_COLUMNS} from newsroom_article where id = :id"  # noqa: S608 - constants
_BODY: Final = "select body from newsroom_version where article = :id and version = :version"
_RESULTS: Final = (
    "select article, version, kind, answer, model from newsroom_result "
    "where article = any (:ids) order by version"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An article and its newest results, which may be of an older version while work goes on."""

    id: str
    oid: str
    aid: str
    section: str
    url: str
    kept: str
    version: int
    title: str
    press: str
    characters: int
    is_urgent: bool
    published_at: float | None
    edited_at: float | None
    first_seen_at: float
    answers: Mapping[str, Any]
    """By kind, as the types of the prompts."""
    models: frozenset[str] = frozenset()
    body: str = ""

    @property
    def at(self) -> float:
        """When it was published, or first seen where its page does not say."""
        return self.first_seen_at if self.published_at is None else self.published_at

    @property
    def is_complete(self) -> bool:
        return len(self.answers) == len(KINDS)


class Reading:
    """Reads for readers."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def newest(
        self, *, section: str = "", before: float = 1e12, below: str = "", most: int = PAGE
    ) -> list[Shown]:
        """A page of articles, the newest first; it begins after the last of the page before."""
        where = {"section": section, "before": before, "below": below}
        rows = await self._records.rows(_NEWEST, most=most, **where)
        answers = await self._answers([row["id"] for row in rows])
        return [_shown(row, answers.get(row["id"], [])) for row in rows]

    async def one(self, article: str) -> Shown | None:
        """An article with its text."""
        rows = await self._records.rows(_ONE, id=article)
        if not rows:
            return None
        row = rows[0]
        body = await self._records.rows(_BODY, id=article, version=row["version"])
        answers = await self._answers([article])
        return _shown(row, answers.get(article, []), body[0]["body"] if body else "")

    async def _answers(self, ids: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
        found: dict[str, list[Mapping[str, Any]]] = {}
        for row in await self._records.rows(_RESULTS, ids=list(ids)) if ids else ():
            found.setdefault(row["article"], []).append(row)
        return found


_DECODE: Final = {step.kind: step.decode for step in STEPS}


def _shown(row: Mapping[str, Any], results: Sequence[Mapping[str, Any]], body: str = "") -> Shown:
    answers = {each["kind"]: _DECODE[each["kind"]](each["answer"]) for each in results}
    models = frozenset(each["model"] for each in results)
    fields = {**row, "is_urgent": bool(row["is_urgent"])}
    return Shown(**fields, answers=answers, models=models, body=body)
