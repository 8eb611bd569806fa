"""Every measurement by its name, with what can be chosen about it and what it is unless chosen."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dure.bench import asking, crash, dedup, fair, flat, footprint, latency, permits, throughput
from dure.bench.figures import Reading
from dure.bench.ground import Ground
from dure.bench.options import Options

BOTH: Final = frozenset({"sqlite", "postgres"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One thing that can be measured."""

    about: str
    run: Callable[[Ground, Options], Awaitable[list[Reading]]]
    defaults: Mapping[str, Any]
    stores: frozenset[str] = BOTH

    def options(self, chosen: Mapping[str, Any]) -> Options:
        """The defaults with what was chosen; choices about other measurements are left out."""
        mine = {name: value for name, value in chosen.items() if name in self.defaults}
        return Options(**{**self.defaults, **mine})

    def settings(self, given: Options) -> dict[str, object]:
        """The choices this measurement looks at."""
        return {name: getattr(given, name) for name in self.defaults}


_DRAIN: Final = {"jobs": 40_000, "workers": 1, "lanes": 1, "chunk": 0, "settings": "default"}

MEASUREMENTS: Final[Mapping[str, Measurement]] = {
    "drain": Measurement(
        about="jobs a second, all waiting when the workers begin",
        run=throughput.drain,
        defaults=_DRAIN,
    ),
    "chunk": Measurement(
        about="the same with handlers that take 100 jobs at once",
        run=throughput.chunk,
        defaults={**_DRAIN, "chunk": 100},
    ),
    "enqueue": Measurement(
        about="jobs a second put in by bulk calls",
        run=throughput.enqueue,
        defaults={"jobs": 40_000},
    ),
    "single": Measurement(
        about="jobs a second put in one by one by many callers",
        run=throughput.single,
        defaults={"jobs": 40_000, "callers": 100},
    ),
    "latency": Measurement(
        about="from enqueue to the handler's first line on an idle node",
        run=latency.latency,
        defaults={"probes": 200, "rate": 20.0, "settings": "default"},
    ),
    "busy": Measurement(
        about="the same under a steady load",
        run=latency.busy,
        defaults={"rate": 5000.0, "seconds": 8.0, "settings": "default"},
    ),
    "flat": Measurement(
        about="the drain rate in a full store as a share of that in an empty one",
        run=flat.flat,
        defaults={
            "jobs": 40_000,
            "finished": 1_000_000,
            "delayed": 200_000,
            "suspended": 200_000,
            "hold": 0.0,
            "rate": 5000.0,
            "settings": "default",
        },
    ),
    "fair": Measurement(
        about="how evenly many lanes are served when one has most of the work",
        run=fair.fair,
        defaults={
            "lanes": 10_000,
            "each": 10,
            "big": 120_000,
            "batch": 500,
            "claims": 30,
            "settings": "default",
        },
    ),
    "limits": Measurement(
        about="whether a limit is exact across processes",
        run=permits.permits,
        defaults={"workers": 4, "seconds": 20.0, "rate": 500.0, "window": 2.0, "want": 10},
    ),
    "ask": Measurement(
        about="what asking a model costs on top of its provider",
        run=asking.asking,
        defaults={"jobs": 1000},
    ),
    "dedup": Measurement(
        about="links made canonical and told to be new or known",
        run=dedup.dedup,
        defaults={"jobs": 200_000, "batch": 20},
        stores=frozenset({"sqlite"}),
    ),
    "crash": Measurement(
        about="how soon the jobs of a killed worker run again",
        run=crash.crash,
        defaults={"lease": 15.0, "sweep": 5.0, "rate": 200.0},
    ),
    "memory": Measurement(
        about="memory of a worker: idle, under load, with many jobs waiting",
        run=footprint.memory,
        defaults={"jobs": 40_000, "lanes": 100, "waiting": 1_000_000, "settings": "default"},
    ),
    "start": Measurement(
        about="start of a fresh process",
        run=footprint.start,
        defaults={"starts": 10},
    ),
    "wal": Measurement(
        about="log that PostgreSQL writes for a job",
        run=footprint.wal,
        defaults={"jobs": 40_000, "payload": 100, "settings": "default"},
        stores=frozenset({"postgres"}),
    ),
}
"""In the order in which all of them are measured."""
