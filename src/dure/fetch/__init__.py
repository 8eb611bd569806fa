"""Polite HTTP with memory: pages by the operator's rules, failures by one taxonomy."""

from dure.fetch.failure import ERRORS, Failure, FetchError
from dure.fetch.fetcher import Fetcher
from dure.fetch.host import Host
from dure.fetch.page import Page, Validators
from dure.fetch.policy import FetchPolicy, Manners, Robots
from dure.fetch.url import canonical, canonical_many
from dure.fetch.wire import Call, Reply, Timeouts, Wire

__all__ = [
    "ERRORS",
    "Call",
    "Failure",
    "FetchError",
    "FetchPolicy",
    "Fetcher",
    "Host",
    "Manners",
    "Page",
    "Reply",
    "Robots",
    "Timeouts",
    "Validators",
    "Wire",
    "canonical",
    "canonical_many",
]
