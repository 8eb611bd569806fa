"""One page from its job to its outcome: fetch, parse, and what should become true of it.

Fetching and parsing are one job while all goes well. When parsing fails the body is kept and
a job of its own is left with the error: a replay of that one parses again and fetches nothing.
"""

import inspect
from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dure.core.errors import KindInvalid
from dure.core.job import Job
from dure.core.outcome import Done, Fail, Outcome, Write
from dure.crawl.address import Address, address_of, origin_of
from dure.crawl.item import is_item, write_of
from dure.crawl.lines.line import TO_FETCH
from dure.crawl.page import Page
from dure.crawl.poll import Poll, last_visit, visit_key
from dure.crawl.request import Follow, Request
from dure.crawl.run import Course
from dure.crawl.spider import Spider, Stage
from dure.engine.attempts.context import current
from dure.engine.attempts.disposition import describe
from dure.engine.work import Work
from dure.fetch.page import Page as Fetched
from dure.scripts import crawls
from dure.stores.statement import shared

if TYPE_CHECKING:
    from dure.crawl.crawler import Crawler
    from dure.crawl.presence import Presence
    from dure.crawl.workbench import LaneGate

YIELDS_MAX: Final = 100_000
"""What one page may yield; a stage that yields more is in a loop."""
_SPILL: Final = shared("sqlite", "crawl_spill")
_DROP: Final = shared("sqlite", "crawl_body_drop")


@dataclass(slots=True)
class Found:
    """What a stage made of a page."""

    asked: list[Request | Follow] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    items: int = 0


class Visits:
    """Runs the pages of all spiders of a crawler."""

    def __init__(self, crawler: "Crawler") -> None:
        self._crawler = crawler

    async def visit(
        self, stage: Stage, url: str, meta: Mapping[str, Any], depth: int, *, is_polled: bool
    ) -> Outcome:
        """Fetch a page, parse it, and say what follows."""
        work, gate = self._crawler.here()
        try:
            poll = await self._poll(stage, url) if is_polled else None
            fetched = await self._fetched(stage, url, work, gate, poll)
            page = self._page(fetched, meta)
            answer = await self._parsed(stage, gate.presence, page, depth, poll)
            gate.saving(await gate.line.save.begin())
        except BaseException:  # also when it is cancelled: the store is not going to hear of it
            gate.gave_up()
            raise
        return answer

    async def _poll(self, stage: Stage, url: str) -> Poll:
        course = await self._crawler.course(stage.spider, current().session)
        key = visit_key(course.run.scope, stage, url)
        return Poll(key, await self._crawler.store.read(last_visit(key)))

    async def _fetched(
        self,
        stage: Stage,
        url: str,
        work: Work,
        gate: "LaneGate",
        poll: Poll | None,
    ) -> Fetched:
        """Fetch a page and hand it over; a full queue keeps its worker here."""
        presence = gate.presence
        now = presence.clock.monotonic
        worker, took, is_good = gate.begin(), 0.0, False
        try:
            validators = poll.last.validators if poll and poll.last else None
            fetched = await self._crawler.fetcher.get(url, validators=validators)
            # Without the wait for its host's turn: that is no sign of too many workers.
            took = fetched.elapsed
            presence.fetched(stage, len(fetched.body), took)
            presence.node.pacer.let_go(work, TO_FETCH)
            is_good = True
            await gate.line.parse.queue.enter()
        finally:
            gate.end(worker, is_good=is_good, took=took, now=now())
        return fetched

    async def parse_again(
        self, stage: Stage, key: str, meta: Mapping[str, Any], depth: int
    ) -> Outcome:
        """Parse a page that was kept because its stage failed on it."""
        crawler = self._crawler
        body = await crawler.store.read(crawls.body(key))
        if body is None:
            return Fail(f"the kept page {key} is gone: replay the job that fetched it")
        course = await crawler.course(stage.spider, current().session)
        fetched = Fetched(
            asked=body.url,
            url=body.url,
            status=body.status,
            headers=crawler.headers(body.content_type),
            body=bytes(body.body),
        )
        found = await parse(stage, self._page(fetched, meta), crawler.now())
        jobs = await self._jobs(stage.spider, course, fetched.url, depth, found)
        return Done(writes=[*found.writes, Write(_DROP, {"key": key})], then=jobs)

    def _page(self, fetched: Fetched, meta: Mapping[str, Any]) -> Page:
        return Page(fetched, meta=meta, reader=self._crawler.reader)

    async def _parsed(
        self, stage: Stage, presence: "Presence", page: Page, depth: int, poll: Poll | None
    ) -> Outcome:
        """Parse a page and hand over what it brings; a full queue keeps its worker here."""
        line = presence.lines[stage.kind]
        worker, is_good = await line.parse.begin(), False
        try:
            at = self._crawler.now()
            began = presence.clock.monotonic()
            course = await self._crawler.course(stage.spider, current().session)
            try:
                if poll is not None and poll.is_unchanged(page.fetched):
                    found = Found(poll.requests(stage.spider.stages))
                else:
                    found = await parse(stage, page, at)
                    if poll is not None:
                        found.writes += poll.writes(page.fetched, found.asked, at)
                page.let_go()
                jobs = await self._jobs(stage.spider, course, page.url, depth, found)
            except Exception as error:  # whatever a stage raises: it must not be fetched again
                presence.parse_failed(stage, describe(error))
                answer = self._spilled(stage, page, depth, at)
            else:
                is_good = True
                took = presence.clock.monotonic() - began
                presence.parsed(stage, took, items=found.items, children=jobs)
                answer = Done(writes=found.writes, then=jobs)
            await line.save.queue.enter()
        finally:
            line.parse.end(worker, is_good=is_good)
        return answer

    def _spilled(self, stage: Stage, page: Page, depth: int, at: float) -> Outcome:
        fetched = page.fetched
        key = str(current().job)
        kept = {
            "key": key,
            "url": fetched.url,
            "status": fetched.status,
            "content_type": fetched.headers.get("Content-Type", ""),
            "body": fetched.body,
            "at": at,
        }
        again = self._crawler.parse_kind(stage)(key, dict(page.meta), depth)
        return Done(writes=[Write(_SPILL, kept)], then=[again.options(lane=current().lane)])

    async def _jobs(
        self, spider: Spider, course: Course, page_url: str, depth: int, found: Found
    ) -> list[Job]:
        """Jobs for what is new; what is known already costs no more than being looked at."""
        jobs = found.jobs
        wanted: dict[bytes, tuple[Address, Request | Follow]] = {}
        origin = origin_of(page_url)
        crawler = self._crawler
        for asked in found.asked:
            if isinstance(asked, Follow):
                addresses = crawler.addresses.resolve(
                    page_url, origin, asked.urls, asked.stage.kind
                )
                wanted.update((each.digest, (each, asked)) for each in addresses)
                continue
            address = address_of(page_url, asked.url, asked.stage.kind)
            if address is None:
                crawler.addresses.refused += 1
            elif asked.again:
                jobs.append(crawler.job(course, address, asked, depth + 1, unique=None))
            else:
                wanted[address.digest] = (address, asked)
        if not wanted:
            return jobs
        seen = course.seen
        new, doubtful = seen.sort(wanted)
        if doubtful:
            known = await course.known(doubtful)
            missing = [digest for digest in doubtful if digest not in known]
            seen.false_positives += len(missing)
            new += missing
        for digest in new:
            address, asked = wanted[digest]
            if course.hosts and address.host not in course.hosts:
                course.outside += 1
            elif depth >= spider.depth_max:
                course.too_deep += 1
            else:
                key = course.key(digest)
                jobs.append(crawler.job(course, address, asked, depth + 1, unique=key))
        return jobs


async def parse(stage: Stage, page: Page, at: float) -> Found:
    """Run a stage on a page and sort what it yields."""
    answer = stage.parse(page)
    if inspect.isawaitable(answer):
        answer = await answer
    found = Found()
    if answer is None:
        return found
    if isinstance(answer, AsyncIterable):
        async for each in answer:
            _sort(stage, page, each, found, at)
        return found
    for each in _several(answer):
        _sort(stage, page, each, found, at)
    return found


def _several(answer: object) -> Iterable[object]:
    if isinstance(answer, Iterable) and not isinstance(answer, str | bytes | Mapping):
        return answer
    return (answer,)


def _sort(stage: Stage, page: Page, each: object, found: Found, at: float) -> None:
    if isinstance(each, Request | Follow):
        found.asked.append(each)
    elif isinstance(each, Write):
        found.writes.append(each)
    elif isinstance(each, Job):
        found.jobs.append(each)
    elif is_item(each):
        key = stage.spider.keys.get(type(each))
        attempt = current()
        found.writes.append(
            write_of(
                each,
                session=attempt.session or "",
                spider=stage.spider.name,
                url=page.url,
                number=found.items,
                key=key,
                at=at,
            )
        )
        found.items += 1
    else:
        raise KindInvalid(
            f"The stage {stage.kind!r} yielded {type(each).__name__}.",
            "Yield requests, dataclasses or msgspec structs, dure.Write or dure.Job.",
        )
    if len(found.asked) + len(found.writes) + len(found.jobs) > YIELDS_MAX:
        raise KindInvalid(f"The stage {stage.kind!r} yields more than {YIELDS_MAX:,} things.")
