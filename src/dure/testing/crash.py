"""Processes that are started to be hurt: killed, frozen, asked to leave, and surely ended.

A crash test needs two things that the engine under test has no part in: processes whose
death is certain, and a record that a dying process cannot spoil. `Victim` is the first. The
second is a file that handlers append one line to in one write; `Line` reads it.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

PATIENCE_SECONDS: Final = 20.0
"""How long anything here may take before it counts as hung."""
_POLL_SECONDS: Final = 0.01
_COMPLAINT: Final = re.compile(r"Traceback|\bbroke\b|never retrieved|\bTask was destroyed\b")


class Line(NamedTuple):
    """What a handler wrote down: which event of which attempt, in which process, and when."""

    event: str
    job: int
    fence: int
    attempt: int
    pid: int
    at: float
    """Epoch seconds."""


def lines_of(log: Path) -> list[Line]:
    """The side log as far as it is written; a line without its end is left out."""
    if not log.exists():
        return []
    whole, _, _ = log.read_text().rpartition("\n")
    parts = (line.split(" ") for line in whole.splitlines())
    return [Line(e, int(j), int(f), int(a), int(p), float(t)) for e, j, f, a, p, t in parts]


class Victim:
    """A Python script in a process of its own. Leaving the `with` block ends it."""

    def __init__(
        self,
        arguments: Sequence[str | Path],
        *,
        output: Path,
        environment: Mapping[str, str],
    ) -> None:
        self._out = output.with_suffix(".out")
        self._err = output.with_suffix(".err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(  # noqa: S603 - the test's own script
                [sys.executable, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, **environment},
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative when a signal ended it."""
        return self._process.poll()

    def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """SIGSTOP: it stands still in the middle of whatever it does."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT: it goes on, and does not know how late it is."""
        self._process.send_signal(signal.SIGCONT)

    def ask(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal that it may handle."""
        self._process.send_signal(number)

    def wait(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Its exit code, once it has ended by itself. Raises TimeoutError."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"process {self.pid} still runs after {seconds:.0f} s") from None

    def said(self) -> list[str]:
        """What it printed so far, by line."""
        return self._out.read_text(errors="replace").splitlines()

    def complaints(self) -> str:
        """What it wrote to standard error, if anything of that is about an error nobody caught."""
        text = self._err.read_text(errors="replace")
        return text if _COMPLAINT.search(text) else ""

    def close(self) -> None:
        """End it, whatever state it is in."""
        if self.is_running:
            self.thaw()
            self.kill()


def end_strays(pids: Sequence[int], program: str) -> list[int]:
    """End those of these processes that still run this program; returns which those were.

    For children that outlived the process that had started them. The program is looked at
    first, because the system may have given a number to somebody else meanwhile.
    """
    ended: list[int] = []
    for pid in pids:
        if program in _command(pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                ended.append(pid)
    return ended


def is_running(pid: int, program: str) -> bool:
    """Whether this process exists and runs this program."""
    return program in _command(pid)


def _command(pid: int) -> str:
    asked = subprocess.run(  # noqa: S603 - a fixed program
        ["ps", "-o", "command=", "-p", str(pid)],  # noqa: S607 - wherever the system has it
        check=False,
        capture_output=True,
        text=True,
    )
    return asked.stdout


def wait_until_gone(pids: Sequence[int], program: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Return when none of these runs any more. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while left := [pid for pid in pids if is_running(pid, program)]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes {left} still run after {seconds:.0f} s")
        time.sleep(_POLL_SECONDS)
