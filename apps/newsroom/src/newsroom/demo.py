"""`newsroom demo`: everything at once against a sandbox, with faults, an empty wallet and an end.

One process plays the news site, the AI provider and the newsroom; they talk over HTTP. The times
of the settings are shortened, so that 30 s x 2^n fits into two minutes. Exit status 0 only if
every article that was listed and every job is accounted for.
"""

import asyncio
import logging
import secrets
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp

from dure.core.filter import JobFilter
from dure.engine.journal import JsonLines
from dure.web import serve
from dure_sandbox import Fault, NewsOptions, Sandbox
from newsroom.program import Newsroom
from newsroom.prompts import KINDS
from newsroom.reading import Reading
from newsroom.report import Account, Report
from newsroom.screen import Screen, account_lines, article_lines
from newsroom.settings import Settings
from newsroom.site import ADMIN, site_of

SECONDS_MAX: Final = 110.0
_LOOK_SECONDS: Final = 0.5
_POOR_SECONDS: Final = 4.0
"""How long the wallet stays empty."""
_KINDS: Final = ",".join(KINDS)
_FAULTS: Final = (
    Fault(kind="status", site="news", status=500, share=0.02),
    Fault(kind="reset", site="news", share=0.01),
    Fault(kind="slow_start", site="news", share=0.01, seconds=1.0),
    Fault(kind="wrong_charset", site="news", path="/mnews/*", share=0.01),
    Fault(kind="throttle", site="news", path="/mnews/*", skip=60, count=1, retry_after=1),
    Fault(kind="throttle", site="ai", share=0.01, retry_after=1),
    Fault(kind="status", site="ai", status=500, share=0.02),
    Fault(kind="reset", site="ai", share=0.01),
    Fault(kind="stall", site="ai", share=0.005, seconds=30),
    Fault(kind="cut_json", site="ai", share=0.02),
    Fault(kind="refusal", site="ai", share=0.005),
    Fault(kind="bad_request", site="ai", share=0.003),
)
_WALLET: Final = Fault(kind="insufficient_quota", site="ai", skip=400)


@dataclass
class _Tale:
    """What has happened so far."""

    wallet: int
    """The fault that empties it."""
    emptied_at: float | None = None
    calls_before: int = 0
    is_paid: bool = False
    is_crawled_again: bool = False
    is_replayed: bool = False


async def demonstrate(store: str) -> int:
    """Run it on a fresh SQLite file, or in a schema of its own on the given PostgreSQL."""
    screen = Screen(sys.stdout)
    with tempfile.TemporaryDirectory(prefix="newsroom-") as folder:
        url = str(Path(folder) / "newsroom.db")
        if store:
            url = f"{store}{'&' if '?' in store else '?'}schema=newsroom_{secrets.token_hex(4)}"
        _log_to(Path(folder) / "newsroom.log")
        async with AsyncExitStack() as stack:
            sandbox = await stack.enter_async_context(
                Sandbox(news=NewsOptions(articles_per_day=400), faults=_FAULTS)
            )
            token = secrets.token_urlsafe()
            newsroom = Newsroom(_settings(url, sandbox, token))
            node = await stack.enter_async_context(newsroom.working())
            site = await stack.enter_async_context(serve(site_of(newsroom, node)))
            headers = {"Authorization": f"Bearer {token}"}
            client = aiohttp.ClientSession(site, headers=headers)
            http = await stack.enter_async_context(client)
            screen.say(f"News site {sandbox.news.url}, AI provider {sandbox.ai.url}, both faulty.")
            screen.say(f"The newsroom works on {newsroom.app.store.url}; the paper is at {site}/")
            demo = _Demo(newsroom, sandbox, http, screen)
            return await demo.run()


def _settings(url: str, sandbox: Sandbox, token: str) -> Settings:
    return Settings(
        store=url,
        site=sandbox.news.url,
        allow=("127.0.0.0/8",),
        news_rate="100/s",
        pages_max=1,
        recheck="5s",
        ai_url=f"{sandbox.ai.url}/v1",
        ai_key="sk-demo",
        ai_limits=("30000/m",),
        ai_timeout="2s",
        retry_base="500ms",
        attempts_max=6,
        batch_max=12,
        alert_every="10s",
        tokens=f"editor:admin:{token}",
    )


def _log_to(path: Path) -> None:
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(JsonLines())
    for name in ("dure", "newsroom"):
        log = logging.getLogger(name)
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False


class _Demo:
    def __init__(
        self, newsroom: Newsroom, sandbox: Sandbox, http: aiohttp.ClientSession, screen: Screen
    ) -> None:
        self._newsroom = newsroom
        self._sandbox = sandbox
        self._http = http
        self._screen = screen
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        least = newsroom.settings.min_content_length_for_ai
        self._report = Report(newsroom.app, newsroom.records, least)

    @property
    def _passed(self) -> float:
        return self._loop.time() - self._began

    async def run(self) -> int:
        """Watch, act when it is time to, and account for everything at the end."""
        await self._newsroom.app.fire("crawl")
        tale = _Tale(wallet=self._sandbox.faults.add(_WALLET))
        is_done = False
        while not is_done and self._passed < SECONDS_MAX:
            await asyncio.sleep(_LOOK_SECONDS)
            is_done = await self._step(tale)
        requests = self._sandbox.log
        self._say(
            f"all is over: {requests.total:,} requests, {len(requests.find(status=304)):,} of them "
            f"answered 304, {sum(bool(each.fault) for each in requests.entries):,} struck by a "
            f"fault, {len(requests.find(fault=_WALLET.kind))} to an empty wallet"
        )
        account = await self._report.account()
        return await self._end(account, is_done=is_done)

    async def _step(self, tale: _Tale) -> bool:
        """Look once; True when nothing is left to do."""
        counts = await self._report.counts()
        open_jobs = await self._count("state:pending,running,retry_wait,suspended")
        calls = len(self._sandbox.log.find(site="ai"))
        self._screen.draw(
            f"{self._passed:5.1f}s  {counts.articles} articles, {counts.complete} complete · jobs: "
            f"{counts.in_work} in work, {counts.suspended} suspended, {counts.dead} failed · "
            f"{calls} calls of the model",
            self._passed,
        )
        if tale.emptied_at is None and counts.suspended:
            tale.emptied_at, tale.calls_before = self._passed, calls
            self._say("the wallet is empty: all work on it is SUSPENDED for QUOTA")
        elif not tale.is_paid and tale.emptied_at is not None:
            if self._passed - tale.emptied_at > _POOR_SECONDS:
                tale.is_paid = True
                await self._pay(tale, calls, counts.suspended)
        elif tale.is_paid and not tale.is_crawled_again:
            tale.is_crawled_again = True
            await self._newsroom.app.fire("crawl")
            self._say("a second crawl: lists and articles are asked for conditionally")
        elif not open_jobs and tale.is_crawled_again and not tale.is_replayed:
            tale.is_replayed = True
            await self._replay(counts.dead)
        elif not open_jobs and tale.is_replayed:
            return True
        return False

    async def _pay(self, tale: _Tale, calls: int, suspended: int) -> None:
        self._sandbox.faults.remove(tale.wallet)
        answer = await self._ask("POST", "/resume?reason=QUOTA&spread=2s")
        self._say(
            f"{suspended} jobs waited {_POOR_SECONDS:g}s for money, which cost "
            f"{calls - tale.calls_before} calls; somebody pays and resumes {answer['resumed']}"
        )

    async def _replay(self, dead: int) -> None:
        """What FAILED for good is looked at, and tried once more when the faults are gone."""
        self._sandbox.faults.clear()
        answer = await self._ask("GET", "/dead-letters?limit=3")
        self._say(f"{dead} dead letters; faults are switched off and all of them replayed:")
        for letter in answer["jobs"]:
            self._screen.say(f"         {letter['kind']} {letter['error'][:90]}")
        await self._ask("POST", "/dead-letters/replay")
        await self._newsroom.app.commands.retry(
            JobFilter.parse("state:failed kind:ARTICLE,SECTION"), by="editor", reason="the demo"
        )

    async def _ask(self, method: str, path: str) -> Any:
        async with self._http.request(method, f"{ADMIN}{path}") as answer:
            answer.raise_for_status()
            return await answer.json()

    async def _count(self, wanted: str) -> int:
        kinds = f"{wanted} kind:{_KINDS},ARTICLE,SECTION,CRAWL"
        return (await self._newsroom.app.insights.count(JobFilter.parse(kinds))).jobs

    def _say(self, text: str) -> None:
        self._screen.say(f"{self._passed:5.1f}s  {text}")

    async def _end(self, account: Account, *, is_done: bool) -> int:
        shown = [s for s in await Reading(self._newsroom.records).newest() if s.is_complete]
        if shown:
            self._screen.say()
            korean = next((s for s in shown if not s.title.isascii()), shown[0])
            self._screen.say("\n".join(article_lines(korean, "ko")))
        self._screen.say("\n".join(account_lines(account)))
        wrong = list(account.differences)
        wrong += await self._unaccounted(account)
        if not is_done:
            wrong.append(f"{account.unfinished} jobs were not over after {SECONDS_MAX:g} s")
        if not shown:
            wrong.append("no article was finished")
        self._screen.say("\n".join(wrong) or "Every article and every job is accounted for.")
        return 1 if wrong else 0

    async def _unaccounted(self, account: Account) -> list[str]:
        """Articles that the site was asked for and that are neither here nor a dead letter."""
        asked = self._sandbox.log.find(site="news", path="/mnews/article/*")
        listed = {"-".join(each.path.split("/")[3:5]) for each in asked}
        rows = await self._newsroom.records.rows("select id from newsroom_article")
        lost = listed - {row["id"] for row in rows}
        failed = sum(n for state, n in account.jobs["ARTICLE"].items() if state.name == "FAILED")
        return [f"{len(lost)} articles are lost: {sorted(lost)[:5]}"] if len(lost) > failed else []
