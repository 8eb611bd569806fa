"""Pauses: made, seen by all nodes, ended, with a word on who and why."""

import pytest

from dure.core.errors import NotFound, SettingInvalid
from dure.core.state import State
from dure.core.stream import pack
from dure.ports.rows import NewJob
from dure.ports.store import Script, Store
from dure.scripts import audit, control, pauses
from dure.scripts.pauses import Pause, Scope

NOW = 70.0


def pause(scope: str, name: str = "", *, drain: bool = True, reason: str = "fire") -> Script[Pause]:
    return pauses.pause(scope, name, by="kim", reason=reason, drain=drain, now=NOW)


def resume(scope: str, name: str = "") -> Script[Pause]:
    return pauses.resume(scope, name, by="lee", reason="out", now=NOW + 5)


@pytest.mark.parametrize(("scope", "name"), [("all", ""), ("kind", "mail"), ("lane", "a")])
async def test_a_pause_is_active_announced_and_audited_until_it_is_resumed(
    store: Store, scope: str, name: str
) -> None:
    """X16 X17"""
    version = await store.read(control.version())
    expected = Pause(scope=Scope(scope), name=name, reason="fire", by="kim", at=NOW, drain=False)

    assert expected == await store.run(pause(scope, name, drain=False))
    assert [expected] == await store.read(pauses.active())
    assert version + 1 == await store.read(control.version())

    assert expected == await store.run(resume(scope, name))
    assert [] == await store.read(pauses.active())
    assert version + 2 == await store.read(control.version())
    entries = await store.read(audit.listing(9))
    assert [("resume", "lee", "out"), ("pause", "kim", "fire")] == [
        (entry.command, entry.actor, entry.reason) for entry in entries
    ]
    assert [(True, False), (False, True)] == [
        (entry.before is not None, entry.after is not None) for entry in entries
    ]


async def test_pausing_again_keeps_one_pause_with_the_new_reason(store: Store) -> None:
    """X16"""
    await store.run(pause("lane", "a"))

    await store.run(pause("lane", "a", reason="flood"))

    assert ["flood"] == [each.reason for each in await store.read(pauses.active())]
    entry = (await store.read(audit.listing(1)))[0]
    assert "fire" in (entry.before or "")
    assert "flood" in (entry.after or "")


async def test_pauses_of_the_same_name_in_other_scopes_are_other_pauses(store: Store) -> None:
    """X16"""
    await store.run(pause("lane", "a"))
    await store.run(pause("kind", "a"))

    await store.run(resume("lane", "a"))

    assert [Scope.KIND] == [each.scope for each in await store.read(pauses.active())]


async def test_resuming_what_is_not_paused_says_what_is(store: Store) -> None:
    """X16"""
    await store.run(pause("lane", "b"))

    with pytest.raises(NotFound, match=r"The lane 'a' is not paused\. .*: lane 'b'\."):
        await store.run(resume("lane", "a"))
    with pytest.raises(NotFound, match=r"Everything is not paused"):
        await store.run(resume("all"))


async def test_a_pause_of_nothing_in_particular_is_refused(store: Store) -> None:
    with pytest.raises(SettingInvalid, match="no scope 'planet'"):
        await store.run(pause("planet", "a"))
    with pytest.raises(SettingInvalid, match="needs its name"):
        await store.run(pause("lane"))


async def test_a_sessions_waiting_jobs_are_handed_out_page_by_page(store: Store) -> None:
    """X16"""
    stream = pack(1, 1, 2)
    now = await store.now()
    mine = [NewJob(stream, "{}", session="s"), NewJob(stream, "{}", session="s", due=now + 9)]
    receipts = await store.enqueue(
        [NewJob(stream, "{}", session="t"), *mine, NewJob(stream, "{}"), mine[0]]
    )

    first = await store.read(pauses.session_jobs("s", limit=2))
    second = await store.read(pauses.session_jobs("s", limit=2, after=first[-1]["id"]))
    only = await store.read(pauses.session_jobs("s", [State.RETRY_WAIT], limit=9))

    assert [receipts[i].id for i in (1, 2, 4)] == [row["id"] for row in [*first, *second]]
    assert [receipts[2].id] == [row["id"] for row in only]
