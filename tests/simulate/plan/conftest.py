"""Scenarios in a few lines, and what their run has found."""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from dure.simulate.plan.fleet import Fleet
from dure.simulate.plan.reading import read
from dure.simulate.plan.report import Report, report

Plan = Callable[..., Report]


@pytest.fixture
def scenario(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a scenario file."""

    def write(text: str) -> Path:
        path = tmp_path / "scenario.toml"
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def plan(scenario: Callable[[str], Path]) -> Plan:
    """Runs a scenario; the options stand in for what it says at its top."""

    def run(text: str, **changes: object) -> Report:
        fleet = Fleet(read(scenario(text), changes))
        fleet.run()
        return report(fleet)

    return run
