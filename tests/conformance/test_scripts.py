"""Scripts: one transaction, whatever happens in it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from dure.core.errors import StoreError
from dure.core.state import State
from dure.ports.rows import Query

if TYPE_CHECKING:
    from tests.conformance.conftest import Yard

    from dure.ports.store import Script

ADD = "insert into note (name, value) values (:name, :value)"
READ = "select value from note where name = :name for update"
RAISE = "update note set value = :value where name = :name"


def add(*names: str) -> Script[int]:
    for name in names:
        yield Query(ADD, {"name": name, "value": 1})
    return len(names)


async def test_a_script_returns_its_answer_and_commits(yard: Yard) -> None:
    assert 2 == await yard.store.run(add("a", "b"))
    assert {"a": 1, "b": 1} == await yard.notes()


async def test_an_exception_inside_a_script_rolls_it_back(yard: Yard) -> None:
    """X3"""

    def script() -> Script[None]:
        yield from add("a")
        raise LookupError("changed my mind")

    with pytest.raises(LookupError, match="changed my mind"):
        await yard.store.run(script())

    assert {} == await yard.notes()
    assert 1 == await yard.store.run(add("b"))


async def test_a_failing_statement_rolls_the_script_back(yard: Yard) -> None:
    closed = []

    def script() -> Script[None]:
        try:
            yield from add("a", "a")
        finally:
            closed.append(True)

    with pytest.raises(Exception, match=r"(?i)unique"):
        await yard.store.run(script())

    assert [True] == closed
    assert {} == await yard.notes()


async def test_a_missing_parameter_is_named(yard: Yard) -> None:
    with pytest.raises(ValueError, match="'value'"):
        await yard.ask(ADD, name="a")

    assert {} == await yard.notes()


async def test_rows_come_by_column_name_and_lists_go_as_parameters(yard: Yard) -> None:
    await yard.store.run(add("a", "b", "c"))

    rows = await yard.ask(
        "select name, value from note where name = any (:names) order by name", names=["a", "c"]
    )

    assert [{"name": "a", "value": 1}, {"name": "c", "value": 1}] == [dict(row) for row in rows]
    assert [] == await yard.ask("select name from note where name = any (:names)", names=[])


async def test_scripts_at_once_do_not_lose_each_others_changes(yard: Yard) -> None:
    """X21: a row is locked before it is changed by decision."""
    await yard.store.run(add("count"))
    other = await yard.neighbour()

    def step() -> Script[int]:
        rows = yield Query(READ, {"name": "count"})
        value: int = rows[0]["value"] + 1
        yield Query(RAISE, {"name": "count", "value": value})
        return value

    stores = [yard.store, other] * 10
    answers = await asyncio.gather(*(store.run(step()) for store in stores))

    assert list(range(2, 22)) == sorted(answers)
    assert {"count": 21} == await yard.notes()


async def test_a_reading_script_sees_what_was_committed(yard: Yard) -> None:
    [job] = await yard.put()

    def script() -> Script[Any]:
        rows = yield Query("select state from dure_live where id = :id", {"id": job})
        return State(rows[0]["state"])

    assert State.PENDING is await yard.store.read(script())


async def test_a_store_that_is_not_open_says_so(yard: Yard) -> None:
    await yard.store.close()

    with pytest.raises(StoreError, match="not open"):
        await yard.store.heads(0)
    with pytest.raises(StoreError, match="not open"):
        await yard.store.run(add("a"))


async def test_a_store_can_be_closed_twice_and_opened_again(yard: Yard) -> None:
    await yard.store.close()
    await yard.store.close()

    await yard.store.open()

    assert [] == list(await yard.store.heads(0))
