"""Every example, and every program in the README, runs as it is printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES_MAX = 40
EXPECTED = {
    "hello": ["hello world"],
    "outcomes": ["ask fail 1", "ask retry 1", "ask skip 1", "ask succeed 1", "ask suspend 1"],
    "chunk": ["one call for 3 texts"],
    "transaction": ["order 1 is paid", "[('paid',)]"],
    "batch": ["NIGHTLY: 10 shops, 9 uploaded, 1 failed"],
    "limits": ["patient: just one", *(f"flood: page {number}" for number in range(12))],
    "schedule": ["True False", "crawling economy"],
    "process_handler": ["a thread of the node", "True"],
    "testing": ["passed"],
}
BLOCKS = re.findall(
    r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
)


def output_of(program: Path, folder: Path) -> list[str]:
    """What a program prints when it runs in an empty folder. Fails when it fails."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (0, "") == (ran.returncode, ran.stderr)
    return ran.stdout.splitlines()


def test_every_example_is_listed_here_and_in_the_page_of_examples() -> None:
    files = {path.stem for path in (ROOT / "examples").glob("*.py")}
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")

    assert set(EXPECTED) == files
    assert set(EXPECTED) == set(re.findall(r"\]\((\w+)\.py\)", page))


@pytest.mark.process
@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_prints_what_it_should(name: str, tmp_path: Path) -> None:
    printed = output_of(ROOT / "examples" / f"{name}.py", tmp_path)

    assert sorted(EXPECTED[name]) == sorted(printed)


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_fits_on_a_screen(name: str) -> None:
    text = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")

    assert len(text.splitlines()) <= LINES_MAX


@pytest.mark.process
def test_the_lane_with_one_job_does_not_wait_for_the_flood(tmp_path: Path) -> None:
    printed = output_of(ROOT / "examples" / "limits.py", tmp_path)

    assert printed.index("patient: just one") < 8


def test_the_readme_shows_programs() -> None:
    assert len(BLOCKS) >= 2


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_program_of_the_readme_runs_as_it_is_printed(number: int, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(BLOCKS[number], encoding="utf-8")

    printed = output_of(program, tmp_path)

    assert printed == (["hello world"] if number == 0 else [])
