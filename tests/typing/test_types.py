"""The public API means to a type checker what it means at run time."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

pytestmark = pytest.mark.slow


def complaints(path: Path) -> list[str]:
    """What mypy says about a file, under the project's own strict settings."""
    checked = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent"),
            *("--no-error-summary", "--config-file", "pyproject.toml", str(path)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode in {0, 1}, checked.stdout + checked.stderr
    return checked.stdout.splitlines()


@pytest.mark.parametrize("name", ["accepted", "rejected"])
def test_right_use_is_accepted_and_wrong_use_rejected_exactly_where_it_is_written(
    name: str,
) -> None:
    """Under strict settings an ignore that hides no error of its very code is one itself."""
    assert [] == complaints(HERE / f"{name}.py")


def test_a_wrong_use_that_passes_unnoticed_is_reported(tmp_path: Path) -> None:
    """The proof that the check above can fail."""
    text = (HERE / "rejected.py").read_text(encoding="utf-8")
    wrong, right = "fetch(1)  # type: ignore[arg-type]", 'fetch("1")  # type: ignore[arg-type]'
    assert wrong in text
    changed = tmp_path / "changed.py"
    changed.write_text(text.replace(wrong, right), encoding="utf-8")

    (said,) = complaints(changed)
    assert "unused-ignore" in said
