"""Dure: durable, fenced, fair jobs on SQLite and PostgreSQL."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dure.compose import App, open_store
    from dure.core.backoff import NEVER, Backoff, RetryPolicy
    from dure.core.batch import Overlap, Report
    from dure.core.errors import (
        BatchRunning,
        DureError,
        NotFound,
        QueueFull,
        Refused,
        StoreError,
        TooLarge,
    )
    from dure.core.job import Job, Unique
    from dure.core.limit import Limit, Window
    from dure.core.outcome import (
        Done,
        Fail,
        Guard,
        Outcome,
        Retry,
        Skip,
        Stale,
        Suspend,
        Wait,
        Write,
    )
    from dure.core.state import Event, Priority, State
    from dure.engine.attempts.context import Attempt, current
    from dure.engine.kind import PER_LANE, ChunkKind, Kind
    from dure.engine.node import Node
    from dure.engine.options import Departure, NodeOptions
    from dure.ports.rows import Receipt
else:
    # Names are imported when they are first asked for: the command line, which imports this
    # package like everybody else, must not wait for an engine that it may not need.
    _HOMES = {
        "dure.compose": ("App", "open_store"),
        "dure.core.backoff": ("NEVER", "Backoff", "RetryPolicy"),
        "dure.core.batch": ("Overlap", "Report"),
        "dure.core.errors": (
            "BatchRunning",
            "DureError",
            "NotFound",
            "QueueFull",
            "Refused",
            "StoreError",
            "TooLarge",
        ),
        "dure.core.job": ("Job", "Unique"),
        "dure.core.limit": ("Limit", "Window"),
        "dure.core.outcome": (
            "Done",
            "Fail",
            "Guard",
            "Outcome",
            "Retry",
            "Skip",
            "Stale",
            "Suspend",
            "Wait",
            "Write",
        ),
        "dure.core.state": ("Event", "Priority", "State"),
        "dure.engine.attempts.context": ("Attempt", "current"),
        "dure.engine.kind": ("PER_LANE", "ChunkKind", "Kind"),
        "dure.engine.node": ("Node",),
        "dure.engine.options": ("Departure", "NodeOptions"),
        "dure.ports.rows": ("Receipt",),
    }

    def __getattr__(name: str) -> object:
        for home, names in _HOMES.items():
            if name in names:
                value = globals()[name] = getattr(import_module(home), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "NEVER",
    "PER_LANE",
    "App",
    "Attempt",
    "Backoff",
    "BatchRunning",
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
    "Overlap",
    "Priority",
    "QueueFull",
    "Receipt",
    "Refused",
    "Report",
    "Retry",
    "RetryPolicy",
    "Skip",
    "Stale",
    "State",
    "StoreError",
    "Suspend",
    "TooLarge",
    "Unique",
    "Wait",
    "Window",
    "Write",
    "current",
    "open_store",
]
