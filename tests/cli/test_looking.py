"""Every command that shows something, as people and as programs read it, empty and busy."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

LISTINGS = (
    ("jobs", "jobs", "No job matches."),
    ("lanes", "lanes", "There are no lanes yet"),
    ("kinds", "kinds", "There are no kinds yet"),
    ("limits", "limits", "There are no limits."),
    ("breakers", "breakers", "No breaker was ever used."),
    ("batches", "batches", "There are no such batches."),
    ("schedules", "schedules", "There are no schedules"),
    ("workers", "workers", "No worker is registered."),
    ("keys", "keys", "No unique key begins like that."),
    ("audit", "audit", "Nobody has commanded anything yet."),
)


@pytest.mark.parametrize(("noun", "what", "sentence"), LISTINGS)
def test_an_empty_listing_says_so_and_prints_nothing(
    on_store: Any, noun: str, what: str, sentence: str
) -> None:
    text, document = on_store(noun), on_store(noun, "list", "--json")

    assert (0, "") == (text.code, text.out)
    assert sentence in text.err
    assert {"version": 1, "what": what, "items": []} == document.document


@pytest.mark.parametrize(
    ("noun", "words"),
    [
        ("jobs", ["kind-failed", "TimeoutError: no answer", "QUOTA", "RETRY_WAIT"]),
        ("lanes", ["acme", "kis", "zeta"]),
        ("kinds", ["kind-failed", "no live worker knows it"]),
        ("limits", ["kis", "0 of 20/s", "has room"]),
        ("breakers", ["naver", "opened by hand"]),
        ("batches", ["NIGHT", "OPEN"]),
        ("schedules", ["hourly", "0 * * * *"]),
        ("workers", ["worker-1", "running", "fetch"]),
        ("audit", ["limit.define", "kim", "contract"]),
        ("settings", ["worker.slots", "100", "1..10000 jobs"]),
    ],
)
def test_a_listing_shows_what_there_is(
    on_store: Any, busy: Any, noun: str, words: list[str]
) -> None:
    ran = on_store(noun)

    assert 0 == ran.code
    assert [] == [word for word in words if word not in ran.out]
    assert ran.out.splitlines()[0].isupper()


def test_ids_and_lines_of_json_can_be_piped(on_store: Any, busy: Any) -> None:
    ids = on_store("jobs", "list", "--output", "ids", "--oldest").out
    lines = on_store("jobs", "list", "--output", "ndjson", "--oldest").out
    lanes = on_store("lanes", "--output", "ids").out

    assert [str(job) for job in busy.jobs.values()] == ids.split()
    assert list(busy.jobs.values()) == [json.loads(line)["id"] for line in lines.splitlines()]
    assert ["acme", "zeta"] == lanes.split()


def test_a_filter_narrows_and_pages_go_on_where_the_last_one_ended(
    on_store: Any, busy: Any
) -> None:
    first = on_store("jobs", "list", "--limit", 3, "session:nightly")
    place = re.search(r"--after (\d+)", first.err)
    assert place is not None
    second = on_store("jobs", "list", "--limit", 3, "--after", place[1], "--output", "ids")
    negative = on_store("jobs", "list", "--filter", "-state:failed,stale", "--output", "ids")

    everything = [str(job) for job in reversed(busy.jobs.values())]
    assert everything[3:6] == second.out.split()
    assert len(everything) - 2 == len(negative.out.split())


def test_jobs_are_counted_by_state(on_store: Any, busy: Any) -> None:
    ran = on_store("jobs", "count", "state:failed,running")

    assert ["STATE JOBS", "RUNNING 1", "FAILED 1"] == [
        " ".join(line.split()) for line in ran.out.splitlines()
    ]


def test_a_job_is_shown_with_its_why_and_its_attempts(on_store: Any, busy: Any) -> None:
    """X13 X19"""
    failed = next(job for state, job in busy.jobs.items() if state.name == "FAILED")

    text, item = (
        on_store("jobs", "show", failed).out,
        on_store("jobs", "show", failed, "--json").item,
    )

    for words in ("FAILED", "kind-failed", "no answer", "only a replay", "https://example.org"):
        assert words in text
    assert {"url": "https://example.org"} == item["args"]
    assert "fail" == item["attempts"][0]["event"]
    assert item["why"]["sentence"].startswith("FAILED")


def test_why_says_it_in_a_sentence_for_each_job(on_store: Any, busy: Any) -> None:
    """X19"""
    ids = list(busy.jobs.values())

    one, many = on_store("jobs", "why", ids[0]), on_store("jobs", "why", *ids)
    item = on_store("jobs", "why", ids[0], "--json").item

    assert ["PENDING: no worker knows kind 'kind-pending' (1 alive)."] == one.out.splitlines()
    assert len(ids) == len(many.out.splitlines())
    assert all(f"job {job}" in many.out for job in ids)
    assert ("kind_unknown", None, False) == (item["code"], item["until"], item["is_complete"])


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("lanes", "show", "acme"), ["cap", "3", "kis"]),
        (("lanes", "show", "zeta"), ["paused"]),
        (("sessions", "show", "nightly"), ["1 pending", "1 failed", "left"]),
        (("status",), ["1 pending", "1 failed", "1 alive", "lane 'zeta'", "(audit)", "naver"]),
    ],
)
def test_one_thing_is_shown_in_lines(
    on_store: Any, busy: Any, words: tuple[str, ...], shown: list[str]
) -> None:
    ran = on_store(*words)

    assert 0 == ran.code
    assert [] == [word for word in shown if word not in ran.out]


def test_a_batch_is_shown_with_its_counts(on_store: Any, busy: Any) -> None:
    """X10 X20"""
    ran = on_store("batches", "show", busy.batch)
    item = on_store("batches", "show", busy.batch, "--json").item

    assert "8 added, 1 success, 1 failed, 1 stale, 1 cancelled, 4 remaining" in ran.out
    assert "unknown, too little has ended lately" in ran.out
    assert (8, 4, None) == (item["counts"]["added"], item["counts"]["remaining"], item["eta"])


@pytest.mark.parametrize(
    "words",
    [
        ("jobs", "show", 10**9),
        ("jobs", "why", 10**9),
        ("lanes", "show", "nobody"),
        ("batches", "show", 10**9),
        ("sessions", "show", "nobody"),
    ],
)
def test_what_does_not_exist_is_not_found(on_store: Any, words: tuple[object, ...]) -> None:
    text, document = on_store(*words), on_store(*words, "--json")

    assert (3, "", 3, "") == (text.code, text.out, document.code, document.out)
    assert text.err.startswith("error: There is no ")
    assert "not_found" == json.loads(document.err)["item"]["code"]


REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"


def test_every_json_document_has_exactly_the_fields_that_are_documented(
    on_store: Any, busy: Any
) -> None:
    """A field may be added with its line in the reference; removing one needs a new version."""
    failed = next(job for state, job in busy.jobs.items() if state.name == "FAILED")
    questions = (
        *((noun,) for noun, _, _ in LISTINGS),
        ("settings",),
        ("jobs", "count"),
        ("jobs", "show", failed),
        ("jobs", "why", failed),
        ("jobs", "cancel", "--filter", "kind:x", "--dry-run"),
        ("jobs", "cancel", failed),
        ("lanes", "show", "acme"),
        ("batches", "show", busy.batch),
        ("sessions", "show", "nightly"),
        ("status",),
        ("doctor",),
        ("simulate", "--seeds", 1),
        ("simulate", "plan", "small.toml"),
    )
    Path("small.toml").write_text("[kinds.job]\nduration = '1s'\n[[arrivals]]\njobs = 1\n")
    lines = re.findall(r"^\| `(\w+)` \| (.+) \|$", REFERENCE.read_text("utf-8"), re.MULTILINE)
    documented = dict(lines)

    for words in questions:
        document = on_store(*words, "--json").document
        shown = document.get("items") or [document.get("item")]
        fields = {name for item in shown if item for name in item}
        promised = set(re.findall(r"`(\w+)`", documented[document["what"]]))
        assert 1 == document["version"]
        assert fields <= promised, words
        assert not fields or fields == promised, words
