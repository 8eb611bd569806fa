"""Limits of the whole fleet: exact over several windows, several limits and several nodes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dure.core.allowance import Grant, Impossible
from dure.core.errors import NotFound
from dure.core.limit import Limit, Window
from dure.ports.store import Script, Store
from dure.scripts import audit, control, limits
from dure.scripts.limits import Request, Settlement, Unused

if TYPE_CHECKING:
    from tests.scripts.conftest import Nodes

NOW = 1_700_000_000.0


def limit(name: str, *windows: str) -> Limit:
    return Limit(name, tuple(map(Window.parse, windows)))


def define(*windows: str, name: str = "api") -> Script[bool]:
    return limits.define(limit(name, *windows), by="kim", reason="plan", now=NOW)


async def granted(store: Store, *requests: Request, now: float = NOW) -> dict[str, int]:
    answers = await store.run(limits.acquire(requests, now))
    return {name: answer.granted for name, answer in answers.items() if isinstance(answer, Grant)}


async def used(store: Store, name: str = "api", now: float = NOW) -> list[int]:
    return [use.used for use in (await store.read(limits.used([name], now=now)))[name].windows]


async def test_a_definition_is_announced_and_audited_once(store: Store) -> None:
    """X8 X17"""
    version = await store.read(control.version())

    assert await store.run(define("15/m", "1500/d"))
    assert not await store.run(define("15/m", "1500/d"))
    assert await store.run(define("20/m", "1500/d"))

    assert version + 2 == await store.read(control.version())
    assert {"api": limit("api", "20/m", "1500/d")} == await store.read(limits.defined())
    last, first = await store.read(audit.listing(9))
    assert first.before is None
    assert first.after == last.before != last.after
    assert ("limit.define", "api", "kim", "plan") == (
        last.command,
        last.target,
        last.actor,
        last.reason,
    )


async def test_all_windows_bind_at_once(store: Store) -> None:
    """X8 E10"""
    await store.run(define("15/m", "20/d", "1000 tokens/m"))

    assert {"api": 10} == await granted(store, Request("api", 12, {"tokens": 100}))
    assert {"api": 5} == await granted(store, Request("api", 12))
    assert {"api": 5} == await granted(store, Request("api", 12), now=NOW + 120)
    assert [5, 20, 0] == await used(store, now=NOW + 120)


async def test_several_limits_grant_what_the_scarcest_one_has(store: Store) -> None:
    """X8"""
    await store.run(define("10/m", name="host"))
    await store.run(define("4/m", name="account"))
    await store.run(define("9/m", name="fleet"))

    answers = await store.run(
        limits.acquire([Request("host", 8), Request("account", 8), Request("fleet", 8)], NOW)
    )

    assert {"host": 4, "account": 4, "fleet": 4} == {
        name: answer.granted for name, answer in answers.items() if isinstance(answer, Grant)
    }
    assert [["account"], "4/m"] == [
        [n for n, a in answers.items() if isinstance(a, Grant) and a.retry_at is not None],
        answers["account"].binding if isinstance(answers["account"], Grant) else None,
    ]
    assert [[4], [4], [4]] == [await used(store, name) for name in ("host", "account", "fleet")]


async def test_what_never_fits_into_one_limit_is_booked_on_none(store: Store) -> None:
    """X8"""
    await store.run(define("10/m", name="host"))
    await store.run(define("100 tokens/m"))

    answers = await store.run(
        limits.acquire([Request("host", 1), Request("api", 1, {"tokens": 101})], NOW)
    )

    assert isinstance(answers["api"], Impossible)
    assert 0 == getattr(answers["host"], "granted", None)
    assert [[0], [0]] == [await used(store, name) for name in ("host", "api")]


async def test_a_reservation_is_settled_by_what_was_really_used(store: Store) -> None:
    """X8"""
    await store.run(define("1000 tokens/m"))
    answers = await store.run(limits.acquire([Request("api", 1, {"tokens": 900})], NOW))
    slot = answers["api"].slot if isinstance(answers["api"], Grant) else 0

    await store.run(limits.settle([Settlement("api", slot, "tokens", -800)], NOW + 1))
    await store.run(limits.settle([Settlement("gone", slot, "tokens", -800)], NOW + 1))

    assert [100] == await used(store, now=NOW + 1)


async def test_unused_permits_are_given_back(store: Store) -> None:
    """X8"""
    await store.run(define("10/m", "1000 tokens/m"))
    answers = await store.run(limits.acquire([Request("api", 8, {"tokens": 50})], NOW))
    slot = answers["api"].slot if isinstance(answers["api"], Grant) else 0

    await store.run(limits.release([Unused("api", slot, 3, {"tokens": 50})], NOW + 1))

    assert [5, 250] == await used(store, now=NOW + 1)


async def test_a_block_grants_nothing_until_it_ends_or_is_lifted(store: Store) -> None:
    """X8 X4"""
    await store.run(define("10/m"))

    await store.run(limits.block("api", NOW + 30, NOW))

    assert NOW + 30 == (await store.read(limits.used(now=NOW)))["api"].blocked_until
    assert {"api": 0} == await granted(store, Request("api"))
    assert {"api": 1} == await granted(store, Request("api"), now=NOW + 30)
    await store.run(limits.block("api", NOW + 90, NOW + 30))
    await store.run(limits.block("api", None, NOW + 31))
    assert {"api": 1} == await granted(store, Request("api"), now=NOW + 32)


async def test_a_redefined_limit_goes_on_with_what_it_has_booked(store: Store) -> None:
    """X8 X17"""
    await store.run(define("10/m"))
    await granted(store, Request("api", 10))

    await store.run(limits.remove("api", by="kim", reason="old", now=NOW))
    assert {} == await store.read(limits.used(now=NOW))
    await store.run(define("12/m"))

    assert {"api": 2} == await granted(store, Request("api", 10))
    assert "limit.remove" == (await store.read(audit.listing(2)))[1].command


async def test_an_unknown_limit_is_named(store: Store) -> None:
    await store.run(define("10/m"))

    with pytest.raises(NotFound, match="no limit 'b' or 'c'"):
        await store.run(limits.acquire([Request("c"), Request("api"), Request("b")], NOW))
    with pytest.raises(NotFound, match="no limit 'b'"):
        await store.run(limits.block("b", NOW + 1, NOW))
    with pytest.raises(NotFound, match="no limit 'b'"):
        await store.run(limits.remove("b", by="kim", reason="", now=NOW))
    with pytest.raises(ValueError, match="named twice"):
        await store.run(limits.acquire([Request("api"), Request("api")], NOW))


async def test_a_limit_is_exact_across_nodes_that_ask_at_once(nodes: Nodes) -> None:
    """X8 X21"""
    stores = await nodes(6)
    await stores[0].run(define("50/m", name="a"))
    await stores[0].run(define("60/m", name="b"))
    asked = [[Request("a", 3), Request("b", 3)], [Request("b", 3), Request("a", 3)]]

    answers = await asyncio.gather(
        *(granted(store, *asked[i % 2]) for store in stores for i in range(6))
    )

    assert (50, 50) == (sum(each["a"] for each in answers), sum(each["b"] for each in answers))
