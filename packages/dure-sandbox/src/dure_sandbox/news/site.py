"""The news site: eight sections with cursors; articles are edited and deleted in time."""

import re
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

import msgspec

from dure.core.errors import ConfigError
from dure_sandbox.exchange import Request, Response, html, json_bytes, plain
from dure_sandbox.lots import mixed, number_of
from dure_sandbox.news.pages import area, article_page, gone_page, moved_page, section_page
from dure_sandbox.news.prose import Story, story
from dure_sandbox.news.sections import ECONOMY, SECTIONS
from dure_sandbox.news.stream import DAY_SECONDS, KOREA, Facts, Look, Stream, day_of, start_of
from dure_sandbox.validators import validated

PAGE_SIZE: Final = 36
BACK_DAYS: Final = 7
"""How far a list without a date goes back."""
STORIES_MAX: Final = 4096
"""How many stories are kept written."""
TEMPLATE: Final = "SECTION_ARTICLE_LIST_FOR_LATEST"
ROBOTS: Final = "User-agent: *\nDisallow: /mnews/article/comment/\nAllow: /\n"
LIST_HOST, ARTICLE_HOST = "news.naver.com", "n.news.naver.com"
_CURSOR: Final = re.compile(r"(\d{14})(\d{5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsOptions:
    articles_per_day: int = 2000
    """In all sections together."""
    has_validators: bool = True
    """Whether articles come with ETag and Last-Modified."""
    robots: str = ROBOTS

    def __post_init__(self) -> None:
        if not 8 <= self.articles_per_day <= 1_000_000:
            raise ConfigError(
                f"The news site cannot publish {self.articles_per_day} articles a day.",
                "Give a number from 8 to 1000000.",
            )


class News:
    name = "news"

    def __init__(self, seed: int, options: NewsOptions) -> None:
        self._seed = mixed(seed, 0x4E57)
        self._options = options
        self.stream = Stream(seed, options.articles_per_day)
        self._stories: OrderedDict[tuple[int, int], Story] = OrderedDict()

    def answer(self, request: Request, now: float) -> Response:
        if request.method not in {"GET", "HEAD"}:
            return self.refuse(405)
        match request.path.strip("/").split("/"):
            case ["breakingnews", "section", sid, section] if sid == ECONOMY:
                return self._list(request, section, now, is_fragment=False)
            case ["section", "template", template] if template == TEMPLATE:
                return self._list(request, request.query.get("sid2", ""), now, is_fragment=True)
            case ["mnews", "article", oid, aid] | ["article", oid, aid]:
                return self._article(request, oid, aid, now)
            case ["mnews", "article", "comment", _, _]:
                return html("<!doctype html><title>댓글</title><p>댓글이 없습니다.</p>")
            case ["entertain", "article", oid, aid]:
                return self._moved(oid, aid, now)
            case ["robots.txt"]:
                return plain(self._options.robots.replace("{origin}", request.origin))
            case [""] | ["section", _]:
                return self._front(now)
        return self.refuse(404)

    def refuse(self, status: int) -> Response:
        return html(gone_page() if status in {404, 410} else f"<h1>오류 {status}</h1>\n", status)

    def listed(self, section: str, day: str, now: float) -> list[Facts]:
        """All that the lists of a section and day hold now, newest first."""
        before, oldest = self._span(day, now)
        return list(self.stream.listed(section, before, oldest, now))

    def story(self, facts: Facts, now: float) -> Story:
        """The story as it is told now, for comparing what was collected."""
        key = facts.number, facts.version(now)
        told = self._stories.get(key)
        if told is None:
            told = self._stories[key] = story(self._seed, facts, key[1])
            if len(self._stories) > STORIES_MAX:
                self._stories.popitem(last=False)
        return told

    def find(self, oid: str, aid: str, now: float) -> Facts | None:
        """The article of that name, if it has been published by now."""
        if not (len(aid) == 10 and aid.isascii() and aid.isdigit()):
            return None
        number = int(aid)
        if number > self.stream.newest(now):
            return None
        facts = self.stream.facts(number)
        return facts if facts.oid == oid else None

    def _front(self, now: float) -> Response:
        links = "".join(
            f'<li><a href="/breakingnews/section/{ECONOMY}/{each}">{title}</a></li>'
            for each, title in SECTIONS.items()
        )
        return html(f"<!doctype html><title>두레뉴스</title><ul>{links}</ul><p>{day_of(now)}</p>")

    def _span(self, day: str | None, now: float) -> tuple[int, float]:
        """Below which number a list begins, and the oldest moment it holds."""
        newest = self.stream.newest(now) + 1
        if not day:
            return newest, start_of(day_of(now)) - BACK_DAYS * DAY_SECONDS
        start = start_of(day)
        return min(newest, self.stream.number_at(start + DAY_SECONDS)), start

    def _list(self, request: Request, section: str, now: float, *, is_fragment: bool) -> Response:
        query = request.query
        try:
            before, oldest = self._span(query.get("date"), now)
        except ValueError:
            return self.refuse(400)
        if section not in SECTIONS:
            return self.refuse(404)
        last = self._position(query.get("next", "")) if is_fragment else None
        if last is not None:
            before = min(before, last)
        found = list(islice(self.stream.listed(section, before, oldest, now), PAGE_SIZE + 1))
        shown = found[:PAGE_SIZE]
        page = query.get("pageNo", "1")
        listed = area(
            self._seed,
            shown,
            origin=_article_origin(request),
            page=int(page[:6]) if page.isascii() and page.isdigit() else 1,
            cursor=_cursor(shown[-1]) if len(found) > PAGE_SIZE else None,
            now=now,
        )
        if is_fragment:
            return json_bytes(msgspec.json.encode({"renderedComponent": {TEMPLATE: listed}}))
        response = html(section_page(section, listed))
        return validated(request, response, tag=f"{number_of(response.body):016x}")

    def _position(self, cursor: str) -> int | None:
        """Below which number the next page begins; None for a cursor that was never given."""
        found = _CURSOR.fullmatch(cursor)
        if found is None:
            return None
        time = found[1]
        try:
            day = start_of(time[:8])
        except ValueError:
            return None
        seconds = int(time[8:10]) * 3600 + int(time[10:12]) * 60 + int(time[12:])
        return self.stream.near(day + seconds, int(found[2]))

    def _article(self, request: Request, oid: str, aid: str, now: float) -> Response:
        facts = self.find(oid, aid, now)
        if facts is None:
            return self.refuse(404)
        if facts.is_deleted(now):
            return html(gone_page(), 404 if facts.number % 2 else 200)
        if facts.look is Look.MOVED:
            place = f"{_article_origin(request)}/entertain/article/{oid}/{aid}"
            return Response(status=302, headers=(("Location", place),))
        text = article_page(facts, self.story(facts, now), origin=_article_origin(request), now=now)
        response = html(text, charset=facts.press.charset)
        if not facts.press.says_charset_in_header:
            response = Response(headers=(("Content-Type", "text/html"),), body=response.body)
        if not self._options.has_validators:
            return response
        version = facts.version(now)
        modified = facts.edited_at if version and facts.edited_at else facts.published_at
        return validated(request, response, tag=f"{facts.aid}-{version}", modified_at=modified)

    def _moved(self, oid: str, aid: str, now: float) -> Response:
        facts = self.find(oid, aid, now)
        if facts is None or facts.is_deleted(now) or facts.look is not Look.MOVED:
            return self.refuse(404)
        return html(moved_page(facts, self.story(facts, now)))


def _article_origin(request: Request) -> str:
    """Lists link to another host where the real site does; on one port, to the same."""
    return f"{request.scheme}://{ARTICLE_HOST}" if request.host == LIST_HOST else request.origin


def _cursor(last: Facts) -> str:
    moment = datetime.fromtimestamp(last.published_at, KOREA)
    return f"{moment:%Y%m%d%H%M%S}{last.number % 100_000:05d}"
