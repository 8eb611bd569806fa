"""The simulation can fail: each of these bugs is put in on purpose, and must be found. X22"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from dure.core import allowance
from dure.core.allowance import Booked, Grant, Impossible
from dure.core.backoff import RetryPolicy
from dure.core.decide import Cause, Refusal, Subject, Transition, decide
from dure.core.fairness import Lane, Rotation
from dure.core.limit import Limit
from dure.core.state import Event
from dure.engine.duties import upkeep
from dure.ports.rows import Applied, Change, NewJob, Receipt
from dure.simulate.faults.ledger import Ledger
from dure.simulate.seeds import Finding, attempt
from dure.stores.sqlite import jobs

Patch = pytest.MonkeyPatch


def first_finding(seeds: int) -> Finding | None:
    """What the first violating seed of so many has found first."""
    found = (attempt(seed).findings for seed in range(1, seeds + 1))
    return next((findings[0] for findings in found if findings), None)


def test_a_claim_without_a_new_fence_is_found(monkeypatch: Patch) -> None:
    statement = jobs._CLAIM.replace("fence = fence + 1", "fence = fence")
    monkeypatch.setattr(jobs, "_CLAIM", statement)

    finding = first_finding(3)

    assert finding is not None
    assert "a claim is a new fence" == finding.invariant
    assert finding.job is not None
    assert any(f"job {finding.job} PENDING>RUNNING" in line for line in finding.lines)


def test_a_limit_that_grants_one_too_many_is_found(monkeypatch: Patch) -> None:
    exact = allowance.acquire

    def acquire(
        limit: Limit, value: Booked, now: float, want: int = 1, units: Mapping[str, int] = {}
    ) -> Grant | Impossible:
        grant = exact(limit, value, now, want, units)
        if isinstance(grant, Grant) and grant.granted < want:
            return grant._replace(granted=grant.granted + 1)
        return grant

    monkeypatch.setattr(allowance, "acquire", acquire)

    finding = first_finding(3)

    assert finding is not None
    assert "limits are exact" == finding.invariant


def test_an_acknowledged_job_that_was_never_stored_is_found(monkeypatch: Patch) -> None:
    whole = Ledger.enqueue

    async def enqueue(store: Ledger, new: Sequence[NewJob]) -> Sequence[Receipt]:
        if len(new) < 3:
            return await whole(store, new)
        receipts = await whole(store, new[:-1])
        return [*receipts, Receipt(1_000_000 + receipts[0].id, is_new=True)]

    monkeypatch.setattr(Ledger, "enqueue", enqueue)

    finding = first_finding(5)

    assert finding is not None
    assert "nothing is lost" == finding.invariant


def test_an_effect_that_happens_twice_is_found(monkeypatch: Patch) -> None:
    once = Ledger.apply

    async def apply(store: Ledger, changes: Sequence[Change]) -> Applied:
        applied = await once(store, changes)
        left_out = applied.refused | applied.stale | set(applied.broken)
        for change in changes:
            if change.effects and change.effects.writes and change.transition.id not in left_out:
                values: Any = change.effects.writes[0].params
                sql = "insert into trial_effect (token, run) values (?, ?)"
                store.ask(sql, values["token"], values["run"])
        return applied

    monkeypatch.setattr(Ledger, "apply", apply)

    finding = first_finding(5)

    assert finding is not None
    assert "effects happen exactly once" == finding.invariant


def test_a_lost_lease_that_spends_nothing_is_found(monkeypatch: Patch) -> None:
    def forgiving(
        job: Subject, cause: Cause, policy: RetryPolicy, now: float, draw: float
    ) -> Transition | Refusal:
        move = decide(job, cause, policy, now, draw)
        if isinstance(move, Transition) and cause.event is Event.LEASE_LOST:
            return move._replace(attempt=job.attempt - 1)
        return move

    monkeypatch.setattr(upkeep, "decide", forgiving)

    finding = first_finding(20)

    assert finding is not None
    assert "a lost lease spends the attempt" == finding.invariant


def test_a_lane_that_always_goes_first_is_found(monkeypatch: Patch) -> None:
    """It is given all the room there is, and nobody else is looked at."""

    def greedy(rotation: Rotation) -> Lane:
        waiting = [*rotation._newcomers, *(lane for _, _, lane in rotation._queue)]
        chosen = min(waiting, key=lambda lane: lane.id)
        if chosen in rotation._newcomers:
            rotation._newcomers.remove(chosen)
        else:
            rotation._queue = [each for each in rotation._queue if each[2] is not chosen]
        chosen.is_queued = False
        return chosen

    whole: Callable[[Rotation, int], int] = lambda _, room: room
    monkeypatch.setattr(Rotation, "_next", greedy)
    monkeypatch.setattr(Rotation, "_quantum", whole)

    finding = first_finding(5)

    assert finding is not None
    assert "no lane starves" == finding.invariant


@pytest.mark.slow
def test_a_store_that_lets_zombies_write_is_found(monkeypatch: Patch) -> None:
    """Rare: a worker must come back while somebody else runs what it believes to hold."""
    fenced = Ledger.apply

    async def apply(store: Ledger, changes: Sequence[Change]) -> Applied:
        fences = dict(store.ask("select id, fence from dure_live where state = 1"))
        moves = [change.transition for change in changes]
        moves = [move._replace(fence=fences.get(move.id, move.fence)) for move in moves]
        pairs = zip(changes, moves, strict=True)
        return await fenced(store, [change._replace(transition=move) for change, move in pairs])

    monkeypatch.setattr(Ledger, "apply", apply)

    finding = first_finding(200)

    assert finding is not None
    assert finding.invariant in {
        "only its worker speaks for an attempt",
        "effects happen exactly once",
        "effects belong to one success",
    }
