"""The ground a SQLite store stands on: its file, its folder, its disk and who else is there."""

import os
import shutil
import sqlite3
from pathlib import Path
from typing import Final

from dure.engine.desk.checkup import Finding, Verdict
from dure.ports.store import Store

_FREE_BYTES_MIN: Final = 1 << 30
_WAL_BYTES_MAX: Final = 256 << 20
_LOCK_SECONDS: Final = 2.0
_MOUNTS: Final = Path("/proc/self/mounts")
_REMOTE: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "glusterfs"})
_MEBI: Final = 1 << 20


def premises(store: Store) -> list[Finding]:
    """What can be seen without the engine; a store in memory has no premises."""
    path = Path(store.url.removeprefix("sqlite:"))
    if not path.is_file():
        return []
    return [_rights(path), _disk(path), _mount(path), *_database(path)]


def _rights(path: Path) -> Finding:
    folder = path.resolve().parent
    if not os.access(path, os.R_OK | os.W_OK):
        sentence, fix = f"{str(path)!r} cannot be written", f"Give the right: `chmod u+rw {path}`."
    elif not os.access(folder, os.W_OK | os.X_OK):
        sentence = f"the folder {str(folder)!r} cannot be written, and the log lies beside the file"
        fix = f"Give the right: `chmod u+wx {folder}`."
    else:
        return Finding("rights", Verdict.GOOD, "the file and its folder can be written")
    return Finding("rights", Verdict.BAD, sentence, fix)


def _disk(path: Path) -> Finding:
    free = shutil.disk_usage(path.resolve().parent).free
    size = path.stat().st_size
    sentence = f"{free // _MEBI:,} MiB free, the store takes {size // _MEBI:,} MiB"
    if free < max(_FREE_BYTES_MIN, size // 10):
        fix = "Free some space, or keep less: `dure settings set history.keep 3d`."
        return Finding("disk", Verdict.WARNING, sentence, fix)
    return Finding("disk", Verdict.GOOD, sentence)


def _mount(path: Path) -> Finding:
    """The log's shared memory does not work between machines."""
    kind = _kind_of_mount(path.resolve())
    if kind in _REMOTE:
        sentence = f"the file is on a network file system ({kind}), where its locks do not hold"
        return Finding(
            "locks", Verdict.BAD, sentence, "Move it to a local disk, or use PostgreSQL."
        )
    return Finding("locks", Verdict.GOOD, "the file is on a local disk")


def _kind_of_mount(path: Path) -> str:
    if not _MOUNTS.is_file():
        return ""
    best = ("", "")
    for line in _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines():
        _, point, kind, *_ = line.split(" ")
        point = point.replace("\\040", " ")
        if path.is_relative_to(point) and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1]


def _database(path: Path) -> list[Finding]:
    connection = sqlite3.connect(path, timeout=_LOCK_SECONDS, isolation_level=None)
    try:
        return [_journal(connection, path), _lock(connection)]
    except sqlite3.DatabaseError as error:
        fix = "Restore it from a backup, or choose another file."
        return [Finding("file", Verdict.BAD, f"{str(path)!r} is no sound database: {error}", fix)]
    finally:
        connection.close()


def _journal(connection: sqlite3.Connection, path: Path) -> Finding:
    mode: str = connection.execute("pragma journal_mode").fetchone()[0]
    if mode != "wal":
        fix = "Start a worker or run `dure migrate`: both switch to the write-ahead log."
        return Finding("journal", Verdict.WARNING, f"mode is {mode}, readers block writers", fix)
    log = Path(f"{path}-wal")
    size = log.stat().st_size if log.exists() else 0
    sentence = f"write-ahead log of {size // _MEBI:,} MiB"
    if size > _WAL_BYTES_MAX:
        fix = "Look for a process that reads for very long: it keeps the log from being emptied."
        return Finding("journal", Verdict.WARNING, sentence, fix)
    return Finding("journal", Verdict.GOOD, sentence)


def _lock(connection: sqlite3.Connection) -> Finding:
    try:
        connection.execute("begin immediate")
        connection.execute("rollback")
    except sqlite3.OperationalError as error:
        sentence = f"nobody could write for {_LOCK_SECONDS:g}s: {error}"
        fix = "Look for a process with a long transaction on the file: `fuser FILE`."
        return Finding("writer", Verdict.BAD, sentence, fix)
    return Finding("writer", Verdict.GOOD, "the file can be locked for writing")
