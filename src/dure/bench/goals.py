"""What figures should reach, and whether they do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dure.bench.figures import Figure, shortened


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


GOALS: Final[Mapping[tuple[str, str], Goal]] = {
    ("single", "postgres"): Goal(least=10_000),
    ("single", "sqlite"): Goal(least=20_000),
    ("latency.p50", "postgres"): Goal(most=2),
    ("latency.p99", "postgres"): Goal(most=6),
    ("busy.served", "postgres"): Goal(least=1),
    ("busy.served", "sqlite"): Goal(least=1),
    ("flat", "postgres"): Goal(least=0.95),
    ("flat", "sqlite"): Goal(least=0.95),
    ("flat.hold", "postgres"): Goal(least=0.8),
    ("flat.hold", "sqlite"): Goal(least=0.8),
    ("fair", "postgres"): Goal(least=0.99),
    ("fair", "sqlite"): Goal(least=0.99),
    ("fair.claim", "postgres"): Goal(most=2),
    ("limits", "postgres"): Goal(most=1),
    ("limits", "sqlite"): Goal(most=1),
    ("limits.share", "postgres"): Goal(least=0.95),
    ("limits.share", "sqlite"): Goal(least=0.95),
    ("wal", "postgres"): Goal(most=1_500),
}
SYNC_GOALS: Final = {"latency.p50": (1.0, 1.5), "latency.p99": (3.0, 3.0)}
"""On SQLite: so many milliseconds, or so many times what this idle disk takes to sync."""


def goal_of(figure: Figure, figures: Sequence[Figure]) -> Goal | None:
    """On SQLite latency is counted in syncs of this disk where those are slow."""
    if figure.store == "sqlite" and figure.name in SYNC_GOALS:
        least, share = SYNC_GOALS[figure.name]
        sync = next(each.median for each in figures if each.name == "latency.fsync")
        return Goal(most=max(least, shortened(share * sync)))
    return GOALS.get((figure.name, figure.store))


def verdict(goal: Goal | None, value: float | None) -> str:
    if goal is None:
        return ""
    return "yes" if value is not None and goal.is_met(value) else "**no**"
