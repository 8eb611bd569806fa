"""Figures: what one run has read off, and what all runs of a measurement say together."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Reading(NamedTuple):
    """One number from one run."""

    name: str
    value: float
    unit: str
    note: str = ""
    """What a reader must know about it, for instance that a worker got no job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The same number from every run."""

    name: str
    store: str
    unit: str
    runs: tuple[float, ...]
    settings: Mapping[str, object]
    notes: tuple[str, ...] = ()

    @property
    def median(self) -> float:
        return statistics.median(self.runs)

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "name": self.name,
            "store": self.store,
            "unit": self.unit,
            "median": shortened(self.median),
            "runs": [shortened(value) for value in self.runs],
            "settings": dict(self.settings),
            "notes": list(self.notes),
        }


def gather(
    runs: Sequence[Sequence[Reading]], store: str, settings: Mapping[str, object]
) -> list[Figure]:
    """One figure for each name that the runs have read, in the order of the first run."""
    names = dict.fromkeys(reading.name for run in runs for reading in run)
    figures = []
    for name in names:
        readings = [reading for run in runs for reading in run if reading.name == name]
        notes = dict.fromkeys(reading.note for reading in readings if reading.note)
        figures.append(
            Figure(
                name=name,
                store=store,
                unit=readings[0].unit,
                runs=tuple(reading.value for reading in readings),
                settings=settings,
                notes=tuple(notes),
            )
        )
    return figures


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least this share of all values do not exceed."""
    ordered = sorted(values)
    place = min(int(len(ordered) * share), len(ordered) - 1)
    return ordered[place]


def jain(counts: Sequence[float]) -> float:
    """Jain's index of fairness: 1 when all got the same, 1/n when one got everything."""
    total = sum(counts)
    return total * total / (len(counts) * sum(count * count for count in counts))


def shortened(value: float) -> float:
    """Four digits, which is more than any of this is exact to, and no fewer before the point."""
    number = float(round(value)) if abs(value) >= 1000 else float(f"{value:.4g}")
    return int(number) if number.is_integer() else number
