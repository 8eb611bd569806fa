"""Enqueueing: what is stored, in which order, and when it may run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dure.core.state import State
from dure.core.stream import pack
from dure.ports.rows import NewJob, Receipt

if TYPE_CHECKING:
    from tests.conformance.conftest import Yard

STREAM = pack(1, 1, 2)


async def test_ids_ascend_in_the_order_of_enqueueing(yard: Yard) -> None:
    """X2"""
    jobs = [NewJob(STREAM, f'{{"n":{n}}}') for n in range(50)]

    first = await yard.store.enqueue(jobs)
    second = await yard.store.enqueue(jobs)

    ids = [receipt.id for receipt in (*first, *second)]
    assert sorted(set(ids)) == ids
    assert [job.body for job in jobs] * 2 == [claim.body for claim in await yard.take()]


async def test_a_mixed_group_runs_in_the_order_it_was_enqueued(yard: Yard) -> None:
    """X2: whether a job has a key or a batch has no say in its turn."""
    jobs = [
        NewJob(STREAM, "0", key="z"),
        NewJob(STREAM, "1"),
        NewJob(STREAM, "2", key="a"),
        NewJob(STREAM, "3", batch=7),
        NewJob(STREAM, "4", key="m"),
    ]

    receipts = await yard.store.enqueue(jobs)

    claims = await yard.take()
    assert ["0", "1", "2", "3", "4"] == [claim.body for claim in claims]
    assert [claim.id for claim in claims] == [receipt.id for receipt in receipts]
    assert all(receipt.is_new for receipt in receipts)


async def test_a_plain_job_is_ready_at_once(yard: Yard) -> None:
    [job] = await yard.put(body='{"url":"x"}')

    row = await yard.live(job)

    assert row is not None
    expected = {
        "id": job,
        "stream": STREAM,
        "pos": job,
        "body": '{"url":"x"}',
        "ready": True,
        "state": State.PENDING,
        "fence": 0,
        "attempt": 0,
        "epoch": 0,
        "tokens": 0,
        "enqueued_at": yard.clock.now(),
        "claimed_at": None,
        "due": None,
        "worker": None,
        **dict.fromkeys(("batch", "parent", "session", "subject", "key", "reason", "error")),
    }
    assert expected == dict(row)


async def test_a_full_job_keeps_every_field(yard: Yard) -> None:
    """X2"""
    fields: dict[str, Any] = {
        "stream": STREAM,
        "body": "[1]",
        "batch": 3,
        "parent": 4,
        "session": "crawl",
        "subject": "restaurant:9",
        "epoch": 5,
        "tokens": 600,
        "key": "kind:1",
    }

    [job] = await yard.put(**fields)

    row = await yard.live(job)
    [claim] = await yard.take()
    assert row is not None
    assert fields == {name: row[name] for name in fields}
    assert fields == {name: getattr(claim, name) for name in fields}


@pytest.mark.parametrize(
    ("fields", "wait"),
    [
        ({"delay": 60.0}, 60.0),
        ({"due": 1_800_000_090.0}, 90.0),
        ({"due": 1_800_000_090.0, "delay": 10.0}, 90.0),
        ({"due": 1_800_000_000.5, "key": "k", "batch": 1}, 0.5),
    ],
)
async def test_a_delayed_job_waits_until_it_is_due(
    yard: Yard, fields: dict[str, Any], wait: float
) -> None:
    """X2"""
    [job] = await yard.put(**fields)

    row = await yard.live(job)

    assert row is not None
    assert (State.RETRY_WAIT, False) == (row["state"], row["ready"])
    assert yard.clock.now() + wait == row["due"]
    assert await yard.take() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"delay": 0.0},
        {"delay": -5.0},
        {"due": 1_700_000_000.0},
        {"due": 1_800_000_000.0},
        {"due": 1_700_000_000.0, "delay": 60.0},
    ],
)
async def test_a_due_time_that_has_passed_delays_nothing(
    yard: Yard, fields: dict[str, Any]
) -> None:
    """X2: a given moment wins over a delay, even when it lies in the past."""
    [job] = await yard.put(**fields)

    [claim] = await yard.take()

    assert job == claim.id
    assert (await yard.live(job) or {})["due"] is None


async def test_a_job_of_a_paused_session_is_suspended_at_once(yard: Yard) -> None:
    """X16"""
    await yard.ask(
        "insert into dure_pause (scope, name, reason, by, at, drain)"
        " values ('session', 'held', 'lunch', 'me', 0, false)"
    )
    jobs = [
        NewJob(STREAM, "{}", session="held"),
        NewJob(STREAM, "{}", session="free"),
        NewJob(STREAM, "{}", session="held", delay=60.0),
    ]

    held, free, later = await yard.store.enqueue(jobs)

    assert [free.id] == [claim.id for claim in await yard.take()]
    for receipt in (held, later):
        row = await yard.live(receipt.id)
        assert row is not None
        assert (State.SUSPENDED, "paused", None) == (row["state"], row["reason"], row["due"])


async def test_a_pause_of_another_scope_with_the_same_name_holds_no_session(yard: Yard) -> None:
    await yard.ask(
        "insert into dure_pause (scope, name, reason, by, at, drain)"
        " values ('lane', 'shop', 'lunch', 'me', 0, false)"
    )

    [job] = await yard.put(session="shop")

    assert await yard.state(job) is State.PENDING


async def test_enqueueing_nothing_does_nothing(yard: Yard) -> None:
    assert list(await yard.store.enqueue([])) == []


async def test_ten_thousand_jobs_fit_in_one_call(yard: Yard) -> None:
    """X2"""
    jobs = [NewJob(pack(1 + n % 100, 1, 2), str(n)) for n in range(10_000)]

    receipts = await yard.store.enqueue(jobs)

    assert len({receipt.id for receipt in receipts}) == 10_000
    rows = await yard.ask("select count(*) as n from dure_live where ready")
    assert rows[0]["n"] == 10_000
    assert 100 == len(await yard.store.heads(0))


async def test_ten_thousand_jobs_with_keys_fit_in_one_call(yard: Yard) -> None:
    """X2"""
    jobs = [NewJob(STREAM, str(n), key=f"page:{n}") for n in range(10_000)]

    receipts = await yard.store.enqueue(jobs)
    again = await yard.store.enqueue(jobs)

    assert [Receipt(receipt.id, is_new=False) for receipt in receipts] == again
    assert ["0", "1", "2"] == [claim.body for claim in await yard.take(3)]


async def test_what_was_enqueued_is_there_for_another_node(yard: Yard) -> None:
    """X21"""
    ids = await yard.put(3)

    other = await yard.neighbour()

    assert ids[0] == (await other.heads(0))[0].pos
