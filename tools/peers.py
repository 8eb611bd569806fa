"""The peers that Dure is measured beside: where their scripts are, and a Python that has them."""

import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SCRIPTS: Final = Path(os.environ.get("PEERS", ROOT.parent / "shared" / "bench" / "peers"))
INSTALL_SECONDS: Final = 240


def python_with(packages: Sequence[str], place: Path) -> str | None:
    """A Python with these packages; it is built where there is none. None when it cannot be."""
    python = place / "bin" / "python"
    done = place / "installed"
    if done.exists() and done.read_text() == " ".join(packages):
        return str(python)
    print(f"The peers are installed into {place}.", file=sys.stderr, flush=True)
    try:
        venv.create(place, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *packages]
        subprocess.run(install, check=True, timeout=INSTALL_SECONDS)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"They cannot be installed: {error}.", file=sys.stderr, flush=True)
        return None
    done.write_text(" ".join(packages))
    return str(python)


def versions(python: str, packages: Sequence[str]) -> str:
    """What of the peers is installed, by name and version."""
    program = (
        "import sys; from importlib.metadata import version;"
        "print(*(f'{n} {version(n)}' for n in sys.argv[1:]), sep=', ')"
    )
    names = [package.partition("[")[0] for package in packages]
    done = subprocess.run(
        [python, "-c", program, *names], check=False, capture_output=True, text=True, timeout=60
    )
    return done.stdout.strip()
