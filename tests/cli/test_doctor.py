"""`dure doctor`: sound stores pass, and every problem comes with its fix."""

import os
import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dure.cli import premises
from dure.cli.catalog import DONE, PROBLEMS
from dure.stores.sqlite.store import SqliteStore


def test_a_sound_store_passes(on_store: Any) -> None:
    """X18"""
    ran = on_store("doctor")

    assert (DONE, True) == (ran.code, "All is well." in ran.err)
    assert {"good"} == {line.split()[0] for line in ran.out.splitlines()}


def test_problems_are_told_with_their_fixes(on_store: Any, busy: Any) -> None:
    """X18"""
    text, items = on_store("doctor"), on_store("doctor", "--json").items

    verdicts = {item["name"]: item["verdict"] for item in items}
    assert PROBLEMS == text.code
    assert ("bad", "warning", "warning") == (
        verdicts["kinds"],
        verdicts["pauses"],
        verdicts["breakers"],
    )
    assert all(item["fix"] for item in items if item["verdict"] != "good")
    assert "-> " in text.out
    assert "3 problems found." in text.err


def test_an_old_schema_is_a_problem_and_not_an_error(dure: Any) -> None:
    Path("old.db").touch()

    ran = dure("doctor", "--store", "old.db", "--json")

    found = {item["name"]: item for item in ran.items}
    assert (PROBLEMS, "bad") == (ran.code, found["schema"]["verdict"])
    assert "dure migrate" in found["schema"]["fix"]


def test_a_store_that_is_not_there_cannot_be_examined(dure: Any) -> None:
    assert 6 == dure("doctor", "--store", "typo.db").code


def test_a_clock_that_is_off_is_told(on_store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """X18"""
    monkeypatch.setattr("dure.engine.store_clock.StoreClock.skew", lambda _: -5.0)

    found = {item["name"]: item for item in on_store("doctor", "--json").items}

    assert "warning" == found["clock"]["verdict"]
    assert "5.000s behind the store" in found["clock"]["sentence"]


def _premises(path: Path) -> dict[str, tuple[str, str]]:
    found = premises.premises(SqliteStore(path))
    return {each.component: (each.verdict.value, each.fix) for each in found}


def _verdict(path: Path, component: str) -> str:
    verdict, fix = _premises(path)[component]
    assert (verdict == "good") is (fix == "")
    return verdict


def test_a_journal_that_makes_readers_wait_is_told(on_store: Any, sqlite_path: Path) -> None:
    before = _verdict(sqlite_path, "journal")
    connection = sqlite3.connect(sqlite_path)
    connection.execute("pragma journal_mode = delete")
    connection.close()

    assert ["good", "warning"] == [before, _verdict(sqlite_path, "journal")]


def test_a_log_that_nobody_empties_is_told(
    on_store: Any, sqlite_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(premises, "_WAL_BYTES_MAX", -1)

    assert "warning" == _verdict(sqlite_path, "journal")


def test_a_file_that_somebody_keeps_locked_is_told(
    on_store: Any, sqlite_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(premises, "_LOCK_SECONDS", 0.0)
    other = sqlite3.connect(sqlite_path, isolation_level=None)
    other.execute("begin immediate")
    locked = _verdict(sqlite_path, "writer")
    other.close()

    assert ["bad", "good"] == [locked, _verdict(sqlite_path, "writer")]


def test_a_full_disk_is_told(
    on_store: Any, sqlite_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage(NamedTuple):
        free: int = 1000

    before = _verdict(sqlite_path, "disk")
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage())

    assert ["good", "warning"] == [before, _verdict(sqlite_path, "disk")]


@pytest.mark.parametrize(("denied", "word"), [("file", "chmod u+rw"), ("folder", "chmod u+wx")])
def test_missing_rights_are_told(
    on_store: Any, sqlite_path: Path, monkeypatch: pytest.MonkeyPatch, denied: str, word: str
) -> None:
    path = sqlite_path if denied == "file" else sqlite_path.parent
    monkeypatch.setattr(os, "access", lambda place, _: Path(place).resolve() != path.resolve())

    verdict, fix = _premises(sqlite_path)["rights"]

    assert ("bad", True) == (verdict, word in fix)


def test_a_network_file_system_is_told(
    on_store: Any, sqlite_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"disk / ext4 rw 0 0\nserver:/x {sqlite_path.parent.resolve()} nfs4 rw 0 0\n")
    before = _verdict(sqlite_path, "locks")
    monkeypatch.setattr(premises, "_MOUNTS", mounts)

    assert ["good", "bad"] == [before, _verdict(sqlite_path, "locks")]


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be looked at" * 100)

    assert "bad" == _verdict(path, "file")
