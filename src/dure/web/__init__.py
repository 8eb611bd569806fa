"""HTTP around an app: operators' commands, health and metrics; applications mount their own."""

from dure.web.access import Access, Actor, Role
from dure.web.jobs import job_routes
from dure.web.metrics import Metrics
from dure.web.problem import problem_of
from dure.web.server import serve
from dure.web.site import site

__all__ = [
    "Access",
    "Actor",
    "Metrics",
    "Role",
    "job_routes",
    "problem_of",
    "serve",
    "site",
]
