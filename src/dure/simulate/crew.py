"""Seeds spread over processes, one at a time each: whoever dies or hangs names its seed.

A pool of the standard library would know only that some process broke. Here the parent
knows what each child is at, so a seed that kills its process, or never ends, is reported
like any other finding, and the rest goes on in a new process.
"""

import multiprocessing
import signal
import time
from collections.abc import Callable, Generator, Iterable
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Final

from dure.simulate.seeds import Result, attempt, broken

PATIENCE_SECONDS: Final = 120.0
"""A seed takes less than a second. One that takes this long will not end."""

Attempt = Callable[[int], Result]


def results(
    seeds: Iterable[int],
    processes: int,
    *,
    work: Attempt = attempt,
    patience: float = PATIENCE_SECONDS,
) -> Generator[Result, None, None]:
    """What became of the seeds, in the order in which they end. One process is this one."""
    if processes == 1:
        yield from map(work, seeds)
        return
    waiting = iter(seeds)
    crew = [_Member(work, seed) for seed in islice(waiting, processes)]
    try:
        while crew:
            for member in _ready(crew, patience):
                yield member.answer(patience)
                crew.remove(member)
                seed = next(waiting, None)
                if seed is not None and member.takes(seed):
                    crew.append(member)
                    continue
                member.dismiss()
                if seed is not None:
                    crew.append(_Member(work, seed))
    finally:
        for member in crew:
            member.dismiss()


def serve(pipe: Connection, work: Attempt) -> None:
    """What a child does: run the seeds it is given for as long as there is a parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    try:
        while True:
            pipe.send(work(pipe.recv()))
    except (EOFError, BrokenPipeError):
        return


class _Member:
    """A process, and the seed it is at."""

    def __init__(self, work: Attempt, seed: int) -> None:
        # A fresh interpreter: a fork would carry over whatever this one has been through.
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process: SpawnProcess = context.Process(
            target=serve, args=(theirs, work), daemon=True
        )
        self._process.start()
        theirs.close()
        self._is_usable = True
        self.takes(seed)

    def takes(self, seed: int) -> bool:
        """Begin with a seed; False when this process runs no more."""
        self._seed = seed
        self.since = time.monotonic()
        if not self._is_usable:
            return False
        try:
            self.pipe.send(seed)
        except BrokenPipeError:  # a process that dies at once is found by what it answers
            return False
        return True

    def answer(self, patience: float) -> Result:
        """What it says of its seed, or what we say when it cannot."""
        try:
            if self.pipe.poll():
                result: Result = self.pipe.recv()
                return result
        except (EOFError, OSError):
            self._process.join()
            code = self._process.exitcode
            self.dismiss()
            return broken(self._seed, f"The process that ran it died with exit code {code}.")
        self.dismiss()
        return broken(self._seed, f"It did not end within {patience:g} s.")

    def dismiss(self) -> None:
        """End the process, whatever it is doing."""
        self._is_usable = False
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _ready(crew: list[_Member], patience: float) -> list[_Member]:
    """Those that have answered, died, or taken too long."""
    soonest = min(member.since for member in crew) + patience
    answered = wait([member.pipe for member in crew], max(soonest - time.monotonic(), 0.0))
    late = time.monotonic() - patience
    return [member for member in crew if member.pipe in answered or member.since <= late]
