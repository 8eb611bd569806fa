"""One seed after another: what became of each, small enough to be sent between processes.

A trial that breaks is a finding too: whatever it raises is reported like a promise that did
not hold, with the traceback in place of the history.
"""

import traceback
from typing import Final, NamedTuple

from dure.simulate.faults.trial import run_trial

ENDS: Final = "every trial ends"
"""The invariant that a crash of the simulation itself violates."""


class Finding(NamedTuple):
    """One promise that did not hold, with what can explain it."""

    seed: int
    at: float
    """Virtual seconds since the loop began; 0 when nobody knows."""
    invariant: str
    sentence: str
    job: int | None
    lines: tuple[str, ...]

    @property
    def command(self) -> str:
        """What repeats it."""
        return f"dure simulate --first {self.seed} --seeds 1"


class Result(NamedTuple):
    """What became of one seed."""

    seed: int
    findings: tuple[Finding, ...]
    jobs: int = 0
    seconds: float = 0.0
    """Virtual time it took."""
    history: tuple[str, ...] = ()
    """All that happened, where it was asked for."""


def attempt(seed: int, *, with_history: bool = False) -> Result:
    """Run one seed; a trial that breaks is reported and raises nothing."""
    try:
        verdict = run_trial(seed)
    except Exception as error:  # whatever breaks a trial is what it was run to find
        return broken(seed, traceback.format_exception_only(error)[-1].strip(), _lines(error))
    findings = tuple(
        Finding(seed, v.at, v.invariant, v.sentence, v.job, tuple(verdict.history.around(v)))
        for v in verdict.violations
    )
    history = tuple(verdict.history.lines()) if with_history else ()
    return Result(seed, findings, verdict.jobs, verdict.seconds, history)


def broken(seed: int, sentence: str, lines: tuple[str, ...] = ()) -> Result:
    """The result of a seed whose trial did not come to its end."""
    return Result(seed, (Finding(seed, 0.0, ENDS, sentence, None, lines),))


def _lines(error: Exception) -> tuple[str, ...]:
    return tuple("".join(traceback.format_exception(error)).splitlines())
