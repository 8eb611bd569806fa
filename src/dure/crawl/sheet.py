"""A spider written as a small TOML file: start addresses, what to follow, what to take.

name = "shop"
start = ["https://shop.example/list"]

[stages.listing]
follow = [{css = "a.product", stage = "product"}, {css = "a.next", stage = "listing"}]

[stages.product]
item = "Product"
key = "sku"
[stages.product.fields]
sku = ".sku"
title = "h1"
image = {css = "img.main", attr = "src", required = false}
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from selectolax.lexbor import LexborNode

from dure.core.errors import ConfigError
from dure.crawl.page import Missing, Page, check_selector, tidy
from dure.crawl.spider import DEPTH_MAX, Spider
from dure.fetch.policy import FetchPolicy, Manners, Robots


class FollowRule(msgspec.Struct, forbid_unknown_fields=True):
    """Links to follow."""

    css: str
    stage: str


class FieldRule(msgspec.Struct, forbid_unknown_fields=True):
    """One field of an item."""

    css: str
    attr: str = ""
    many: bool = False
    required: bool = True


class StageRule(msgspec.Struct, forbid_unknown_fields=True):
    """One kind of page."""

    follow: list[FollowRule] = []
    item: str = ""
    key: str = ""
    each: str = ""
    """Where a page holds many items: the element of each of them."""
    fields: dict[str, str | FieldRule] = {}


class FetchRule(msgspec.Struct, forbid_unknown_fields=True):
    """Manners."""

    delay: float = 1.0
    concurrency: int = 4
    robots: bool = True
    user_agent: str = ""
    allow: list[str] = []
    """Private networks that may be reached."""


class Sheet(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file."""

    name: str
    start: list[str]
    stages: dict[str, StageRule]
    hosts: list[str] = []
    depth_max: int = DEPTH_MAX
    known_across_runs: bool = False
    fetch: FetchRule = msgspec.field(default_factory=FetchRule)


def read_sheet(path: Path) -> Sheet:
    """The file, checked. Raises ConfigError saying what is wrong and where."""
    try:
        sheet = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Sheet)
    except OSError as error:
        raise ConfigError(f"{str(path)!r} cannot be read: {error}.", "Check the path.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}.", "Correct it first.") from error
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{path} is not a spider: {error}.", "See docs/reference/crawl.md."
        ) from error
    for name, rule in sheet.stages.items():
        for follow in rule.follow:
            if follow.stage not in sheet.stages:
                raise ConfigError(
                    f"{path}: stage {name!r} follows to {follow.stage!r}, which does not exist.",
                    f"There are: {', '.join(sheet.stages)}.",
                )
        if bool(rule.fields) != bool(rule.item):
            raise ConfigError(
                f"{path}: stage {name!r} needs both `item` and `fields`, or neither.",
                "`item` is the name of the type, `fields` say where each value stands.",
            )
        if rule.key and rule.key not in rule.fields:
            raise ConfigError(f"{path}: stage {name!r} has no field {rule.key!r} for its `key`.")
        for css in _selectors(rule):
            check_selector(css)
    return sheet


def _selectors(rule: StageRule) -> Iterator[str]:
    """Every selector of a stage."""
    yield from (follow.css for follow in rule.follow)
    yield from (each if isinstance(each, str) else each.css for each in rule.fields.values())
    if rule.each:
        yield rule.each


def spider_of(sheet: Sheet) -> Spider:
    """The spider that a sheet describes."""
    spider = Spider(
        sheet.name,
        sheet.start,
        hosts=sheet.hosts or None,
        depth_max=sheet.depth_max,
        known_across_runs=sheet.known_across_runs,
    )
    for name, rule in sheet.stages.items():
        spider.add(_stage(spider, rule), name=name)
    return spider


def policy_of(sheet: Sheet) -> FetchPolicy:
    """How its hosts are treated. Raises ConfigError."""
    rule = sheet.fetch
    given: dict[str, Any] = {"user_agents": (rule.user_agent,)} if rule.user_agent else {}
    try:
        return FetchPolicy(
            manners=Manners(delay=rule.delay, concurrency=rule.concurrency),
            robots=Robots.OBEY if rule.robots else Robots.IGNORE,
            allow=tuple(rule.allow),
            **given,
        )
    except ValueError as error:
        raise ConfigError(f"[fetch] of {sheet.name!r} is refused: {error}.") from error


def _stage(spider: Spider, rule: StageRule) -> Any:
    fields = {
        name: FieldRule(each) if isinstance(each, str) else each
        for name, each in rule.fields.items()
    }
    item = None
    if rule.item:
        item = msgspec.defstruct(rule.item, [(name, Any) for name in fields])
        if rule.key:
            spider.keys[item] = rule.key

    def parse(page: Page) -> Iterator[object]:
        if item is not None:
            places = page.all(rule.each) if rule.each else [page.tree.root]
            for place in places:
                if place is not None:
                    yield item(**{name: _value(page, place, f) for name, f in fields.items()})
        for follow in rule.follow:
            yield page.follow(follow.css, spider.stages[follow.stage])

    return parse


def _value(page: Page, place: LexborNode, rule: FieldRule) -> object:
    nodes = place.css(rule.css)
    values = [
        value
        for node in nodes
        if (value := node.attributes.get(rule.attr) if rule.attr else tidy(node)) is not None
    ]
    if rule.many:
        return values
    if values:
        return values[0]
    if rule.required:
        raise Missing(f"nothing matches {rule.css!r} at {page.url}")
    return None
