"""Every command that changes something: what it does, what it says, and its exit code."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from dure.core.state import State

StateOf = Callable[[int], State]


def test_named_jobs_are_cancelled_without_a_question(
    on_store: Any, busy: Any, state_of: StateOf
) -> None:
    """X16"""
    job = busy.jobs[State.RUNNING]

    ran = on_store("jobs", "cancel", job, "--reason", "wrong", "--by", "kim")

    assert (0, "", "Cancelled 1 job.\n") == (ran.code, ran.out, ran.err)
    assert State.CANCELLED is state_of(job)
    entry = on_store("audit", "--json").items[0]
    assert ("kim", "jobs.cancel", f"job {job}", "wrong", 1) == (
        entry["by"],
        entry["command"],
        entry["target"],
        entry["reason"],
        entry["count"],
    )


def test_the_audit_names_the_user_of_the_machine_by_default(
    on_store: Any, busy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X17"""
    monkeypatch.setattr("getpass.getuser", lambda: "lee")

    on_store("jobs", "retry", busy.jobs[State.FAILED])

    assert "lee" == on_store("audit", "--json").items[0]["by"]


def test_partly_done_not_found_and_conflict_have_their_codes(on_store: Any, busy: Any) -> None:
    """X13"""
    failed, success = busy.jobs[State.FAILED], busy.jobs[State.SUCCESS]

    partly = on_store("jobs", "retry", failed, success, 10**9)
    nothing = on_store("jobs", "retry", success)
    nobody = on_store("jobs", "retry", 10**9)

    assert (8, 5, 3) == (partly.code, nothing.code, nobody.code)
    assert "Retried 1 job; 1 skipped, 1 not found." in partly.err
    assert f"job {success}: the job is finished (SUCCESS)" in partly.err
    assert f"job {10**9}: there is no such job" in nobody.err


def test_a_result_as_json_counts_and_explains(on_store: Any, busy: Any) -> None:
    ran = on_store("jobs", "retry", busy.jobs[State.FAILED], busy.jobs[State.PENDING], "--json")

    assert {
        "command": "jobs.retry",
        "applied": 1,
        "skipped": 1,
        "refused": 0,
        "missing": [],
        "notes": [{"id": busy.jobs[State.PENDING], "sentence": "it is PENDING already"}],
    } == ran.item
    assert "" == ran.err


def test_all_that_match_needs_a_yes_where_nobody_can_be_asked(
    on_store: Any, busy: Any, state_of: StateOf
) -> None:
    """X13"""
    refused = on_store("jobs", "cancel", "--filter", "session:nightly")
    untouched = state_of(busy.jobs[State.PENDING])
    done = on_store("jobs", "cancel", "--filter", "session:nightly", "--yes")

    assert 2 == refused.code
    assert "Cancel 4 jobs? Nobody is there to ask." in refused.err
    assert "--yes" in refused.err
    assert State.PENDING is untouched
    assert (0, "Cancelled 4 jobs.\n") == (done.code, done.err)
    assert State.CANCELLED is state_of(busy.jobs[State.PENDING])


@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("\n", 1)])
def test_on_a_terminal_a_question_is_asked(
    on_store: Any, busy: Any, monkeypatch: pytest.MonkeyPatch, answer: str, left: int
) -> None:
    """X13"""
    asked = _terminal(monkeypatch, answer)

    ran = on_store("jobs", "cancel", "--filter", "state:pending")

    assert "Cancel 1 job? [y/N] " in asked.getvalue()
    assert (0, left) == (ran.code, len(on_store("jobs", "list", "state:pending", "--json").items))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _terminal(monkeypatch: pytest.MonkeyPatch, answer: str) -> Terminal:
    err = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", err)
    return err


def test_a_dry_run_shows_what_would_be_done_and_does_nothing(
    on_store: Any, busy: Any, state_of: StateOf
) -> None:
    """X13"""
    ran = on_store("jobs", "cancel", "--filter", "state:pending,failed", "--dry-run")
    item = on_store("jobs", "cancel", "--filter", "state:pending", "--dry-run", "--json").items[0]

    assert ["STATE JOBS WOULD", "PENDING 1 cancel", "FAILED 1 skip"] == [
        " ".join(line.split()) for line in ran.out.splitlines()
    ]
    assert {"name": "PENDING", "jobs": 1, "is_capped": False, "would": "cancel"} == item
    assert State.PENDING is state_of(busy.jobs[State.PENDING])
    assert "jobs.cancel" not in on_store("audit").out


def test_ids_come_through_a_pipe(
    on_store: Any, busy: Any, state_of: StateOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{busy.jobs[State.FAILED]}\n"))
    ran = on_store("jobs", "retry", "--stdin")
    monkeypatch.setattr("sys.stdin", io.StringIO("five\n"))
    wrong = on_store("jobs", "retry", "--stdin")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    nothing = on_store("jobs", "retry", "--stdin")

    assert (0, 2, 0) == (ran.code, wrong.code, nothing.code)
    assert State.PENDING is state_of(busy.jobs[State.FAILED])
    assert "'five' on standard input is no id." in wrong.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("jobs", "cancel"), "No job was named."),
        (("jobs", "cancel", 1, "--filter", "state:failed"), "Both ids and a filter were given."),
        (("jobs", "cancel", "--filter", "sate:failed"), "did you mean 'state'"),
        (("jobs", "suspend", 1), "needs a reason"),
        (("jobs", "edit", 1), "Nothing to change."),
        (("jobs", "edit", 1, "--set", "x"), "sets nothing"),
        (("jobs", "edit", 1, "--set", "x=1", "--args", "{}"), "Both ways to change were given."),
        (("lanes", "limit", "acme"), "Nothing to change."),
        (("lanes", "limit", "acme", "--weight", "much"), "--weight takes a number"),
        (("lanes", "limit", "acme", "--weight", "-1"), "cannot have the weight"),
        (("limits", "define", "kis", "often"), "cannot read 'often' as a window"),
        (("settings", "set", "worker.slot", "1"), "nearest known name is 'worker.slots'"),
        (("settings", "set", "worker.slots", "0"), "cannot be '0'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(
    on_store: Any, busy: Any, words: tuple[object, ...], sentence: str
) -> None:
    ran = on_store(*words)

    assert 2 == ran.code
    assert sentence in ran.err
    assert "" == ran.out


def test_suspended_jobs_are_resumed_by_their_reason(
    on_store: Any, busy: Any, state_of: StateOf
) -> None:
    """X5"""
    pending, quota = busy.jobs[State.PENDING], busy.jobs[State.SUSPENDED]

    suspended = on_store("jobs", "suspend", pending, "--reason", "LEGAL")
    resumed = on_store(
        "jobs",
        "resume",
        "--suspended-for",
        "LEGAL",
        "--lane",
        "acme",
        "--kind",
        "kind-pending",
        "-y",
    )

    assert ("Suspended 1 job.\n", "Resumed 1 job.\n") == (suspended.err, resumed.err)
    assert [State.PENDING, State.SUSPENDED] == [state_of(pending), state_of(quota)]


def test_a_resume_may_be_spread_over_some_time(on_store: Any, busy: Any, state_of: StateOf) -> None:
    """X5"""
    first, second = busy.jobs[State.FAILED], busy.jobs[State.STALE]

    on_store("jobs", "retry", first, second, "--spread", "10d")

    assert [State.PENDING, State.RETRY_WAIT] == [state_of(first), state_of(second)]


def test_a_job_is_edited_and_a_finished_one_only_with_consent(on_store: Any, busy: Any) -> None:
    """X13"""
    pending, failed = busy.jobs[State.PENDING], busy.jobs[State.FAILED]

    edited = on_store("jobs", "edit", pending, "--set", "url=x", "--set", "n=3", "--json")
    refused = on_store("jobs", "edit", failed, "--args", '{"url": "y"}')
    replayed = on_store("jobs", "edit", failed, "--args", '{"url": "y"}', "--replay", "--json")

    assert {"url": "x", "n": 3} == edited.item["args"]
    assert (4, True) == (refused.code, "--replay" in refused.err)
    assert ("PENDING", {"url": "y"}) == (replayed.item["state"], replayed.item["args"])


def test_running_jobs_cannot_be_edited(on_store: Any, busy: Any) -> None:
    assert 5 == on_store("jobs", "edit", busy.jobs[State.RUNNING], "--set", "a=1").code


@pytest.mark.parametrize("noun", ["lanes", "kinds", "sessions"])
def test_a_pause_of_what_nobody_has_seen_is_made_and_questioned(on_store: Any, noun: str) -> None:
    """X16"""
    ran = on_store(noun, "pause", "acmee")

    assert (0, True) == (ran.code, f"there is no {noun[:-1]} 'acmee' yet" in ran.err)


@pytest.mark.parametrize(
    ("scope", "target"),
    [
        ((), "Everything"),
        (("lanes", "acme"), "Lane 'acme'"),
        (("kinds", "kind-failed"), "Kind 'kind-failed'"),
    ],
)
def test_a_pause_is_made_and_ended(
    on_store: Any, busy: Any, scope: tuple[str, ...], target: str
) -> None:
    """X16"""
    noun, *name = scope or ("",)

    def words(verb: str) -> list[str]:
        return [word for word in (noun, verb, *name) if word]

    paused = on_store(*words("pause"), "--interrupt", "--reason", "deploy")
    document = on_store(*words("pause"), "--json").item
    resumed, again = on_store(*words("resume")), on_store(*words("resume"))

    assert f"{target} is paused; running jobs are stopped.\n" == paused.err
    assert (True, name[0] if name else "") == (document["drain"], document["name"])
    assert f"{target} is resumed.\n" == resumed.err
    assert (0, 3) == (resumed.code, again.code)


def test_a_session_is_paused_resumed_and_cancelled(
    on_store: Any, busy: Any, state_of: StateOf
) -> None:
    """X16"""
    job = busy.jobs[State.PENDING]

    on_store("sessions", "pause", "nightly")
    paused = state_of(job)
    on_store("sessions", "resume", "nightly", "--spread", "0s")
    resumed = state_of(job)
    unasked = on_store("sessions", "cancel", "nightly")
    cancelled = on_store("sessions", "cancel", "nightly", "--yes")
    nobody = on_store("sessions", "cancel", "daily", "--yes")

    assert [State.SUSPENDED, State.PENDING] == [paused, resumed]
    assert (2, 0, 3) == (unasked.code, cancelled.code, nobody.code)
    assert "Cancelled 4 jobs." in cancelled.err
    assert State.CANCELLED is state_of(job)


def test_lanes_are_configured_and_reset(on_store: Any, busy: Any) -> None:
    """X7"""
    ran = on_store(
        *("lanes", "limit", "acme", "--weight", "2.5", "--cap", "none", "--limits", "none"),
        *("--failures-max", "never", "--json"),
    )
    missing = on_store("lanes", "limit", "acme", "--limits", "nothing")
    default = on_store(
        "lanes", "limit", "acme", "--failures-max", "default", "--cap", "2", "--json"
    )
    reset = on_store("lanes", "reset", "acme")

    assert (2.5, None, [], -1) == (
        ran.item["weight"],
        ran.item["max_running"],
        ran.item["limits"],
        ran.item["failures_max"],
    )
    assert (0, 2) == (default.item["failures_max"], default.item["max_running"])
    assert (3, 0, 3) == (missing.code, reset.code, on_store("lanes", "reset", "nobody").code)


def test_limits_are_defined_blocked_and_removed(on_store: Any) -> None:
    """X8"""
    defined = on_store("limits", "define", "dart", "1000/m", "--cap", 2, "--json")
    again = on_store("limits", "define", "dart", "1000/m", "--cap", 2)
    blocked = on_store("limits", "block", "dart", "--for", "5m", "--json")
    lifted = on_store("limits", "block", "dart", "--lift")
    removed, gone = on_store("limits", "remove", "dart"), on_store("limits", "remove", "dart")

    assert ("dart", 2, None) == (
        defined.item["name"],
        defined.item["max_running"],
        defined.item["blocked_until"],
    )
    assert "is so already" in again.err
    assert blocked.item["blocked_until"] is not None
    assert "is not blocked" in lifted.err
    assert (0, 3) == (removed.code, gone.code)
    assert 2 == on_store("limits", "block", "dart").code


def test_breakers_are_opened_and_closed(on_store: Any) -> None:
    """X9"""
    opened = on_store("breakers", "open", "naver", "--for", "10m", "--json")
    closed = on_store("breakers", "close", "naver")

    assert ("open", True) == (opened.item["phase"], opened.item["forced"])
    assert "Breaker 'naver' is closed" in closed.err


def test_settings_are_set_and_unset(on_store: Any) -> None:
    """X17"""
    ran = on_store("settings", "set", "worker.grace", "1m", "--by", "kim", "--json")
    listed = on_store("settings")
    unset, again = (
        on_store("settings", "unset", "worker.grace"),
        on_store("settings", "unset", "worker.grace"),
    )

    assert (60.0, "operator", "kim") == (ran.item["value"], ran.item["origin"], ran.item["by"])
    assert "kim, " in listed.out
    assert "worker.grace is 30s again, the default." in unset.err
    assert 3 == again.code


def test_schedules_are_paused_resumed_and_fired(on_store: Any, busy: Any) -> None:
    """X11"""
    paused = on_store("schedules", "pause", "hourly")
    refused = on_store("schedules", "fire", "hourly")
    resumed = on_store("schedules", "resume", "hourly")
    fired = on_store("schedules", "fire", "hourly", "--json")

    assert (0, 4, 0, 0) == (paused.code, refused.code, resumed.code, fired.code)
    assert "its next firing: in 11d" in resumed.err
    assert fired.item["next_at"] < on_store("status", "--json").item["now"]
    assert 3 == on_store("schedules", "pause", "daily").code


def test_a_batch_is_interrupted_with_its_jobs_only_when_that_is_said(
    on_store: Any, busy: Any, state_of: StateOf
) -> None:
    """X10"""
    unasked = on_store("batches", "interrupt", busy.batch, "--cancel-jobs")
    ran = on_store("batches", "interrupt", busy.batch, "--cancel-jobs", "--yes", "--json")
    again = on_store("batches", "interrupt", busy.batch)

    assert (2, 0, 5) == (unasked.code, ran.code, again.code)
    assert ("INTERRUPTED", 0) == (ran.item["state"], ran.item["counts"]["remaining"])
    assert State.CANCELLED is state_of(busy.jobs[State.PENDING])


def test_an_interrupted_batch_leaves_its_jobs_alone(
    on_store: Any, busy: Any, state_of: StateOf
) -> None:
    ran = on_store("batches", "interrupt", busy.batch)

    assert "is interrupted. Its jobs go on." in ran.err
    assert State.PENDING is state_of(busy.jobs[State.PENDING])


def test_quiet_says_nothing_but_errors(on_store: Any, busy: Any) -> None:
    done = on_store("jobs", "cancel", busy.jobs[State.PENDING], "-q")
    failed = on_store("jobs", "cancel", 10**9, "-q", "--json")
    wrong = on_store("jobs", "show", 10**9, "--quiet")

    assert (0, "", "") == (done.code, done.out, done.err)
    assert [10**9] == json.loads(failed.out)["item"]["missing"]
    assert "error: There is no job" in wrong.err
