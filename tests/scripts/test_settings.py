"""Settings changed at run time: checked, stored, audited, announced."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dure.core.errors import NotFound, SettingInvalid
from dure.ports.rows import Query
from dure.ports.store import Script, Store
from dure.scripts import audit, settings
from dure.scripts.settings import Override

if TYPE_CHECKING:
    from tests.scripts.conftest import Nodes

NOW = 50.0


def set_(key: str, text: str) -> Script[int | float | str]:
    return settings.set_(key, text, by="kim", reason="load", now=NOW)


def unset(key: str) -> Script[None]:
    return settings.unset(key, by="lee", reason="calm", now=NOW)


async def test_a_setting_is_stored_announced_and_audited(store: Store) -> None:
    """X17"""
    version = await store.read(settings.version())

    assert 60.0 == await store.run(set_("worker.lease", "1m"))
    assert 90.0 == await store.run(set_("worker.lease", "90 s"))

    assert {"worker.lease": Override("1m30s", "kim", NOW)} == await store.read(settings.overrides())
    assert version + 2 == await store.read(settings.version())
    last, first = await store.read(audit.listing(9))
    assert ("setting.set", "worker.lease", "kim", "load") == (
        last.command,
        last.target,
        last.actor,
        last.reason,
    )
    assert (None, "1m") == (first.before, first.after)
    assert ("1m", "1m30s") == (last.before, last.after)


async def test_an_invalid_setting_changes_nothing(store: Store) -> None:
    """X17 C12"""
    version = await store.read(settings.version())

    for key, text in (("worker.slots", "0"), ("worker.slots", "many"), ("worker.slot", "5")):
        with pytest.raises(SettingInvalid):
            await store.run(set_(key, text))

    assert {} == await store.read(settings.overrides())
    assert [] == await store.read(audit.listing(9))
    assert version == await store.read(settings.version())


async def test_a_setting_that_contradicts_another_is_refused(store: Store) -> None:
    """X17"""
    await store.run(set_("worker.lease", "60s"))
    await store.run(set_("worker.beat", "20s"))

    with pytest.raises(SettingInvalid, match="at least 3 times"):
        await store.run(set_("worker.lease", "59s"))
    with pytest.raises(SettingInvalid, match="at least 3 times"):
        await store.run(unset("worker.lease"))

    assert {"worker.lease", "worker.beat"} == set(await store.read(settings.overrides()))


async def test_an_unset_setting_is_gone_and_its_value_in_the_audit(store: Store) -> None:
    """X17"""
    await store.run(set_("worker.slots", "10"))
    version = await store.read(settings.version())

    await store.run(unset("worker.slots"))

    assert {} == await store.read(settings.overrides())
    assert version + 1 == await store.read(settings.version())
    entry = (await store.read(audit.listing(1)))[0]
    assert ("setting.unset", "worker.slots", "lee", "10", None) == (
        entry.command,
        entry.target,
        entry.actor,
        entry.before,
        entry.after,
    )


async def test_unsetting_what_is_at_its_default_says_so(store: Store) -> None:
    with pytest.raises(NotFound, match=r"'worker\.slots' is not set. It is 100 already"):
        await store.run(unset("worker.slots"))


async def test_a_setting_of_another_release_disturbs_nobody(store: Store) -> None:
    """X17"""
    await store.run(_put("engine.warp", "9"))

    assert 10 == await store.run(set_("worker.slots", "10"))
    await store.run(unset("worker.slots"))

    assert ["engine.warp"] == list(await store.read(settings.overrides()))


async def test_two_people_cannot_store_a_contradiction_together(nodes: Nodes) -> None:
    """X17 X21"""
    first, second = await nodes(2)
    refused = []

    for _ in range(20):
        await first.run(set_("worker.lease", "60s"))
        await second.run(set_("worker.beat", "10s"))
        answers = await asyncio.gather(
            first.run(set_("worker.lease", "30s")),
            second.run(set_("worker.beat", "20s")),
            return_exceptions=True,
        )
        refused.append(sum(isinstance(answer, SettingInvalid) for answer in answers))

    assert [1] * 20 == refused


def _put(key: str, value: str) -> Script[None]:
    yield Query("setting_put", {"key": key, "value": value, "by": "x", "at": 1.0})
