"""Writes requirements/*.txt: every package pinned, with the hash of every file that fits.

Run it to move to the newest versions that pyproject.toml allows. It asks whichever index pip
is configured for, through pip itself, and writes no address of one. It needs nothing but
Python and pip, and installs nothing.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pip._internal.commands.download import DownloadCommand
from pip._internal.index.collector import LinkCollector, parse_links
from pip._internal.models.link import Link

ROOT: Final = Path(__file__).resolve().parent.parent
TARGET: Final = ROOT / "requirements"
RUN_EXTRAS: Final = ("postgres", "uvloop", "fetch", "crawl", "parquet", "ai", "ko", "web")
EDITABLE_BUILD: Final = "editables"
"""What hatchling asks for when a project is installed in place."""

PYTHONS: Final = (11, 12, 13)
"""The minor versions of Python 3 whose files are listed."""
MACHINES: Final = ("x86_64", "aarch64", "arm64", "universal2")
SYSTEMS: Final = ("linux", "manylinux", "musllinux", "macosx")
SDIST_SUFFIXES: Final = (".tar.gz", ".zip")


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    run = run_requirements(project["project"])
    build = [*project["build-system"]["requires"], EDITABLE_BUILD]
    dev_versions = resolve([*run, *build, *project["dependency-groups"]["dev"]])
    run_versions = resolve(run, constraints=dev_versions)
    hashes = {name: fitting_hashes(name, version) for name, version in dev_versions.items()}
    TARGET.mkdir(exist_ok=True)
    for file, versions, purpose in (
        ("dev.txt", dev_versions, "Everything that `make venv` installs"),
        ("run.txt", run_versions, f"The dependencies of dure[{','.join(RUN_EXTRAS)}]"),
    ):
        (TARGET / file).write_text(render(versions, hashes, purpose))
        print(f"{file}: {len(versions)} packages")


def run_requirements(project: Mapping[str, Any]) -> list[str]:
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(each for name in RUN_EXTRAS for each in extras[name])]
    return [each for each in wanted if not each.startswith("dure[")]


def resolve(
    requirements: Iterable[str], constraints: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The versions that pip would install on this machine, by normalised name."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as limits:
        limits.writelines(f"{name}=={version}\n" for name, version in (constraints or {}).items())
        limits.flush()
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
        command += ["--quiet", "--report", "-", "--constraint", limits.name, *requirements]
        report = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    found = (package["metadata"] for package in json.loads(report)["install"])
    return dict(sorted((normalise(each["name"]), each["version"]) for each in found))


def fitting_hashes(name: str, version: str) -> list[str]:
    """The sha256 of every file of this version that a supported machine could install."""
    hashes = {
        link.hash
        for link in links_of(name)
        if link.hash and link.hash_name == "sha256"
        if version_of(link.filename) == version and fits(link.filename)
    }
    if not hashes:
        raise SystemExit(f"{name} {version}: the index lists no file for Linux or macOS")
    return sorted(hashes)


def links_of(name: str) -> Iterator[Link]:
    """Every file of a package, in all versions, as the main index lists them."""
    command = DownloadCommand("download", "")
    options, _ = command.parse_args([name])
    with command.main_context():
        collector = LinkCollector.create(command.get_default_session(options), options)
        page = collector.fetch_response(Link(f"{options.index_url.rstrip('/')}/{name}/"))
        if page is None:
            raise SystemExit(f"{name}: pip's index has no page for it")
        yield from parse_links(page)


def version_of(file: str) -> str:
    parts = re.sub(r"\.(whl|zip|tar\.gz)$", "", file).split("-")
    return parts[1] if file.endswith(".whl") else parts[-1]


def fits(file: str) -> bool:
    """Whether a supported Python on Linux or macOS could install this file."""
    if not file.endswith(".whl"):
        return file.endswith(SDIST_SUFFIXES)
    pythons, abis, platforms = file.removesuffix(".whl").split("-")[-3:]
    return any(
        fits_python(python, abi) for python in pythons.split(".") for abi in abis.split(".")
    ) and any(fits_platform(platform) for platform in platforms.split("."))


def fits_python(python: str, abi: str) -> bool:
    if python.startswith("py3"):
        return abi == "none"
    oldest_abi = re.fullmatch(r"cp3(\d+)", python)
    if oldest_abi is None:
        return False
    minor = int(oldest_abi[1])
    return minor in PYTHONS if abi in {python, "none"} else abi == "abi3" and minor <= max(PYTHONS)


def fits_platform(platform: str) -> bool:
    return platform == "any" or (platform.startswith(SYSTEMS) and platform.endswith(MACHINES))


def normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def render(versions: Mapping[str, str], hashes: Mapping[str, Iterable[str]], purpose: str) -> str:
    lines = [f"# {purpose}. Written by tools/pin.py; do not edit."]
    for name, version in versions.items():
        allowed = (f"--hash=sha256:{each}" for each in hashes[name])
        lines.append(" \\\n    ".join((f"{name}=={version}", *allowed)))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
