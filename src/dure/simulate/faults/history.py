"""What happened in one simulated run, line by line; the same seed gives the same bytes."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from dure.simulate.faults.ledger import Trace

_LINES_MAX: Final = 40
"""Of a violation; the run can be repeated for all of them."""


class Change(NamedTuple):
    """A change of a job, and through whom it came."""

    at: float
    host: str
    verb: str
    trace: Trace

    @property
    def text(self) -> str:
        trace = self.trace
        was = "-" if trace.was is None else trace.was.name
        becomes = "-" if trace.becomes is None else trace.becomes.name
        return (
            f"{self.at:9.3f} {self.host:<10} {self.verb:<10} job {trace.job} {was}>{becomes} "
            f"fence {trace.fence} attempt {trace.attempt}"
        )


class Fault(NamedTuple):
    """Something that was broken on purpose, or that the fleet itself did."""

    at: float
    text_short: str

    @property
    def text(self) -> str:
        return f"{self.at:9.3f} -- {self.text_short}"


class Violation(NamedTuple):
    """A promise that did not hold."""

    at: float
    invariant: str
    sentence: str
    job: int | None = None


class History:
    """All of it, in order."""

    def __init__(self) -> None:
        self._entries: list[Change | Fault] = []

    def changed(self, at: float, host: str, verb: str, trace: Trace) -> None:
        self._entries.append(Change(at, host, verb, trace))

    def note(self, at: float, text: str) -> None:
        self._entries.append(Fault(at, text))

    def __len__(self) -> int:
        return len(self._entries)

    def lines(self) -> Iterator[str]:
        """Every entry as text."""
        return (entry.text for entry in self._entries)

    def around(self, violation: Violation) -> list[str]:
        """The latest lines that can explain it: faults, and the changes of the job it names."""
        told = [
            entry.text
            for entry in self._entries
            if entry.at <= violation.at
            and (isinstance(entry, Fault) or violation.job in {None, entry.trace.job})
        ]
        return told[-_LINES_MAX:]
