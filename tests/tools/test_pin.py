"""The pins cover what pyproject.toml asks for, and list the files that a user could need."""

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pin() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pin", ROOT / "tools" / "pin.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pinned(file: str) -> dict[str, str]:
    """Each package with its version and its hashes."""
    text = (ROOT / "requirements" / file).read_text().replace("\\\n", "")
    return dict(line.split("==", 1) for line in text.splitlines() if not line.startswith("#"))


def test_every_declared_requirement_is_pinned(pin: ModuleType) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    run = pin.run_requirements(project["project"])
    dev = [*run, *project["build-system"]["requires"], *project["dependency-groups"]["dev"]]

    def names(requirements: list[str]) -> set[str]:
        return {pin.normalise(re.split(r"[^\w.-]", each)[0]) for each in requirements}

    assert set() == names(dev) - pinned("dev.txt").keys()
    assert set() == names(run) - pinned("run.txt").keys()


def test_every_pin_has_a_hash_and_both_files_agree() -> None:
    dev, run = pinned("dev.txt"), pinned("run.txt")

    assert [name for name, pins in dev.items() if "--hash=sha256:" not in pins] == []
    assert {name: pins for name, pins in run.items() if dev[name] != pins} == {}


def test_the_pins_name_no_index_and_no_address() -> None:
    lines = [
        line
        for file in ("dev.txt", "run.txt")
        for line in (ROOT / "requirements" / file).read_text().splitlines()
        if not re.match(r"#|[a-z0-9-]+==[\w.]+ \\$|    --hash=sha256:[0-9a-f]{64}( \\)?$", line)
    ]

    assert lines == []


@pytest.mark.parametrize(
    "file",
    [
        "thing-1.0.tar.gz",
        "thing-1.0-py3-none-any.whl",
        "thing-1.0-py2.py3-none-any.whl",
        "thing-1.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        "thing-1.0-cp313-cp313-macosx_11_0_arm64.whl",
        "thing-1.0-cp38-abi3-musllinux_1_2_aarch64.whl",
        "thing-1.0-py3-none-manylinux_2_17_x86_64.whl",
    ],
)
def test_a_file_that_a_supported_machine_could_install_fits(pin: ModuleType, file: str) -> None:
    assert pin.fits(file)
    assert pin.version_of(file) == "1.0"


@pytest.mark.parametrize(
    "file",
    [
        "thing-1.0-cp311-cp311-win_amd64.whl",
        "thing-1.0-cp310-cp310-manylinux_2_17_x86_64.whl",
        "thing-1.0-cp313-cp313t-manylinux_2_17_x86_64.whl",
        "thing-1.0-cp314-abi3-manylinux_2_17_x86_64.whl",
        "thing-1.0-cp311-cp311-manylinux_2_17_ppc64le.whl",
        "thing-1.0-pp311-pypy311_pp73-macosx_11_0_arm64.whl",
        "thing-1.0-py2-none-any.whl",
        "thing-1.0.exe",
    ],
)
def test_a_file_for_other_machines_does_not_fit(pin: ModuleType, file: str) -> None:
    assert not pin.fits(file)
