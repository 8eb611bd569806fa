"""Crawling on the engine: spiders as typed functions, every page a durable job."""

from dure.crawl.feed import Entry, Sitemap
from dure.crawl.page import Missing, Page
from dure.crawl.request import Follow, Request
from dure.crawl.spider import Crew, Parsed, Spider, Stage

__all__ = [
    "Crew",
    "Entry",
    "Follow",
    "Missing",
    "Page",
    "Parsed",
    "Request",
    "Sitemap",
    "Spider",
    "Stage",
]
