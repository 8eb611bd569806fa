"""What can be chosen about a measurement. Each measurement has its own defaults for its own."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Every choice of every measurement; which of them one looks at is in the catalogue."""

    jobs: int = 0
    workers: int = 1
    lanes: int = 1
    chunk: int = 0
    settings: str = "default"
    callers: int = 100
    probes: int = 200
    rate: float = 0.0
    seconds: float = 0.0
    finished: int = 0
    delayed: int = 0
    suspended: int = 0
    hold: float = 0.0
    big: int = 0
    each: int = 0
    batch: int = 0
    claims: int = 0
    window: float = 0.0
    want: int = 0
    lease: float = 15.0
    sweep: float = 5.0
    waiting: int = 0
    payload: int = 0
    starts: int = 0


MEANINGS: dict[str, str] = {
    "jobs": "jobs in one run",
    "workers": "worker processes",
    "lanes": "lanes the jobs are spread over",
    "chunk": "items in one handler call; 0 for one call per job",
    "settings": "of the nodes: `default`, or `tuned` for throughput",
    "callers": "callers that enqueue at the same time",
    "probes": "jobs whose latency is measured",
    "rate": "jobs enqueued each second",
    "seconds": "how long it lasts",
    "finished": "finished jobs already in the store",
    "delayed": "delayed jobs already in the store",
    "suspended": "suspended jobs already in the store",
    "hold": "seconds of load beside an open transaction; 0 to leave that part out",
    "big": "jobs of the one lane that has many",
    "each": "jobs of every other lane",
    "batch": "jobs in one claim",
    "claims": "claims of each sort",
    "window": "seconds of the limit's shortest window; the others are 2 and 3 times as long",
    "want": "permits asked for at a time",
    "lease": "seconds of a worker's lease",
    "sweep": "seconds between two sweeps",
    "waiting": "jobs that wait while memory is read",
    "payload": "bytes of each job's argument",
    "starts": "fresh processes in one run",
}
"""What each choice means, for `--help`."""
