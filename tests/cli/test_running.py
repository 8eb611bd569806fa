"""`dure run`: finding the program, working until told to leave, and the account it gives."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import asyncio
import dure

app = dure.App("jobs.db")


@app.kind
async def note(text: str) -> None:
    with open("notes.txt", "a") as notes:
        notes.write(text)


@app.kind(timeout=None)
async def endless() -> None:
    print("begun", flush=True)
    await asyncio.sleep(3600)


async def fill(*jobs):
    async with app:
        await app.enqueue_many(jobs)
"""


@pytest.fixture
def program(dure: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A program in the folder that commands run in, forgotten afterwards."""
    path = Path("shop_of_tests.py").resolve()
    path.write_text(PROGRAM)
    before = list(sys.path)
    yield path
    sys.path[:] = before
    sys.modules.pop("shop_of_tests", None)


def _fill(program: Path, job: str) -> None:
    code = f"import asyncio, {program.stem} as p; asyncio.run(p.fill(p.{job}))"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=program.parent)


@pytest.mark.parametrize("target", ["shop_of_tests", "shop_of_tests:app", "shop_of_tests.py"])
def test_a_program_works_until_nothing_is_left(dure: Any, program: Path, target: str) -> None:
    """X12"""
    _fill(program, "note('done')")

    ran = dure("run", target, "--until-idle", "--slots", 3, "--name", "w-1")

    assert 0 == ran.code
    assert "done" == Path("notes.txt").read_text()
    assert "serves sqlite:jobs.db with 3 slots; kinds: endless, note." in ran.err
    assert "Left: 0 jobs ended in the meantime, 0 given back" in ran.err
    assert "" == ran.out


def test_the_account_of_a_departure_is_there_as_json(dure: Any, program: Path) -> None:
    """X12"""
    item = dure("run", "shop_of_tests", "--until-idle", "--json", "-q").item

    assert {
        "name": "departure",
        "finished": 0,
        "given_back": 0,
        "interrupted": 0,
        "is_clean": True,
    } == item


@pytest.mark.process
def test_the_first_signal_drains_and_the_second_gives_back(dure: Any, program: Path) -> None:
    """X12"""
    _fill(program, "endless()")
    worker = subprocess.Popen(
        [sys.executable, "-m", "dure.cli.main", "run", "shop_of_tests", "--grace", "1h"],
        cwd=program.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    assert worker.stderr is not None
    assert "begun\n" == worker.stdout.readline()

    os.kill(worker.pid, signal.SIGINT)
    told = ""
    while "press Ctrl-C again" not in told:
        line = worker.stderr.readline()
        assert line, told
        told += line
    os.kill(worker.pid, signal.SIGINT)
    _, rest = worker.communicate(timeout=60)

    assert "Leaving: 1 running job may end" in told
    assert "Left: 0 jobs ended in the meantime, 1 given back, 1 of them interrupted." in rest
    assert 0 == worker.returncode
    assert "PENDING" == dure("jobs", "--store", "jobs.db", "--json").items[0]["state"]


@pytest.mark.parametrize(
    ("text", "target", "sentence"),
    [
        ("", "nothing_here", "There is no module 'nothing_here' here."),
        ("", "nothing.py", "There is no file 'nothing.py'."),
        ("", "broken.py", "has no app."),
        ("import nothing_there", "broken.py", "No module named 'nothing_there'"),
        ("import nothing_there", "broken", "No module named 'nothing_there'"),
        ("1 / 0", "broken.py", "ZeroDivisionError: division by zero"),
        ("import dure; a = dure.App('a.db')", "broken.py:b", "has no app called 'b'"),
        (
            "import dure; a = dure.App('a.db'); b = dure.App('b.db')",
            "broken.py",
            "has several apps. Name one, like broken.py:a.",
        ),
    ],
)
def test_a_program_that_cannot_be_found_is_explained(
    dure: Any, program: Path, text: str, target: str, sentence: str
) -> None:
    Path("broken.py").write_text(text)
    sys.modules.pop("broken", None)

    ran = dure("run", target)

    assert 2 == ran.code
    assert sentence in " ".join(ran.err.split())


def test_a_program_names_its_store_by_itself(dure: Any, program: Path) -> None:
    ran = dure("run", "shop_of_tests", "--store", "other.db")

    assert (2, True) == (ran.code, "names its store by itself" in ran.err)
    assert 2 == dure("run").code


def test_only_declared_kinds_can_be_served(dure: Any, program: Path) -> None:
    ran = dure("run", "shop_of_tests", "--kinds", "note,save", "--until-idle")

    assert (2, True) == (ran.code, "No kind 'save' is declared here." in ran.err)


def test_a_health_address_that_is_taken_stops_the_start(dure: Any, program: Path) -> None:
    """X18"""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = dure("run", "shop_of_tests", "--until-idle", "--health", f"127.0.0.1:{port}")

    assert (2, True) == (ran.code, f"Cannot answer at 127.0.0.1:{port}" in ran.err)


def test_health_is_served_where_it_was_asked_for(dure: Any, program: Path) -> None:
    """X18"""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    ran = dure("run", "shop_of_tests", "--until-idle", "--health", f"127.0.0.1:{port}")

    assert (0, True) == (ran.code, f"http://127.0.0.1:{port}/readyz" in ran.err)


def test_the_program_at_hand_explains_and_checks_its_own_kinds(dure: Any, program: Path) -> None:
    """X13 X19"""
    _fill(program, "note('x')")

    kinds = dure("kinds", "--app", "shop_of_tests", "--json").items
    wrong = dure("jobs", "edit", 1, "--set", "text=5", "--app", "shop_of_tests")
    right = dure("jobs", "edit", 1, "--set", "text=y", "--app", "shop_of_tests")

    assert [("endless", True), ("note", True)] == [(k["name"], k["is_declared"]) for k in kinds]
    assert (2, True) == (wrong.code, "do not fit 'note'" in wrong.err)
    assert 0 == right.code
