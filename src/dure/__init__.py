"""Dure: durable, fenced, fair jobs on SQLite and PostgreSQL."""

from dure.compose import App, open_store
from dure.core.backoff import NEVER, Backoff, RetryPolicy
from dure.core.errors import DureError, NotFound, QueueFull, Refused, StoreError
from dure.core.job import Job, Unique
from dure.core.limit import Limit, Window
from dure.core.outcome import Done, Fail, Guard, Outcome, Retry, Skip, Stale, Suspend, Wait, Write
from dure.core.state import Event, Priority, State
from dure.engine.context import Attempt, current
from dure.engine.kind import PER_LANE, ChunkKind, Kind
from dure.engine.node import Departure, Node, NodeOptions
from dure.ports.rows import Receipt

__all__ = [
    "NEVER",
    "PER_LANE",
    "App",
    "Attempt",
    "Backoff",
    "ChunkKind",
    "Departure",
    "Done",
    "DureError",
    "Event",
    "Fail",
    "Guard",
    "Job",
    "Kind",
    "Limit",
    "Node",
    "NodeOptions",
    "NotFound",
    "Outcome",
    "Priority",
    "QueueFull",
    "Receipt",
    "Refused",
    "Retry",
    "RetryPolicy",
    "Skip",
    "Stale",
    "State",
    "StoreError",
    "Suspend",
    "Unique",
    "Wait",
    "Window",
    "Write",
    "current",
    "open_store",
]
