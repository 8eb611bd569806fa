"""What figures should reach, and whether they do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dure.bench.figures import Figure


@dataclass(frozen=True, slots=True)
class Goal:
    """What a number should reach."""

    least: float | None = None
    most: float | None = None

    def __str__(self) -> str:
        return f"≥ {self.least:,g}" if self.least is not None else f"≤ {self.most:,g}"

    def is_met(self, value: float) -> bool:
        over = self.least is None or value >= self.least
        return over and (self.most is None or value <= self.most)


_EVERYWHERE: Final[Mapping[str, Goal]] = {
    "busy.served": Goal(least=1),
    "busy.p99": Goal(most=20),
    "flat": Goal(least=0.95),
    "flat.burst": Goal(least=0.8),
    "flat.hold": Goal(least=0.8),
    "fair": Goal(least=0.999),
    "fair.late": Goal(most=1),
    "fair.claim": Goal(most=2),
    "limits": Goal(most=1),
    "limits.share": Goal(least=0.95),
    "limits.rate": Goal(least=10_000),
    "ask": Goal(most=2),
    "ask.together": Goal(most=2),
    "dedup": Goal(least=300_000),
    "dedup.known": Goal(least=300_000),
    "dedup.lost": Goal(most=0),
    "crash.leases": Goal(most=2),
    "memory": Goal(most=60),
    "memory.load": Goal(most=60),
    "memory.waiting": Goal(most=60),
    "memory.growth": Goal(most=1.05),
    "start": Goal(most=80),
    "start.help": Goal(most=150),
}
_OF_STORE: Final[Mapping[tuple[str, str], Goal]] = {
    ("single", "postgres"): Goal(least=50_000),
    ("single", "sqlite"): Goal(least=80_000),
    ("latency.p50", "postgres"): Goal(most=2),
    ("latency.p99", "postgres"): Goal(most=6),
    ("latency.syncs", "sqlite"): Goal(most=1.3),
    ("latency.p99", "sqlite"): Goal(most=3),
    ("wal", "postgres"): Goal(most=1000),
}


def goal_of(figure: Figure) -> Goal | None:
    """What a figure should reach, if it is one of those that should reach anything."""
    return _OF_STORE.get((figure.name, figure.store)) or _EVERYWHERE.get(figure.name)


def verdict(goal: Goal | None, value: float | None) -> str:
    if goal is None:
        return ""
    return "yes" if value is not None and goal.is_met(value) else "**no**"
