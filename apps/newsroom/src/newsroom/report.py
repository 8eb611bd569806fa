"""The account: what became of every article and of every job, and whether it adds up."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dure.compose import App
from dure.core.filter import JobFilter
from dure.core.state import State
from newsroom.crawl import ARTICLE, SECTION
from newsroom.prompts import KINDS
from newsroom.records import Records

_ARTICLES: Final = (
    "select kept, case when version = 0 then 'none' when characters >= :least then 'long' "
    "else 'short' end as text, count(*) as articles from newsroom_article group by 1, 2"
)
_VERSIONS: Final = "select count(*) as n from newsroom_version where length(body) >= :least"
_EDITED: Final = "select count(*) as n from newsroom_version where version > 1"
_RESULTS: Final = "select kind, count(*) as n from newsroom_result group by kind"
_COMPLETE: Final = (
    "select count(*) as n from (select r.article from newsroom_result r join newsroom_article a "
    "on a.id = r.article and a.version = r.version group by r.article having count(*) = :kinds) c"
)
_JOBS_MAX: Final = 10_000_000
_DEAD_MAX: Final = 10_000
"""What the front page counts at most: it is asked for often."""
_SHOWN_STATES: Final = tuple(State)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The paper at a glance."""

    articles: int
    complete: int
    in_work: int
    suspended: int
    dead: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Everything that was listed and everything that was done."""

    articles: Mapping[str, int]
    """By what was kept: long, short, foreign, deleted."""
    edited: int
    """Versions after the first."""
    long_versions: int
    """Versions that are worth a SUMMARY."""
    complete: int
    """Articles whose newest version has all five results."""
    jobs: Mapping[str, Mapping[State, int]]
    """By kind and state, unfinished and finished."""
    skipped: Mapping[str, int]
    """By kind: successes without a result, because the model refused."""
    results: Mapping[str, int]
    """By kind."""
    differences: tuple[str, ...] = field(default=())
    """Sentences on what does not add up; none when everything does."""

    @property
    def unfinished(self) -> int:
        """Jobs that are not over."""
        open_states = (State.PENDING, State.RUNNING, State.RETRY_WAIT, State.SUSPENDED)
        return sum(by.get(state, 0) for by in self.jobs.values() for state in open_states)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "articles": dict(self.articles),
            "edited": self.edited,
            "long_versions": self.long_versions,
            "complete": self.complete,
            "jobs": {k: {s.name: n for s, n in by.items()} for k, by in self.jobs.items()},
            "skipped": dict(self.skipped),
            "results": dict(self.results),
            "unfinished": self.unfinished,
            "differences": list(self.differences),
        }


class Report:
    """Takes the account."""

    def __init__(self, app: App, records: Records, least: int) -> None:
        self._app = app
        self._records = records
        self._least = least

    async def counts(self) -> Counts:
        """The few numbers on the front page."""
        rows = await self._records.rows(_ARTICLES, least=self._least)
        by_kind = await self._app.insights.kind_counts()
        unfinished = {
            state: sum(n for (kind, s), n in by_kind.items() if s is state and kind in KINDS)
            for state in (State.PENDING, State.RUNNING, State.RETRY_WAIT, State.SUSPENDED)
        }
        suspended = unfinished.pop(State.SUSPENDED)
        return Counts(
            articles=sum(row["articles"] for row in rows if row["text"] != "none"),
            complete=await self._number(_COMPLETE, kinds=len(KINDS)),
            in_work=sum(unfinished.values()),
            suspended=suspended,
            dead=await self._jobs(",".join(KINDS), State.FAILED, cap=_DEAD_MAX),
        )

    async def account(self) -> Account:
        """All of it; counts at most ten million jobs of a kind and state."""
        jobs = {
            kind: {
                state: number
                for state in _SHOWN_STATES
                if (number := await self._jobs(kind, state))
            }
            for kind in (SECTION, ARTICLE, *KINDS)
        }
        skipped = {kind: await self._jobs(kind, State.SUCCESS, " reason:*") for kind in KINDS}
        results = {row["kind"]: row["n"] for row in await self._records.rows(_RESULTS)}
        account = Account(
            articles=await self._articles(),
            edited=await self._number(_EDITED),
            long_versions=await self._number(_VERSIONS, least=self._least),
            complete=await self._number(_COMPLETE, kinds=len(KINDS)),
            jobs=jobs,
            skipped=skipped,
            results={kind: results.get(kind, 0) for kind in KINDS},
        )
        return _judged(account)

    async def _articles(self) -> dict[str, int]:
        found = {"long": 0, "short": 0, "foreign": 0, "deleted": 0}
        for row in await self._records.rows(_ARTICLES, least=self._least):
            key = row["text"] if row["kept"] == "ok" else row["kept"]
            found[key] += row["articles"]
        return found

    async def _jobs(self, kinds: str, state: State, more: str = "", *, cap: int = _JOBS_MAX) -> int:
        wanted = JobFilter.parse(f"kind:{kinds} state:{state.name.lower()}{more}")
        return (await self._app.insights.count(wanted, cap=cap)).jobs

    async def _number(self, sql: str, **params: object) -> int:
        number: int = (await self._records.rows(sql, **params))[0]["n"]
        return number


def _judged(account: Account) -> Account:
    """Compare what must be equal: nothing may be missing and nothing may be there twice."""
    wrong: list[str] = []

    def equal(what: str, found: int, expected: int) -> None:
        if found != expected:
            wrong.append(f"{what}: {found}, expected {expected}")

    first, *others = KINDS
    summaries = account.results[first]
    equal(f"{first} jobs", sum(account.jobs[first].values()), account.long_versions)
    for kind in others:
        equal(f"{kind} jobs", sum(account.jobs[kind].values()), summaries)
    for kind in KINDS:
        done = account.jobs[kind].get(State.SUCCESS, 0) - account.skipped[kind]
        equal(f"{kind} results", account.results[kind], done)

    return replace(account, differences=tuple(wrong))
