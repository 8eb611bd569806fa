"""A wrong scenario is refused with what, where, and what to do. X22"""

from collections.abc import Callable
from pathlib import Path

import pytest

from dure.core.state import Priority
from dure.simulate.plan.reading import example, read
from dure.simulate.plan.table import ScenarioInvalid, ScenarioMissing

KIND = "[kinds.job]\nduration = '1s'\n"
WORK = "[[arrivals]]\njobs = 1\n"

Scenario = Callable[[str], Path]


def test_the_example_says_every_key_and_can_be_read(scenario: Scenario) -> None:
    found = read(scenario(example()))

    assert {"fetch", "summarise"} == set(found.kinds)
    assert 1003 == sum(group.count for group in found.lanes.values())
    assert (2, 50, 100) == (found.workers, found.slots, found.places)
    assert Priority.HIGH is found.kinds["summarise"].priority
    assert 30.0 == found.kinds["fetch"].retry.delay(1, 0.0)


def test_what_is_commented_out_in_the_example_is_the_default(scenario: Scenario) -> None:
    said = example().replace("# zone =", "zone =").replace("# patience =", "patience =")
    said = said.replace("# seed =", "seed =")

    assert said != example()
    assert read(scenario(said)) == read(scenario(example()))


def test_one_lane_and_one_kind_need_no_names(scenario: Scenario) -> None:
    found = read(scenario(KIND + WORK))

    assert ("job", "default") == (found.arrivals[0].kind, found.arrivals[0].lanes)


def test_changes_stand_in_for_what_a_file_says(scenario: Scenario) -> None:
    assert 7 == read(scenario("workers = 3\n" + KIND + WORK), {"workers": 7}).workers


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("workers = 0\n" + KIND + WORK, "workers must be a number of 1 to 10000, not 0", ""),
        ("workers = 1.5\n" + KIND + WORK, "workers must be a whole number, not 1.5", ""),
        ("worker = 2\n" + KIND + WORK, "worker is unknown", "Did you mean 'workers'?"),
        ("lasts = '400d'\n" + KIND + WORK, "lasts must be at most 366d, not '400d'", ""),
        ("lasts = 'long'\n" + KIND + WORK, "lasts cannot be used: cannot read 'long'", ""),
        ("lasts = true\n" + KIND + WORK, "lasts must be a length of time", ""),
        ("zone = 'Mars'\n" + KIND + WORK, "zone cannot be used: no time zone 'Mars'", ""),
        ("start = 'now'\n" + KIND + WORK, "start cannot be used: write a moment without", ""),
        ("kinds = 3\n" + WORK, "kinds must be a table, not 3", ""),
        (WORK, "kinds is missing", "Write [kinds.NAME]"),
        (KIND, "arrivals is missing", "Write [[arrivals]]"),
        ("[kinds.job]\n" + WORK, "kinds.job.duration is missing", "Write `duration = ...`"),
        ("[kinds.job]\nduration = 'soon'\n" + WORK, "kinds.job.duration cannot be used", ""),
        ("[kinds.job]\nduration = '3s..1s'\n" + WORK, "1s is less than 3s", ""),
        ("[kinds.job]\nduration = 'p50 0s p99 1s'\n" + WORK, "must be longer than nothing", ""),
        (KIND + "fails = 2\n" + WORK, "kinds.job.fails must be a number of 0 to 1, not 2", ""),
        (KIND + "fails = 0.6\nfails_for_good = 0.6\n" + WORK, "are more than 1 together", ""),
        (KIND + "breaker = 1\n" + WORK, "kinds.job.breaker must be a text in quotes", ""),
        (KIND + "limits = 'apl'\n" + WORK, "names limit 'apl', which is not there", "none"),
        (KIND + "uses = ['gpu']\n" + WORK, "kinds.job.uses names resource 'gpu'", "http"),
        (KIND + "priority = 'hi'\n" + WORK, "names the priority 'hi'", "'high'"),
        (KIND + "then = { jbo = 1 }\n" + WORK, "kinds.job.then.jbo names the kind", "'job'"),
        (KIND + "then = { job = 1 }\n" + WORK, "arrivals bring more than", "less than once"),
        (KIND + "retry = { tries = 3 }\n" + WORK, "kinds.job.retry.tries is unknown", "attempts"),
        (KIND + "limits = 3\n" + WORK, "kinds.job.limits must be a list of names", ""),
        ("[limits.a]\n" + KIND + WORK, "limits.a.windows cannot be used", ""),
        ("[limits.a]\nwindows = '5/x'\n" + KIND + WORK, "cannot read '5/x' as a window", ""),
        (KIND + "[lanes.a]\ncount = 0\n" + WORK, "lanes.a.count must be a number of 1", ""),
        (KIND + "[lanes.a]\ncount = 600000\n[lanes.b]\ncount = 600000\n" + WORK, "1,000,000", ""),
        (KIND + "[[arrivals]]\n", "arrivals[1].rate or jobs must be given", ""),
        (KIND + WORK + "[[arrivals]]\njobs = 0\n", "arrivals[2].jobs must be a number of 1", ""),
        (KIND + WORK + "rate = '1/s'\n", "arrivals[1].rate or jobs must be given, and not", ""),
        (KIND + "[[arrivals]]\nrate = 'fast'\n", "arrivals[1].rate cannot be used", ""),
        (KIND + "[[arrivals]]\nrate = '1/s'\nover = '1h'\n", "over goes with jobs", ""),
        (KIND + "[[arrivals]]\nrate = '1/s'\nevery = '1h'\n", "every goes with jobs", ""),
        (KIND + WORK + "every = 'x * *'\n", "arrivals[1].every cannot be used", ""),
        (KIND + "[[arrivals]]\nrate = '1/s'\nfrom = '2d'\n", "must be later than from", ""),
        (
            KIND + "[[arrivals]]\nrate = '9000/s'\n",
            "arrivals bring more than 20,000,000",
            "shorter",
        ),
        (KIND + WORK + "steady = 1\n", "arrivals[1].steady must be true or false, not 1", ""),
        (KIND + "arrivals = 3\n", "is unknown", ""),
        ("arrivals = [3]\n" + KIND, "arrivals must be tables, each under [[arrivals]]", ""),
        (KIND + WORK + "[[outages]]\nkinds = 'jobs'\n", "outages[1].kinds names", "'job'"),
    ],
)
def test_a_wrong_scenario_says_what_is_wrong_where_and_what_to_do(
    scenario: Scenario, text: str, said: str, hint: str
) -> None:
    with pytest.raises(ScenarioInvalid) as raised:
        read(scenario(text))

    assert said in raised.value.message
    assert "scenario.toml: " in raised.value.message
    assert raised.value.hint
    assert hint in raised.value.hint
    assert 2 == raised.value.exit_code


def test_a_second_kind_or_lane_must_be_chosen(scenario: Scenario) -> None:
    with pytest.raises(ScenarioInvalid, match=r"arrivals\[1\].kind is missing") as raised:
        read(scenario(KIND + "[kinds.other]\nduration = '1s'\n" + WORK))

    assert "Say which: job, other." == raised.value.hint


def test_a_job_that_could_never_run_is_refused_before_anything_is(scenario: Scenario) -> None:
    text = "[limits.model]\nwindows = ['100 tokens/s']\n" + KIND
    text += "limits = ['model']\ntokens = 101\n" + WORK

    with pytest.raises(ScenarioInvalid, match="one request needs 101 tokens") as raised:
        read(scenario(text))

    assert "Such a job would wait for ever." == raised.value.hint


def test_a_file_that_is_not_there_or_no_scenario_says_so(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("workers = ")

    with pytest.raises(ScenarioMissing, match="No such file or directory"):
        read(tmp_path / "nowhere.toml")
    with pytest.raises(ScenarioMissing, match="Is a directory"):
        read(tmp_path)
    with pytest.raises(ScenarioInvalid, match="is not TOML") as raised:
        read(tmp_path / "broken.toml")

    assert "--example" in str(raised.value.hint)
