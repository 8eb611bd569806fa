"""Fleets under faults: no promise is broken, and a seed always tells the same story. X22"""

import subprocess
import sys

import pytest

from dure.simulate.faults.trial import run_trial
from dure.simulate.seeds import ENDS, attempt

FAST = (1, 2, 3)
BLOCK = 10
BLOCKS = range(1, 201, BLOCK)


@pytest.mark.parametrize("seed", FAST)
def test_a_fleet_keeps_its_promises(seed: int) -> None:
    """X22"""
    result = attempt(seed)

    assert () == result.findings
    assert result.jobs > 50


@pytest.mark.slow
@pytest.mark.parametrize("first", BLOCKS)
def test_two_hundred_fleets_keep_their_promises(first: int) -> None:
    """X22, in blocks that test processes can share."""
    results = [attempt(seed) for seed in range(first, first + BLOCK)]

    assert [] == [(each.seed, each.findings) for each in results if each.findings]


def test_the_same_seed_writes_the_same_bytes() -> None:
    """X22: a seed that was reported can be looked at again."""
    first, second = attempt(4, with_history=True), attempt(4, with_history=True)

    assert len(first.history) > 100
    assert first == second


@pytest.mark.process
def test_the_same_seed_writes_the_same_bytes_in_another_process() -> None:
    """Nothing depends on how Python hashes in a process, or on where things lie in memory."""
    code = "from dure.simulate.seeds import attempt\nprint(*attempt(4, with_history=True).history)"

    told = [
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": number},
        ).stdout
        for number in ("1", "2")
    ]

    assert told[0] == told[1]


def test_another_seed_is_another_story() -> None:
    histories = {tuple(run_trial(seed).history.lines()) for seed in FAST}

    assert len(FAST) == len(histories)


def test_a_trial_that_breaks_is_a_finding_of_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(seed: int) -> None:
        raise KeyError(seed)

    monkeypatch.setattr("dure.simulate.seeds.run_trial", broken)

    (finding,) = attempt(17).findings

    assert (17, ENDS, "KeyError: 17") == (finding.seed, finding.invariant, finding.sentence)
    assert any("raise KeyError(seed)" in line for line in finding.lines)
    assert "dure simulate --first 17 --seeds 1" == finding.command
