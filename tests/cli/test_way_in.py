"""The way in: help without waiting, words that are wrong, which store is meant, exit codes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dure.cli import catalog
from dure.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


def test_help_imports_neither_engine_nor_stores() -> None:
    """A terminal must not wait for what help does not need."""
    assert [] == _heavy("--help")


def test_help_of_a_verb_imports_neither_engine_nor_stores() -> None:
    assert [] == _heavy("jobs", "cancel", "--help")
    assert [] == _heavy("simulate", "plan", "--help")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_imports_neither_engine_nor_stores(shell: str) -> None:
    assert [] == _heavy("completion", shell)


def _heavy(*words: str) -> list[str]:
    """Modules that a command has imported and should not have."""
    code = (
        "import sys; from dure.cli.main import main; sys.stdout = open('/dev/null', 'w')\n"
        f"assert main({list(words)!r}) == 0\n"
        "print(*sorted(sys.modules), file=sys.__stdout__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )
    heavy = ("asyncio", "sqlite3", "asyncpg", "msgspec", "ssl", "dure.engine", "dure.stores")
    return [name for name in done.stdout.split() if name.startswith(heavy)]


def test_help_names_every_command_and_every_exit_code(dure: Any) -> None:
    ran = dure("--help")

    assert 0 == ran.code
    assert [] == [noun for noun in catalog.NOUNS if f"  {noun} " not in ran.out]
    assert [] == [code for code, _ in catalog.EXITS if f"  {code} " not in ran.out]
    assert ran.out == dure().out


@pytest.mark.parametrize("noun", [n for n in catalog.NOUNS if n not in catalog.PASSED_ON])
def test_every_command_explains_itself(dure: Any, noun: str) -> None:
    ran = dure(noun, "--help")

    assert 0 == ran.code
    assert ran.out.startswith(f"usage: dure {noun}")
    assert ran.out == dure("--help", noun).out


def test_the_version_is_printed(dure: Any) -> None:
    assert dure("--version").out.startswith("dure 0.")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("job",), "no command 'job'. Did you mean 'jobs'?"),
        (("--json",), "a command is missing"),
        (("jobs", "frobnicate"), "no verb 'frobnicate'. There are: list, count"),
        (("sessions",), "a verb is missing"),
        (("jobs", "list", "--limit", "0"), "'0' is not a whole number of 1 or more"),
        (("jobs", "show", "five"), "'five' is not a whole number"),
        (("jobs", "retry", "1", "--spread", "soon"), "cannot read 'soon' as a duration"),
        (("jobs", "list", "--output", "xml"), "invalid choice: 'xml'"),
        (("run", "--health", "8000", "x"), "write HOST:PORT"),
    ],
)
def test_wrong_words_are_a_usage_error(dure: Any, words: tuple[str, ...], sentence: str) -> None:
    ran = dure(*words)

    assert (2, "") == (ran.code, ran.out)
    assert sentence in ran.err


def test_a_store_must_be_named(dure: Any) -> None:
    ran = dure("jobs")

    assert 2 == ran.code
    assert "--store URL, set DURE_STORE, or name the program" in ran.err


def test_looking_at_a_file_that_does_not_exist_does_not_create_it(dure: Any) -> None:
    ran = dure("--store", "typo.db", "jobs")

    assert 6 == ran.code
    assert "There is no database at 'typo.db'." in ran.err
    assert not Path("typo.db").exists()


def test_a_file_that_is_no_database_cannot_be_opened(dure: Any) -> None:
    Path("notes.txt").write_text("not a database, but long enough to be looked at" * 100)

    assert 6 == dure("jobs", "--store", "notes.txt").code


def test_a_schema_that_is_behind_has_its_code(dure: Any) -> None:
    Path("old.db").touch()

    listed, checked = (
        dure("jobs", "--store", "old.db"),
        dure("migrate", "--store", "old.db", "--check"),
    )
    migrated = dure("migrate", "--store", "old.db")
    after = dure("migrate", "--store", "old.db", "--check", "--json")

    assert (7, 7, 0, 0) == (listed.code, checked.code, migrated.code, after.code)
    assert "dure migrate" in listed.err
    assert after.item["is_up_to_date"]


def test_the_option_wins_over_the_variable_and_the_variable_over_the_app(
    dure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("shop.py").write_text("import dure\n\napp = dure.App('of-app.db')\n")
    for name in ("option.db", "variable.db", "of-app.db"):
        dure("migrate", "--store", name)
        dure("pause", "--store", name, "--reason", name)

    of_app = dure("status", "--app", "shop.py")
    monkeypatch.setenv("DURE_STORE", "variable.db")
    of_variable = dure("status", "--app", "shop.py")
    of_option = dure("status", "--app", "shop.py", "--store", "option.db")

    assert "of-app.db" in of_app.out
    assert "variable.db" in of_variable.out
    assert "option.db" in of_option.out


def test_options_may_stand_before_the_command(on_store: Any, busy: Any) -> None:
    before = on_store("--output", "ids", "jobs", "list", "--limit", 2)
    without_verb = on_store("--output", "ids", "jobs", "--limit", 2)

    assert on_store("jobs", "list", "--limit", 2, "--output", "ids").out == before.out
    assert before.out == without_verb.out


def test_an_interrupt_has_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("dure.cli.main._run", interrupted)

    assert 130 == main(["jobs"])


@pytest.mark.parametrize("noun", sorted(catalog.PASSED_ON))
def test_measuring_commands_read_their_own_words(
    dure: Any, monkeypatch: pytest.MonkeyPatch, noun: str
) -> None:
    given: list[list[str]] = []

    class Module:
        @staticmethod
        def run(words: list[str]) -> int:
            given.append(words)
            return 9

    monkeypatch.setitem(sys.modules, catalog.PASSED_ON[noun], Module)

    assert 9 == dure(noun, "--runs", 3, "--json").code
    assert [["--runs", "3", "--json"]] == given


def test_bash_completes_nouns_verbs_and_options(dure: Any) -> None:
    script = dure("completion", "bash").out
    Path("complete.sh").write_text(script)

    def complete(*words: str) -> list[str]:
        line = " ".join(f'"{word}"' for word in ("dure", *words))
        ask = f'COMP_WORDS=({line}); COMP_CWORD={len(words)}; _dure; echo "${{COMPREPLY[@]}}"'
        done = subprocess.run(
            ["bash", "-c", f"source ./complete.sh; {ask}"],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.split()

    assert ["lanes", "limits"] == complete("l")
    assert ["resume"] == complete("lanes", "resu")
    assert ["--dry-run"] == complete("jobs", "cancel", "--dry")
    assert ["--health", "--help"] == complete("run", "--he")
    assert ["plan"] == complete("simulate", "pl")
    assert ["--seeds"] == complete("simulate", "--see")
    assert ["--seed"] == complete("simulate", "plan", "--see")


def test_zsh_and_fish_know_the_same_words(dure: Any) -> None:
    zsh, fish = dure("completion", "zsh").out, dure("completion", "fish").out

    assert "bashcompinit" in zsh
    for noun in catalog.NOUNS:
        assert f"-a {noun} " in fish
    assert "-l dry-run" in fish
    assert (2, "") == (dure("completion", "csh").code, dure("completion", "csh").out)
