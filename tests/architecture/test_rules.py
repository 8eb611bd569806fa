"""The rules of the house that no linter knows: sizes, names, purity, and what no file may say."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

import dure

ROOT = Path(__file__).resolve().parents[2]
PYTHON_ROOTS = ("src", "packages", "apps", "tools", "tests", "examples")
HIDDEN_BUT_OURS = {".ci", ".github", ".gitignore"}
BUILT = {"__pycache__", "build", "dist", "node_modules", "site"}
TEXT_SUFFIXES = {
    *("", ".cfg", ".css", ".html", ".ini", ".js", ".json", ".md", ".po", ".py", ".sh"),
    *(".sql", ".svg", ".toml", ".ts", ".txt", ".xml", ".yaml", ".yml"),
}

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
FOLDER_MODULES_MAX = 24
ARCHITECTURE_LINES_MAX = 200

BANNED_NAMES = {
    *("base", "common", "data", "helper", "helpers", "info", "manager", "managers", "misc"),
    *("processor", "processors", "util", "utils"),
}

PURE = {
    *("abc", "base64", "bisect", "calendar", "collections", "copy", "cronsim", "dataclasses"),
    *(
        "datetime",
        "decimal",
        "difflib",
        "enum",
        "fractions",
        "functools",
        "graphlib",
        "hashlib",
        "heapq",
    ),
    *("html", "itertools", "json", "keyword", "math", "numbers", "operator", "re", "statistics"),
    *("string", "struct", "textwrap", "types", "typing", "unicodedata", "zoneinfo"),
}
"""What the core may import besides itself: nothing here reads a clock, dice, file or network."""
CLOCK_CALLS = {"now", "today", "utcnow"}


def any_of(words: str) -> str:
    """A pattern for any of the words, which are written with ~ inside.

    Without it, this file would break the rules that it states.
    """
    return "|".join(re.escape(word.replace("~", "")) for word in words.split())


UNFINISHED = re.compile(rf"\b({any_of('TO~DO FIX~ME XX~X HA~CK')})\b")
NOT_RUN = re.compile(r"pytest\.(skip|xfail|importorskip)\b|\bmark\.(skip|skipif|xfail)\b")
REGISTRY = re.compile(any_of("py~pi.org python~hosted.org npm~js.org npm~js.com deb.~debian.org"))
MACHINE_PATH = re.compile(rf"(?<![\w.}}])/({any_of('wo~rk ro~ot ho~me Us~ers opt/py~pi')})/\w")


def our_files(*roots: str) -> Iterator[Path]:
    """Every file of the repository, or of some of its folders, without what tools leave behind."""
    starts = [ROOT / root for root in roots] or list(ROOT.iterdir())
    for start in starts:
        if (
            start.name.startswith(".") and start.name not in HIDDEN_BUT_OURS
        ) or start.name in BUILT:
            continue
        found = chain([start], start.rglob("*")) if start.is_dir() else [start]
        yield from (path for path in found if path.is_file() and not BUILT & set(path.parts))


def python_files(*roots: str) -> list[Path]:
    return [path for path in our_files(*(roots or PYTHON_ROOTS)) if path.suffix == ".py"]


def places(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    """`file:line` of every line that the pattern is found in."""
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def text_files() -> list[Path]:
    return [path for path in our_files() if path.suffix in TEXT_SUFFIXES]


def imported_modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.ImportFrom():
                yield "." * node.level


def test_no_python_file_is_longer_than_a_reader_can_hold() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in python_files()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > FILE_LINES_MAX
    }

    assert long == {}


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{node.name}": lines
        for path in python_files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    }

    assert long == {}


def test_no_folder_holds_more_modules_than_a_reader_can_survey() -> None:
    paths = python_files("src", "packages", "apps")
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in paths)

    assert {folder: n for folder, n in counts.items() if n > FOLDER_MODULES_MAX} == {}


def test_no_file_or_folder_is_a_drawer_for_what_has_no_name() -> None:
    drawers = [
        str(path.relative_to(ROOT))
        for path in python_files()
        if any(
            BANNED_NAMES & set(part.removesuffix(".py").lower().split("_"))
            for part in path.relative_to(ROOT).parts
        )
    ]

    assert drawers == []


def test_every_module_of_the_package_says_what_it_knows() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in python_files("src", "packages")
        if ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) is None
    ]

    assert silent == []


def test_nothing_is_left_unfinished() -> None:
    assert places(UNFINISHED, text_files()) == []


def test_no_test_is_left_out() -> None:
    assert places(NOT_RUN, python_files()) == []


def test_no_file_names_a_package_registry() -> None:
    assert places(REGISTRY, text_files()) == []


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    assert places(MACHINE_PATH, text_files()) == []


def test_the_core_imports_only_itself_and_what_is_pure() -> None:
    impure = {
        (str(path.relative_to(ROOT)), module)
        for path in python_files("src/dure/core")
        for module in imported_modules(ast.parse(path.read_text(encoding="utf-8")))
        if not f"{module}.".startswith("dure.core.") and module.split(".")[0] not in PURE
    }

    assert impure == set()


def test_the_core_never_asks_what_time_it_is() -> None:
    asked = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files("src/dure/core")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in CLOCK_CALLS
        if isinstance(node.value, ast.Name) and node.value.id in {"datetime", "date"}
    ]

    assert asked == []


@pytest.mark.slow
def test_imports_keep_the_contracts_in_pyproject() -> None:
    """`make check` asks the same by itself."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        check=False,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    assert done.returncode == 0, done.stdout


def test_the_package_itself_only_lists_its_public_names() -> None:
    tree = ast.parse((ROOT / "src/dure/__init__.py").read_text(encoding="utf-8"))
    docstring, *statements = tree.body
    others = [ast.unparse(node) for node in statements if not is_import_or_all(node)]

    assert isinstance(docstring, ast.Expr)
    assert others == []


def is_import_or_all(node: ast.stmt) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=loader):
            defined = {each.name for each in loader if isinstance(each, ast.FunctionDef)}
            return all(map(is_import_or_all, body)) and defined == {"__getattr__", "__dir__"}
    return False


def test_the_package_loads_every_public_name_from_where_type_checkers_see_it() -> None:
    tree = ast.parse((ROOT / "src/dure/__init__.py").read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("dure.")
        for alias in node.names
    }
    loaded = {
        name: home
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES"
        for home, names in ast.literal_eval(node.value).items()
        for name in names
    }

    assert seen == loaded
    assert sorted(dure.__all__) == sorted(loaded)
    assert all(getattr(dure, name) is not None for name in dure.__all__)


def test_the_architecture_can_be_read_in_one_sitting() -> None:
    lengths = [
        len(path.read_text(encoding="utf-8").splitlines()) for path in ROOT.glob("ARCHITECTURE.md")
    ]

    assert all(lines <= ARCHITECTURE_LINES_MAX for lines in lengths), lengths


def test_every_sql_file_begins_by_saying_what_it_does() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in our_files("src", "apps")
        if path.suffix == ".sql" and not path.read_text(encoding="utf-8").startswith("-- ")
    ]

    assert silent == []


def test_every_decision_has_a_status_and_a_line_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    records = [path for path in folder.glob("*.md") if path.name != "README.md"]

    assert [path.name for path in records if f"({path.name})" not in index] == []
    assert [path.name for path in records if "\nStatus: " not in path.read_text("utf-8")] == []
