"""The log that measured handlers write: one record of 24 bytes for each job, appended at once.

A record is so small that one append of it costs about two microseconds and is never mixed
with another process's. The layout is that of the benchmarks other engines are measured with.
"""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

_RECORD: Final = Struct("ddq")


class Mark(NamedTuple):
    """One handler call, or one item of a chunk."""

    value: float
    """What the job carried: when it was enqueued, or its number, or its lane."""
    at: float
    """When the handler's first line ran, in epoch seconds."""
    worker: int


class Marks:
    """One log: written by workers, read by whoever measures them."""

    def __init__(self, path: Path, worker: int = 0) -> None:
        self.path = path
        self._worker = worker
        self._file: int | None = None

    def write(self, value: float = 0.0, at: float | None = None) -> None:
        """Append one record."""
        moment = time.time() if at is None else at
        os.write(self._open(), _RECORD.pack(value, moment, self._worker))

    def write_all(self, values: Iterable[float]) -> None:
        """Append a record for each value, all in one write."""
        moment, pack, worker = time.time(), _RECORD.pack, self._worker
        os.write(self._open(), b"".join([pack(value, moment, worker) for value in values]))

    def _open(self) -> int:
        if self._file is None:
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        return self._file

    def count(self) -> int:
        """How many records there are."""
        return self.path.stat().st_size // _RECORD.size if self.path.exists() else 0

    def read(self, after: int = 0) -> list[Mark]:
        """The records in the order they were written, without the first `after`."""
        if not self.path.exists():
            return []
        content = self.path.read_bytes()[after * _RECORD.size :]
        whole = len(content) // _RECORD.size * _RECORD.size
        return [Mark(*record) for record in _RECORD.iter_unpack(content[:whole])]

    def clear(self) -> None:
        """Forget all records; whoever writes just goes on."""
        self.path.write_bytes(b"")

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
