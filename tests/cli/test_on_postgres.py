"""The same commands on PostgreSQL."""

from typing import Any

import pytest

from dure.core.state import State

SHOWN = {
    "jobs": "TimeoutError: no answer",
    "jobs count": "RETRY_WAIT",
    "lanes": "acme",
    "kinds": "kind-failed",
    "keys": "",
    "limits": "0 of 20/s",
    "breakers": "opened by hand",
    "batches": "NIGHT",
    "schedules": "hourly",
    "sessions show nightly": "1 pending",
    "workers": "worker-1",
    "settings": "worker.slots",
    "audit": "limit.define",
    "status": "lane 'zeta'",
    "doctor": "dead rows",
}


def test_every_listing_reads_postgres_too(on_postgres: Any, busy_on_postgres: Any) -> None:
    """X21"""
    ran = {words: on_postgres(*words.split()) for words in SHOWN}

    assert [] == [words for words, shown in SHOWN.items() if shown not in ran[words].out]
    assert {0} == {each.code for words, each in ran.items() if words != "doctor"}


def test_jobs_are_cancelled_replayed_edited_and_explained(
    on_postgres: Any, busy_on_postgres: Any
) -> None:
    """X13 X16 X19"""
    ids = busy_on_postgres.jobs

    cancelled = on_postgres("jobs", "cancel", ids[State.RUNNING])
    replayed = on_postgres("jobs", "retry", "--filter", "state:failed,stale", "--yes")
    edited = on_postgres("jobs", "edit", ids[State.PENDING], "--set", "n=1", "--json")
    why = on_postgres("jobs", "why", ids[State.SUSPENDED])

    assert "Cancelled 1 job." in cancelled.err
    assert "Retried 2 jobs." in replayed.err
    assert {"url": "https://example.org", "n": 1} == edited.item["args"]
    assert "SUSPENDED (QUOTA)" in why.out
    assert [("jobs.edit", 1), ("jobs.retry", 2), ("jobs.cancel", 1)] == [
        (entry["command"], entry["count"]) for entry in on_postgres("audit", "--json").items[:3]
    ]


def test_a_schema_that_is_missing_has_its_code(
    dure: Any, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DURE_STORE", postgres_url)

    assert (7, 9) == (dure("jobs").code, dure("doctor").code)


def test_a_server_that_does_not_answer_has_its_code(dure: Any) -> None:
    ran = dure("jobs", "--store", "postgresql://nobody@127.0.0.1:1/none")

    assert 6 == ran.code
    assert ran.err.startswith("error: ")
