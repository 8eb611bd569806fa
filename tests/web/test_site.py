"""The generic surface over real HTTP: jobs, dead letters, health, metrics, refusals."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

import dure
from dure.core.filter import JobFilter

if TYPE_CHECKING:
    from tests.web.conftest import Client


def sheet(how: str, **options: object) -> dure.Job:
    return dure.Job("sheet", f'{{"how": "{how}"}}').options(**options)  # type: ignore[arg-type]


def other(how: str) -> dure.Job:
    return dure.Job("other", f'{{"how": "{how}"}}')


async def settled(client: Client, wanted: str, count: int) -> None:
    async with asyncio.timeout(20):
        while (await client.app.insights.count(JobFilter.parse(wanted))).jobs != count:
            await asyncio.sleep(0.02)


async def test_suspended_jobs_are_resumed_by_reason_and_the_actor_is_recorded(
    client: Client,
) -> None:
    """A9 X5 Z5"""
    await client.app.enqueue_many([sheet("suspends")] * 5)
    await settled(client, "state:suspended reason:QUOTA", 5)

    nothing = await client.ask("POST", "/press/jobs/resume?reason=AUTH")
    answer = await client.ask("POST", "/press/jobs/resume?reason=QUOTA&spread=1h")

    assert (200, 0) == (nothing.status, nothing.json["resumed"])
    assert (200, 5) == (answer.status, answer.json["resumed"])
    entry = (await client.app.insights.audit(1))[0]
    assert ("jobs.resume", "anna", 5) == (entry.command, entry.actor, entry.count)
    assert "reason:QUOTA" in entry.target


async def test_dead_letters_are_listed_explained_edited_and_replayed(client: Client) -> None:
    """X13 A12"""
    await client.app.enqueue_many([sheet("fails", lane="night")] * 3)
    await client.app.enqueue(other("fails"))
    await settled(client, "state:failed", 4)

    listed = await client.ask("GET", "/press/jobs/dead-letters?limit=2", client.reader)
    first = listed.json["jobs"][0]
    assert (3, 2, "torn", "night") == (
        *(listed.json["count"], len(listed.json["jobs"])),
        *(first["error"], first["lane"]),
    )
    rest = await client.ask("GET", f"/press/jobs/dead-letters?before={listed.json['next']}")
    assert 1 == len(rest.json["jobs"])

    told = await client.ask("GET", f"/press/jobs/{first['id']}", client.reader)
    assert "torn" in told.json["attempts"][0]["error"]
    assert told.json["why"]

    edited = await client.ask("PUT", f"/press/jobs/{first['id']}/arguments", body='{"how": "well"}')
    assert {"how": "well"} == edited.json["args"]
    await settled(client, "state:success kind:sheet", 1)

    again = await client.ask("POST", "/press/jobs/dead-letters/replay?lane=night")
    assert 2 == again.json["retried"]
    await settled(client, "state:failed kind:sheet", 2)
    one = await client.ask("POST", f"/press/jobs/{rest.json['jobs'][0]['id']}/retry")
    assert 1 == one.json["retried"]


async def test_jobs_of_other_kinds_do_not_exist_here(client: Client) -> None:
    job = (await client.app.enqueue(other("fails"))).id
    await settled(client, "state:failed", 1)

    assert 404 == (await client.ask("GET", f"/press/jobs/{job}")).status
    assert 0 == (await client.ask("POST", "/press/jobs/dead-letters/replay")).json["retried"]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "/press/jobs/resume?resaon=QUOTA", 400, "config"),
        ("POST", "/press/jobs/resume?reason=", 400, "config"),
        ("POST", "/press/jobs/resume?spread=soon", 400, "config"),
        ("POST", "/press/jobs/retry", 400, "config"),
        ("POST", "/press/jobs/resume?q=colour:red", 400, "config"),
        ("GET", "/press/jobs/dead-letters?limit=100000", 400, "config"),
        ("GET", "/press/jobs/99999", 404, "not_found"),
        ("GET", "/press/jobs/resume", 405, "method_not_allowed"),
        ("GET", "/nowhere", 404, "not_found"),
    ],
)
async def test_what_cannot_be_done_is_said_as_a_problem(
    client: Client, method: str, path: str, status: int, code: str
) -> None:
    answer = await client.ask(method, path)

    assert (status, code) == (answer.status, answer.json["code"])
    assert "application/problem+json" == answer.headers["Content-Type"]
    assert answer.json["detail"]


async def test_nobody_changes_anything_without_the_right_token(client: Client) -> None:
    """Z5"""
    await client.app.enqueue(sheet("suspends"))
    await settled(client, "state:suspended", 1)

    for token, status in ((None, 401), ("wrong-token-wrong-token", 401), (client.reader, 403)):
        assert status == (await client.ask("POST", "/press/jobs/resume", token)).status
    assert 1 == (await client.app.insights.count(JobFilter.parse("state:suspended"))).jobs
    assert [] == await client.app.insights.audit()


async def test_arguments_that_are_too_long_are_refused(client: Client) -> None:
    await client.app.enqueue(sheet("fails"))
    await settled(client, "state:failed", 1)

    answer = await client.ask("PUT", "/press/jobs/1/arguments", body="x" * 100_000)

    assert 413 == answer.status


async def test_health_says_what_each_component_does(client: Client) -> None:
    """X18"""
    live, ready = [await client.ask("GET", f"/health/{what}", None) for what in ("live", "ready")]

    assert (200, 200, "ok") == (live.status, ready.status, ready.json["status"])
    assert {"loop", "lease", "claimer"} <= {check["component"] for check in ready.json["checks"]}
    assert "nosniff" == live.headers["X-Content-Type-Options"]


async def test_a_prometheus_parser_reads_what_happened(client: Client) -> None:
    """Z5"""
    await client.app.enqueue_many([sheet("well"), sheet("fails"), sheet("suspends")])
    await settled(client, "state:suspended", 1)
    await settled(client, "state:failed", 1)

    answer = await client.ask("GET", "/metrics", None)
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }

    assert 3 == samples["dure_enqueued_total", "new", "sheet"]
    assert 1 == samples["dure_moves_total", "SUCCESS", "sheet", "succeed"]
    assert 1 == samples["dure_moves_total", "FAILED", "fail", "sheet"]
    assert 1 == samples["dure_jobs", "SUSPENDED", "sheet"]
    assert 3 == samples["dure_attempt_seconds_count", "sheet"]
    assert 1 == samples["dure_workers", "alive"]
    assert 4 == samples["dure_slots", "all"]
