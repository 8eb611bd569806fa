"""What a run over many seeds has found: for people, and as plain values for JSON."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dure.core.duration import text_of
from dure.simulate.seeds import Finding, Result

_TOLD_MAX: Final = 10
"""Seeds whose findings are printed with their history; the others are named."""
_PER_SEED_MAX: Final = 3
"""Findings of one seed that are printed; the first is most often the cause of the others."""


@dataclass(slots=True, kw_only=True)
class Summary:
    """All results so far."""

    first: int
    seeds: int
    processes: int
    results: list[Result] = field(default_factory=list)
    wall_seconds: float = 0.0
    is_interrupted: bool = False

    @property
    def findings(self) -> list[Finding]:
        """What did not hold, in the order of the seeds."""
        ordered = sorted(self.results, key=lambda result: result.seed)
        return [finding for result in ordered for finding in result.findings]

    @property
    def invariants(self) -> dict[str, int]:
        """How often each invariant did not hold, the most frequent first."""
        return dict(Counter(finding.invariant for finding in self.findings).most_common())

    @property
    def violating(self) -> tuple[int, ...]:
        """The seeds with a finding, in order."""
        return tuple(dict.fromkeys(finding.seed for finding in self.findings))

    @property
    def history(self) -> tuple[str, ...]:
        """All that happened, where it was asked for."""
        return tuple(line for result in self.results for line in result.history)

    @property
    def jobs(self) -> int:
        return sum(result.jobs for result in self.results)

    @property
    def virtual_seconds(self) -> float:
        return sum(result.seconds for result in self.results)

    def item(self) -> dict[str, Any]:
        """Everything, of built-in types only."""
        return {
            "first": self.first,
            "seeds": self.seeds,
            "done": len(self.results),
            "processes": self.processes,
            "jobs": self.jobs,
            "virtual_seconds": round(self.virtual_seconds, 3),
            "wall_seconds": round(self.wall_seconds, 3),
            "invariants": self.invariants,
            "violations": [
                {**finding._asdict(), "lines": list(finding.lines), "command": finding.command}
                for finding in self.findings
            ],
            "is_interrupted": self.is_interrupted,
            "history": list(self.history),
        }

    def lines(self) -> Iterator[str]:
        """The same as text."""
        done, last = len(self.results), self.first + self.seeds - 1
        shown = f"{done:,} of {self.seeds:,}" if done < self.seeds else f"{done:,}"
        wall = f"{text_of(self.wall_seconds)} in {_counted(self.processes, 'process', 'es')}"
        yield f"seeds       {shown} ({self.first} to {last})"
        yield f"jobs        {self.jobs:,}"
        yield f"time        {text_of(self.virtual_seconds)} of virtual time, {wall}"
        yield f"violations  {self._total()}"
        yield from self._by_invariant()
        yield from _told(self.findings)

    def _total(self) -> str:
        if not self.findings:
            return "none"
        return f"{len(self.findings):,} in {_counted(len(self.violating), 'seed', 's')}"

    def _by_invariant(self) -> Iterator[str]:
        if not self.findings:
            return
        size = max(len(name) for name in self.invariants)
        yield ""
        yield f"{'invariant'.ljust(size)}  times  seeds"
        for name, times in self.invariants.items():
            seeds = dict.fromkeys(f.seed for f in self.findings if f.invariant == name)
            listed = ", ".join(map(str, list(seeds)[:_TOLD_MAX]))
            more = ", ..." if len(seeds) > _TOLD_MAX else ""
            yield f"{name.ljust(size)}  {times:5,}  {listed}{more}"


def _told(findings: Sequence[Finding]) -> Iterator[str]:
    """Each seed with what did not hold, why, and how to see it again."""
    by_seed: dict[int, list[Finding]] = {}
    for finding in findings:
        by_seed.setdefault(finding.seed, []).append(finding)
    for place, (seed, found) in enumerate(by_seed.items()):
        yield ""
        if place >= _TOLD_MAX:
            yield f"seed {seed}: {found[0].invariant}. Repeat it: {found[0].command}"
            continue
        for finding in found[:_PER_SEED_MAX]:
            of_job = "" if finding.job is None else f" (job {finding.job})"
            yield f"seed {seed} at {finding.at:.3f}: {finding.invariant}{of_job}"
            yield f"  {finding.sentence}"
            yield from (f"    {line}" for line in finding.lines)
        if len(found) > _PER_SEED_MAX:
            yield f"  and {len(found) - _PER_SEED_MAX} more of this seed"
        yield f"  repeat it: {found[0].command}"


def _counted(number: int, noun: str, ending: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else ending}"
