"""`dure simulate`: exit codes, documents, and how a violation is told. X22"""

import json
from pathlib import Path
from typing import Any

import pytest

from dure.stores.sqlite import jobs

SMALL = """
slots = 1
[kinds.job]
duration = "1s"
[[arrivals]]
jobs = 4
"""


@pytest.fixture
def is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine whose claims take no new fence."""
    broken = jobs._CLAIM.replace("fence = fence + 1", "fence = fence")
    monkeypatch.setattr(jobs, "_CLAIM", broken)


@pytest.fixture
def file(dure: Any) -> Path:
    """A small scenario in the folder where commands run."""
    path = Path("small.toml")
    path.write_text(SMALL)
    return path


def test_seeds_without_a_violation_end_well(dure: Any) -> None:
    ran = dure("simulate", "--seeds", 2, "--first", 5, "--processes", 1)

    assert (0, "") == (ran.code, ran.err)
    assert ran.out.startswith("seeds       2 (5 to 6)\n")
    assert ran.out.endswith("violations  none\n")


def test_seeds_without_a_violation_are_one_document(dure: Any) -> None:
    ran = dure("simulate", "--seeds", 1, "--json")

    assert 0 == ran.code
    assert (1, "simulation") == (ran.document["version"], ran.document["what"])
    assert (1, 1, 1) == (ran.item["first"], ran.item["seeds"], ran.item["done"])
    assert ([], {}, False) == (
        ran.item["violations"],
        ran.item["invariants"],
        ran.item["is_interrupted"],
    )
    assert ran.item["jobs"] > 50


@pytest.mark.usefixtures("is_broken")
def test_a_violation_is_told_with_its_seed_and_how_to_see_it_again(dure: Any) -> None:
    ran = dure("simulate", "--seeds", 2, "--processes", 1)

    assert 1 == ran.code
    assert "in 2 seeds\n" in ran.out
    assert "a claim is a new fence" in ran.out
    assert "repeat it: dure simulate --first 2 --seeds 1\n" in ran.out


@pytest.mark.usefixtures("is_broken")
def test_a_violation_is_in_the_document_and_its_seed_among_the_ids(dure: Any) -> None:
    asked = ("simulate", "--seeds", 2, "--first", 8, "--processes", 1)

    ran, ids = dure(*asked, "--json"), dure(*asked, "--output", "ids")

    first = ran.item["violations"][0]
    assert (1, 1, "8\n9\n") == (ran.code, ids.code, ids.out)
    assert (8, "a claim is a new fence") == (first["seed"], first["invariant"])
    assert "dure simulate --first 8 --seeds 1" == first["command"]
    assert first["lines"]


def test_the_history_of_a_seed_is_the_same_bytes_each_time(dure: Any) -> None:
    ran, again = (dure("simulate", "--first", 3, "--history") for _ in range(2))

    assert 0 == ran.code
    assert ran.out == again.out
    assert "SUCCESS" in ran.out
    assert "violations  none" in ran.err


def test_the_history_of_several_seeds_is_refused(dure: Any) -> None:
    ran = dure("simulate", "--history", "--seeds", 2)

    assert (2, "") == (ran.code, ran.out)
    assert "Leave --seeds out" in ran.err


def test_an_interrupt_keeps_what_was_found(dure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dure.simulate.seeds import Result

    def run(seed: int, *, with_history: bool = False) -> Result:
        if seed == 3:
            raise KeyboardInterrupt
        return Result(seed, (), jobs=10)

    monkeypatch.setattr("dure.simulate.seeds.attempt", run)

    ran = dure("simulate", "--seeds", 9, "--processes", 1)

    assert 130 == ran.code
    assert "seeds       2 of 9 (1 to 9)" in ran.out


def test_a_plan_is_a_page(dure: Any, file: Path) -> None:
    ran = dure("simulate", "plan", file)

    assert (0, "") == (ran.code, ran.err)
    assert "finish      after 4s, 4s after the last job came\n" in ran.out
    assert "Slots bind" in ran.out


def test_a_plan_is_a_document(dure: Any, file: Path) -> None:
    ran = dure("simulate", "plan", file, "--json", "--slots", 2)

    (item,) = ran.items
    assert (0, "capacity") == (ran.code, ran.document["what"])
    assert ("1 x 2", 4, 0, 2.0) == (item["name"], item["jobs"], item["left"], item["seconds"])
    assert {"jobs": 4, "p50": 0.0, "p95": 1.0, "p99": 1.0, "most": 1.0} == item["waits"]
    assert "slots" == item["binds"][0]["hold"]
    assert item["advice"]


def test_several_numbers_of_workers_are_compared(dure: Any, file: Path) -> None:
    ran = dure("simulate", "plan", file, "--workers", "1,2,4,8")
    lines = dure("simulate", "plan", file, "--workers", "1,2", "--output", "ndjson").out

    assert "Beyond 4 workers nothing is gained." in ran.out
    assert [4.0, 2.0] == [json.loads(line)["seconds"] for line in lines.splitlines()]


def test_work_that_is_left_over_is_a_problem(dure: Any, file: Path) -> None:
    file.write_text("patience = '2s'\n" + SMALL)

    ran = dure("simulate", "plan", file, "--json")

    assert (9, 2) == (ran.code, ran.items[0]["left"])


def test_the_example_can_be_planned(dure: Any) -> None:
    ran = dure("simulate", "plan", "--example")
    less = ran.out.replace("jobs = 2000", "jobs = 20").replace('"60/m"', '"1/m"')
    Path("example.toml").write_text(less)

    assert 0 == ran.code
    assert 0 == dure("simulate", "plan", "example.toml", "--workers", 3, "--seed", 2).code


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--seeds", "0"), "'0' is not a whole number of 1 to 10000000"),
        (("--first", "-1"), "'-1' is not a whole number of 0 or more"),
        (("--processes", "300"), "'300' is not a whole number of 1 to 256"),
        (("plam",), "unrecognized arguments: plam"),
        (("plan",), "There is no scenario to plan for"),
        (("plan", "nowhere.toml"), "Cannot read nowhere.toml"),
        (("plan", "small.toml", "--workers", "2,x"), "'x' is not a whole number"),
        (("plan", "small.toml", "--workers", "99999"), "workers must be a number of 1 to 10000"),
        (("plan", "small.toml", "--slots", "0"), "'0' is not a whole number of 1 or more"),
    ],
)
def test_wrong_words_say_what_is_wrong(
    dure: Any, file: Path, words: tuple[str, ...], said: str
) -> None:
    ran = dure("simulate", *words)

    assert (2, "") == (ran.code, ran.out)
    assert said in ran.err


def test_a_wrong_scenario_is_a_document_where_that_is_asked_for(dure: Any, file: Path) -> None:
    file.write_text(SMALL.replace("slots", "slot"))

    ran = dure("simulate", "plan", file, "--json")

    error = json.loads(ran.err)["item"]
    assert (2, "scenario_invalid") == (ran.code, error["code"])
    assert "small.toml: slot is unknown." == error["message"]
    assert "Did you mean 'slots'?" in error["hint"]
