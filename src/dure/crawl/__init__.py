"""Crawling on the engine: spiders as typed functions, every page a durable job."""

from dure.crawl.crawler import Crawler
from dure.crawl.feed import Entry, Sitemap
from dure.crawl.page import Missing, Page
from dure.crawl.request import Follow, Request
from dure.crawl.run import Run
from dure.crawl.spider import Crew, Parsed, Spider, Stage

__all__ = [
    "Crawler",
    "Crew",
    "Entry",
    "Follow",
    "Missing",
    "Page",
    "Parsed",
    "Request",
    "Run",
    "Sitemap",
    "Spider",
    "Stage",
]
