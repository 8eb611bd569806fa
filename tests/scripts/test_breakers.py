"""Breakers all nodes share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dure.core.breaker import BreakerPolicy, Phase
from dure.ports.store import Store
from dure.scripts import audit, breakers, control

if TYPE_CHECKING:
    from tests.scripts.conftest import Nodes

NOW = 1000.0
POLICY = {"api": BreakerPolicy(minimum=4, window=10, open_for=30.0, probes=2, successes=2)}


async def phase(store: Store, now: float = NOW) -> Phase:
    return (await store.read(breakers.states(["api"], now=now, policies=POLICY)))["api"].phase


async def permitted(store: Store, want: int, now: float = NOW) -> int:
    answers = await store.run(breakers.permit({"api": want}, now, POLICY))
    return answers["api"].granted


async def test_failures_open_a_breaker_for_all_nodes_and_are_told_once(nodes: Nodes) -> None:
    """X9"""
    first, second = await nodes(2)

    assert {} == await first.run(breakers.record({"api": (1, 2)}, NOW, POLICY))
    turned = await second.run(breakers.record({"api": (0, 2)}, NOW, POLICY))

    assert [("api", Phase.OPEN)] == [(name, each.phase) for name, each in turned.items()]
    assert {} == await first.run(breakers.record({"api": (0, 2)}, NOW, POLICY))
    assert [0, 0] == [await permitted(store, 3) for store in (first, second)]


async def test_a_half_open_breaker_grants_its_probes_once_for_all_nodes(nodes: Nodes) -> None:
    """X9 X21"""
    stores = await nodes(4)
    await stores[0].run(breakers.record({"api": (0, 4)}, NOW, POLICY))

    granted = await asyncio.gather(*(permitted(store, 2, NOW + 30) for store in stores))

    assert 2 == sum(granted)
    turned = await stores[1].run(breakers.record({"api": (2, 0)}, NOW + 31, POLICY))
    assert Phase.CLOSED is turned["api"].phase
    assert 9 == await permitted(stores[2], 9, NOW + 31)


async def test_a_probe_given_back_can_be_granted_again(store: Store) -> None:
    """X9"""
    await store.run(breakers.record({"api": (0, 4)}, NOW, POLICY))
    await permitted(store, 2, NOW + 30)

    await store.run(breakers.release({"api": 1}, NOW + 31, POLICY))

    assert 1 == await permitted(store, 2, NOW + 31)


async def test_a_breaker_forced_by_hand_is_announced_and_audited(store: Store) -> None:
    """X9 X17"""
    version = await store.read(control.version())

    forced = await store.run(
        breakers.force("api", "open", by="kim", reason="move", now=NOW, until=NOW + 60)
    )

    assert (Phase.OPEN, True, NOW + 60) == (forced.phase, forced.forced, forced.until)
    assert version + 1 == await store.read(control.version())
    (entry,) = await store.read(audit.listing(9))
    assert ("breaker.force", "api", "kim", "move", None) == (
        entry.command,
        entry.target,
        entry.actor,
        entry.reason,
        entry.before,
    )
    assert 0 == await permitted(store, 1, NOW + 59)
    assert 1 == await permitted(store, 1, NOW + 60)


async def test_a_breaker_nobody_used_is_closed_and_not_listed(store: Store) -> None:
    """X9"""
    assert {} == await store.read(breakers.states(now=NOW))

    answers = await store.run(breakers.permit({"new": 5}, NOW))

    assert 5 == answers["new"].granted


async def test_breakers_open_one_by_one(store: Store) -> None:
    """X9 X7"""
    outcomes = {"api": (0, 4), "other": (9, 0)}

    turned = await store.run(breakers.record(outcomes, NOW, POLICY))

    assert ["api"] == list(turned)
    states = await store.read(breakers.states(now=NOW, policies=POLICY))
    assert {"api": Phase.OPEN, "other": Phase.CLOSED} == {n: c.phase for n, c in states.items()}
