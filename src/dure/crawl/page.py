"""A page as a stage sees it: selectors, links, and what its parent said about it."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from dure.core.errors import ConfigError
from dure.core.state import Priority
from dure.crawl.article import Article, Reader
from dure.crawl.feed import Entry, Sitemap, read_feed, read_sitemap
from dure.crawl.request import NO_META, Follow, Request
from dure.fetch.page import Page as Fetched

if TYPE_CHECKING:
    from dure.crawl.spider import Stage

_UTF8: Final = frozenset({"utf-8", "utf8", "ascii", "us-ascii"})
_SPACE: Final = re.compile(r"\s+")


class Missing(LookupError):
    """A page lacks what its stage needs: the site has changed, or this is another kind of page."""


def check_selector(css: str) -> None:
    """Raises ConfigError for what is no selector: before a page is fetched for it."""
    try:
        LexborHTMLParser("").css(css)
    except SelectolaxError as error:
        raise ConfigError(f"{css!r} is no CSS selector.", "Write one like 'ul.list a'.") from error


class Page:
    """A fetched page. Parsed when a selector first asks; `fetched` is the raw answer."""

    def __init__(
        self,
        fetched: Fetched,
        *,
        meta: Mapping[str, Any] = NO_META,
        reader: Reader | None = None,
    ) -> None:
        self._reader = reader
        self.fetched = fetched
        self.url = fetched.url
        """The address that answered, after redirects."""
        self.meta = meta
        self.status = fetched.status
        self.body = fetched.body

    @property
    def html(self) -> str:
        """The body as text, whatever its charset."""
        return self.fetched.text

    def json(self) -> Any:
        """The body as JSON. Raises BodyBroken."""
        return self.fetched.json()

    @cached_property
    def tree(self) -> LexborHTMLParser:
        """The parsed document, for what the selectors below cannot say."""
        # The parser reads UTF-8 bytes as they are: no copy of the text is made for them.
        is_utf8 = self.fetched.charset.lower() in _UTF8
        return LexborHTMLParser(self.body if is_utf8 else self.html)

    def let_go(self) -> None:
        """Drop the parsed document, which is many times as large as the body."""
        self.__dict__.pop("tree", None)

    def one(self, css: str) -> LexborNode | None:
        """The first element that matches."""
        return self.tree.css_first(css)

    def all(self, css: str) -> list[LexborNode]:
        """Every element that matches, once, in the order of the document."""
        nodes = self.tree.css(css)
        if "," not in css:
            return nodes
        # A group of selectors answers an element once for each of them that matches it.
        return list({node.mem_id: node for node in nodes}.values())

    def text(self, css: str, default: str | None = None) -> str:
        """The text of the first match, its white space tidied. Raises Missing without a default."""
        node = self.tree.css_first(css)
        if node is None:
            if default is None:
                raise Missing(f"nothing matches {css!r} at {self.url}")
            return default
        return tidy(node)

    def texts(self, css: str) -> list[str]:
        """The text of every match."""
        return [tidy(node) for node in self.all(css)]

    def attr(self, css: str, name: str, default: str | None = None) -> str:
        """An attribute of the first match. Raises Missing without a default."""
        node = self.tree.css_first(css)
        value = None if node is None else node.attributes.get(name)
        if value is None:
            if default is None:
                raise Missing(f"no {name!r} of {css!r} at {self.url}")
            return default
        return value

    def attrs(self, css: str, name: str) -> list[str]:
        """An attribute of every match that has it."""
        return [v for node in self.all(css) if (v := node.attributes.get(name)) is not None]

    def links(self, css: str = "a") -> list[str]:
        """Where the matches lead, absolute, each once."""
        hrefs = self.attrs(css, "href")
        return list(dict.fromkeys(urljoin(self.location, href) for href in hrefs))

    @cached_property
    def location(self) -> str:
        """What relative links are relative to."""
        declared = self.tree.css_first("head > base")
        href = None if declared is None else declared.attributes.get("href")
        return urljoin(self.url, href) if href else self.url

    def follow(
        self,
        css: str,
        stage: "Stage",
        *,
        meta: Mapping[str, Any] = NO_META,
        priority: Priority | None = None,
    ) -> Follow:
        """Ask for every link that matches; those that are known already cost nothing."""
        hrefs = self.attrs(css, "href")
        if self.location != self.url:
            hrefs = [urljoin(self.location, href) for href in hrefs]
        return Follow(hrefs, stage, meta, priority)

    def request(
        self,
        url: str,
        stage: "Stage",
        *,
        meta: Mapping[str, Any] = NO_META,
        priority: Priority | None = None,
        again: bool = False,
        delay: float = 0.0,
    ) -> Request:
        """Ask for one address, which may be relative."""
        return Request(urljoin(self.url, url), stage, meta, priority, again, delay)

    def url_with(self, **query: object) -> str:
        """This address with parameters replaced, or left out where None: the next cursor."""
        parts = urlsplit(self.url)
        kept = [(k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if k not in query]
        added = [(name, str(value)) for name, value in query.items() if value is not None]
        return urlunsplit(parts._replace(query=urlencode([*kept, *added]), fragment=""))

    async def article(
        self,
        *,
        title: Sequence[str] = ("h1",),
        body: Sequence[str] = (),
        published: Sequence[str] = (),
    ) -> Article | None:
        """The article: by these selectors first, else by a reader in another process."""
        reader = self._reader or Reader()
        try:
            return await reader.article(self, title=title, body=body, published=published)
        finally:
            if reader is not self._reader:
                await reader.close()

    def feed(self) -> Sequence[Entry]:
        """The entries of an RSS or Atom feed. Raises Missing when it is none."""
        return read_feed(self.body, self.url)

    def sitemap(self) -> Sitemap:
        """The addresses of a sitemap or of a sitemap index. Raises Missing when it is none."""
        return read_sitemap(self.body, self.url)

    def __repr__(self) -> str:
        return f"<page {self.status} {self.url}>"


def tidy(node: LexborNode) -> str:
    """The text of an element with its white space as a reader sees it."""
    return _SPACE.sub(" ", node.text()).strip()
