"""Seeds in processes of their own: whoever dies or hangs names its seed. X22"""

import multiprocessing
import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from dure.simulate.crew import results
from dure.simulate.seeds import ENDS, Result, attempt


def run(work: Callable[[int], Any], *seeds: int, patience: float = 60.0) -> list[Result]:
    """Two processes at a time; `work` must be found by its name in another process."""
    return list(results(seeds, 2, work=work, patience=patience))


def test_one_process_is_this_one() -> None:
    seen: list[int] = []

    def work(seed: int) -> Result:
        seen.append(seed)
        return Result(seed, ())

    done = list(results([5, 6], 1, work=work))

    assert [5, 6] == seen == [result.seed for result in done]


@pytest.mark.process
def test_processes_find_what_one_finds() -> None:
    alone = list(results(range(1, 5), 1))

    assert alone == sorted(run(attempt, 1, 2, 3, 4))


@pytest.mark.process
def test_a_seed_that_kills_its_process_is_named_and_the_others_go_on() -> None:
    findings = {each.seed: each.findings for each in run(os._exit, 1, 2, 3, 4)}

    assert {1, 2, 3, 4} == set(findings)
    for seed, (finding,) in findings.items():
        assert ENDS == finding.invariant
        assert f"The process that ran it died with exit code {seed}." == finding.sentence


@pytest.mark.process
def test_a_seed_that_never_ends_is_named() -> None:
    (result,) = run(time.sleep, 100_000, patience=0.5)

    assert 100_000 == result.seed
    assert "It did not end within 0.5 s." == result.findings[0].sentence


@pytest.mark.process
def test_who_stops_listening_leaves_no_process_behind() -> None:
    work: Any = time.sleep
    going = results([0, 100_000, 100_000], 2, work=work)
    next(going)

    going.close()

    assert [] == multiprocessing.active_children()
