"""The audit: what was written is read back, newest first."""

from dure.ports.store import Store
from dure.scripts import audit
from dure.scripts.audit import Entry


async def test_an_entry_says_who_did_what_and_why_with_before_and_after(store: Store) -> None:
    """X17"""
    entry = await store.run(
        audit.add(
            "setting.set",
            "log.level",
            by="kim",
            reason="looking for a fault",
            now=12.5,
            count=3,
            before="info",
            after="debug",
        )
    )

    assert [
        Entry(
            id=entry,
            at=12.5,
            actor="kim",
            command="setting.set",
            target="log.level",
            reason="looking for a fault",
            count=3,
            before="info",
            after="debug",
        )
    ] == await store.read(audit.listing(10))


async def test_the_audit_is_read_newest_first_page_by_page(store: Store) -> None:
    """X17"""
    for target in "abcde":
        await store.run(audit.add("pause", target, by="kim", reason="", now=1.0))

    first = await store.read(audit.listing(2))
    second = await store.read(audit.listing(2, first[-1].id))
    third = await store.read(audit.listing(2, second[-1].id))

    assert ["e", "d", "c", "b", "a"] == [each.target for each in [*first, *second, *third]]
