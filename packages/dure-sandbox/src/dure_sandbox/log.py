"""What was asked of the sandbox, when, and what it did: proof of politeness and once-only."""

from collections import Counter, defaultdict, deque
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Final, TextIO

import msgspec

from dure_sandbox.exchange import Request
from dure_sandbox.lots import number_of

ENTRIES_MAX: Final = 100_000
"""How many of the newest entries are kept in memory; a file keeps all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    at: float
    """When the request had arrived: seconds since 1970, on the sandbox's clock."""
    site: str
    method: str
    host: str
    target: str
    agent: str
    status: int
    """What was answered; 0 when the connection ended without a status."""
    fault: str = ""
    """The kind of the fault that struck, or nothing."""
    digest: str = ""
    """Of the request's body, so that the same call made twice can be told."""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


class Log:
    """The newest requests, oldest first."""

    def __init__(self, path: Path | None = None, *, entries_max: int = ENTRIES_MAX) -> None:
        self.entries: deque[Entry] = deque(maxlen=entries_max)
        self.total = 0
        self._file: TextIO | None = path.open("a", encoding="utf-8", buffering=1) if path else None

    def note(self, site: str, request: Request, status: int, fault: str, at: float) -> None:
        entry = Entry(
            at=at,
            site=site,
            method=request.method,
            host=request.host,
            target=request.target,
            agent=request.agent,
            status=status,
            fault=fault,
            digest=f"{number_of(request.body):016x}" if request.body else "",
        )
        self.entries.append(entry)
        self.total += 1
        if self._file is not None:
            self._file.write(msgspec.json.encode(asdict(entry)).decode() + "\n")

    def find(
        self,
        *,
        site: str | None = None,
        host: str | None = None,
        path: str | None = None,
        status: int | None = None,
        fault: str | None = None,
        since: float = 0.0,
    ) -> list[Entry]:
        """Entries of that site, host, path (a pattern with `*`), status and fault."""
        return [
            each
            for each in self.entries
            if each.at >= since
            and (site is None or each.site == site)
            and (host is None or each.host == host)
            and (path is None or fnmatchcase(each.path, path))
            and (status is None or each.status == status)
            and (fault is None or each.fault == fault)
        ]

    def summary(self) -> dict[str, "HostSummary"]:
        """What each host saw, by host."""
        hosts: defaultdict[tuple[str, str], list[Entry]] = defaultdict(list)
        for each in self.entries:
            hosts[each.host, each.site].append(each)
        return {host: _summary_of(site, seen) for (host, site), seen in sorted(hosts.items())}

    def clear(self) -> None:
        self.entries.clear()
        self.total = 0

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSummary:
    site: str
    requests: int
    statuses: dict[str, int]
    faults: dict[str, int]
    busiest_second: int
    """The most requests that arrived within any second."""
    smallest_gap_seconds: float | None
    asked_again: int
    """Requests that repeat an earlier one: method, target and body."""


def _summary_of(site: str, seen: list[Entry]) -> HostSummary:
    times = sorted(each.at for each in seen)
    gaps = [after - before for before, after in pairwise(times)]
    distinct = {(each.method, each.target, each.digest) for each in seen}
    return HostSummary(
        site=site,
        requests=len(seen),
        statuses=dict(Counter(str(each.status) for each in seen)),
        faults=dict(Counter(each.fault for each in seen if each.fault)),
        busiest_second=_busiest(times),
        smallest_gap_seconds=min(gaps, default=None),
        asked_again=len(seen) - len(distinct),
    )


def _busiest(times: list[float]) -> int:
    most = first = 0
    for last, moment in enumerate(times):
        while moment - times[first] >= 1.0:
            first += 1
        most = max(most, last - first + 1)
    return most
