"""Crawling: a round over eight sections, each with its own jobs, so that none waits for another.

CRAWL    every five minutes; one batch with a job for each section
SECTION  reads a list and finds what is new and what may have been edited
ARTICLE  reads one article, keeps it, and asks for a SUMMARY when it is long enough
"""

from collections.abc import Sequence
from typing import Any, Final

import dure
from dure.core.batch import Overlap, Report
from dure.engine.kind import ErrorRule
from dure.fetch import ERRORS, Fetcher, Page, Validators
from dure.fetch.failure import NotThere
from newsroom.analysis import Analysis
from newsroom.article import Article, Kept, read_article
from newsroom.listing import Item, Listing, list_url, next_url, read_fragment, read_page
from newsroom.metrics import NewsMetrics
from newsroom.records import Known, Records
from newsroom.sections import SECTIONS
from newsroom.settings import Settings

CRAWL: Final = "CRAWL"
SECTION: Final = "SECTION"
ARTICLE: Final = "ARTICLE"
SITE: Final = "news site"
"""The limit all requests to the site share, over all nodes."""
_RECHECKS_MAX: Final = 100
"""Articles of one section that one crawl asks for again."""
_FETCH_SECONDS: Final = 60.0


class Crawl:
    """Declares the kinds, the schedule and the limit."""

    def __init__(
        self,
        app: dure.App,
        fetcher: Fetcher,
        analysis: Analysis,
        records: Records,
        *,
        metrics: NewsMetrics,
        settings: Settings,
    ) -> None:
        self._app = app
        self._fetcher = fetcher
        self._analysis = analysis
        self._records = records
        self._metrics = metrics
        self._settings = settings
        app.limit(SITE, settings.news_rate)
        fetching: dict[str, Any] = {
            "limits": SITE,
            "errors": ERRORS,
            "timeout": _FETCH_SECONDS,
            "uses": "http",
            "retry": settings.retry,
        }
        before = dure.Skip("the crawl before this one is still under way")
        running: dict[type[BaseException], ErrorRule] = {dure.BatchRunning: before}
        crawl = app.kind(name=CRAWL, retry=settings.retry, errors=running)(self._crawl)
        self._section = app.kind(name=SECTION, rank=-1, **fetching)(self._read_list)
        self._article = app.kind(name=ARTICLE, slots=(4, 16), **fetching)(self._read_article)
        app.report(CRAWL)(self._over)
        app.schedule("crawl", settings.crawl, crawl(), tz="Asia/Seoul")

    async def _crawl(self) -> dure.Outcome:
        """One round over all sections."""
        async with self._app.batch(CRAWL, overlap=Overlap.SKIP) as batch:
            await batch.add([self._section(name).options(lane=name) for name in SECTIONS])
        return dure.Done()

    async def _over(self, report: Report) -> dure.Outcome:
        """A round has ended; the numbers of it become metrics."""
        seconds = report.duration or 0.0
        return dure.Done({"seconds": seconds, "failed": report.tally.failed})

    async def _read_list(self, section: str) -> dure.Outcome:
        """What a section's list has that we have not; what we have that may have been edited."""
        url = list_url(self._settings.site, SECTIONS[section].sid2)
        before = await self._records.list_validators(section)
        page = await self._get("list", url, before)
        found: list[Item] = []
        if not page.is_not_modified:
            found = await self._new_ones(section, read_page(page.text, url))
        again = await self._to_check(section)
        jobs = [self._job(item, section) for item in (*found, *again)]
        return dure.Done(
            {"new": len(found), "again": len(again), "is_unchanged": page.is_not_modified},
            writes=[self._records.keep_list(section, _validators(page, before))],
            then=jobs,
        )

    async def _new_ones(self, section: str, listing: Listing) -> list[Item]:
        """Follow the list for as long as it brings only news; its cursor moves, or it is over."""
        found: dict[str, Item] = {}
        seen: set[str] = set()
        for number in range(2, self._settings.pages_max + 2):
            known = await self._records.known(listing.items)
            fresh = [i for i in listing.items if i.id not in known and i.id not in found]
            found.update((item.id, item) for item in fresh)
            cursor = listing.cursor
            is_last = number > self._settings.pages_max or len(fresh) < len(listing.items)
            if is_last or cursor is None or cursor in seen:
                break
            seen.add(cursor)
            sid2 = SECTIONS[section].sid2
            url = next_url(self._settings.site, sid2, page=number, cursor=cursor)
            listing = read_fragment((await self._get("list", url, None)).text, url)
        return list(found.values())

    async def _to_check(self, section: str) -> Sequence[Item]:
        now = self._records.now()
        return await self._records.to_check(
            section,
            checked_before=now - self._settings.seconds("recheck"),
            published_after=now - self._settings.seconds("edits_for"),
            most=_RECHECKS_MAX,
        )

    def _job(self, item: Item, section: str) -> dure.Job:
        job: dure.Job = self._article(item.oid, item.aid, item.url, item.title, section)
        return job.options(lane=section, priority=self._priority(item.title), unique=item.id)

    def _priority(self, title: str) -> dure.Priority:
        is_urgent = any(word in title for word in self._settings.urgent_words)
        return dure.Priority.HIGH if is_urgent else dure.Priority.NORMAL

    async def _read_article(
        self, oid: str, aid: str, url: str, title: str, section: str
    ) -> dure.Outcome:
        """Keep an article if it is new or edited (A1), and have it analysed if it is long (A2)."""
        item = Item(oid=oid, aid=aid, url=url, title=title)
        known = await self._records.article(item.id)
        validators = known.validators if known is not None else None
        try:
            page = await self._get("article", url, validators)
        except NotThere:
            return self._kept(item, Article(kept=Kept.DELETED), section, known, Validators())
        if page.is_not_modified:
            checked = self._records.checked(item.id, _validators(page, validators))
            return _said("unchanged", writes=[checked])
        article = read_article(page.text)
        return self._kept(item, article, section, known, page.validators)

    def _kept(
        self,
        item: Item,
        article: Article,
        section: str,
        known: Known | None,
        validators: Validators,
    ) -> dure.Outcome:
        version = 0 if known is None else known.version
        if article.kept is not Kept.OK:
            if version:
                return _said("deleted", writes=[self._records.gone(item.id)])
        elif version and known is not None and known.fingerprint == article.fingerprint:
            return _said("unchanged", writes=[self._records.checked(item.id, validators)])
        else:
            version += 1
        priority = self._priority(article.title or item.title)
        writes = self._records.keep_article(
            item,
            article,
            section=section,
            version=version,
            is_urgent=priority is dure.Priority.HIGH,
            validators=validators,
        )
        if article.kept is not Kept.OK:
            return _said(str(article.kept), writes=list(writes))
        if len(article.body) < self._settings.min_content_length_for_ai:
            return _said("short", writes=list(writes))
        jobs = self._analysis.first(item.id, version, lane=section, priority=priority)
        return _said("saved" if version == 1 else "edited", writes=list(writes), then=jobs)

    async def _get(self, what: str, url: str, validators: Validators | None) -> Page:
        with self._metrics.fetching(what):
            return await self._fetcher.get(url, validators=validators)


def _validators(page: Page, before: Validators | None) -> Validators:
    """Those of the answer; a 304 may come without and then confirms the ones that were sent."""
    return page.validators or before or page.validators


def _said(
    status: str, *, writes: Sequence[dure.Write], then: Sequence[dure.Job] = ()
) -> dure.Outcome:
    return dure.Done({"status": status}, writes=writes, then=then)
