"""Unique keys that outlive their jobs: looked at and forgotten by prefix."""

from typing import Any

import pytest

from dure.core.errors import ConfigError
from dure.core.job import FOREVER
from dure.core.state import Event
from dure.scripts import audit, keys, upkeep

YEARS = 100 * 365 * 86400.0


async def finished(stage: Any, key: str, until: float | None = FOREVER) -> int:
    """The job that took a key and has ended."""
    record = await stage.ended(Event.SUCCEED, key=key, key_until=until)
    number: int = record.id
    return number


async def forget(stage: Any, prefix: str, limit: int = 100) -> tuple[int, int]:
    forgotten, held, after = 0, 0, ""
    while True:
        step = await stage.store.run(
            keys.forget(
                prefix, by="kim", reason="again", now=stage.clock.now(), limit=limit, after=after
            )
        )
        forgotten, held = forgotten + step.forgotten, held + step.held
        if step.after is None:
            return forgotten, held
        after = step.after


async def seen(stage: Any, prefix: str) -> list[str]:
    return [key.key for key in await stage.store.read(keys.listing(prefix, limit=100))]


async def test_a_key_that_is_taken_forever_outlives_its_job_and_every_pruning(stage: Any) -> None:
    """X2"""
    job = await finished(stage, "global:crawl:page")
    await finished(stage, "global:crawl:other", stage.clock.now() + 5.0)

    stage.clock.advance(YEARS)
    now = stage.clock.now()
    await stage.store.run(upkeep.prune(now - 1.0, 1000, now=now))
    [found] = await stage.store.read(keys.listing("global:", limit=10))

    assert ("global:crawl:page", job, True, False) == (
        found.key,
        found.job,
        found.is_forever,
        found.is_held,
    )
    assert job == await stage.put(key="global:crawl:page", key_until=FOREVER)


async def test_keys_are_forgotten_under_a_prefix_and_nowhere_else(stage: Any) -> None:
    """X2: by the very text, whatever a database thinks of letters."""
    inside = [
        "global:가/1",
        "global:가/A",
        "global:가/a",
        "global:가/\U0010ffff",
        "global:가/\ud7ff",
    ]
    outside = ["global:가", "global:가0", "global:각/1", "global:나/1", "kind:가/1:x"]
    for key in inside + outside:
        await finished(stage, key)

    listed = await seen(stage, "global:가/")
    forgotten = await forget(stage, "global:가/", limit=2)

    assert sorted(inside) == listed
    assert (len(inside), 0) == forgotten
    assert sorted(outside) == await seen(stage, "")


async def test_a_key_that_an_unfinished_job_holds_is_never_forgotten(stage: Any) -> None:
    """X2: or a second one would get in beside it."""
    waiting = await stage.put(key="global:c:waits", key_until=FOREVER)
    plain = await stage.put(key="global:c:plain")
    await finished(stage, "global:c:over")

    assert (1, 2) == await forget(stage, "global:c:")
    assert waiting == await stage.put(key="global:c:waits", key_until=FOREVER)
    assert plain == await stage.put(key="global:c:plain")


async def test_a_forgotten_key_can_be_taken_again(stage: Any) -> None:
    """X2"""
    first = await finished(stage, "global:c:page")
    await forget(stage, "global:c:")

    second = await stage.put(key="global:c:page", key_until=FOREVER)

    assert second > first
    assert second == await stage.put(key="global:c:page", key_until=FOREVER)


async def test_forgetting_is_audited_once_for_each_step_that_did_something(stage: Any) -> None:
    """X17"""
    for number in range(5):
        await finished(stage, f"global:c:{number}")

    await forget(stage, "global:c:", limit=3)
    await forget(stage, "global:c:")
    entries = await stage.store.read(audit.listing(10))

    assert [("keys.forget", "keys global:c:", "kim", "again", n) for n in (2, 3)] == [
        (entry.command, entry.target, entry.actor, entry.reason, entry.count) for entry in entries
    ]


@pytest.mark.parametrize("prefix", ["", "g", "crawl:1", "lanes:"])
async def test_a_prefix_without_a_scope_is_refused(stage: Any, prefix: str) -> None:
    await finished(stage, "global:c:page")

    with pytest.raises(ConfigError, match="Begin with global:"):
        await forget(stage, prefix)

    assert ["global:c:page"] == await seen(stage, "")
