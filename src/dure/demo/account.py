"""Counting what really happened, from the tables and not from anybody's counters."""

from collections.abc import Mapping
from dataclasses import dataclass

from dure.core.state import FINAL, State
from dure.ports.rows import Query
from dure.ports.store import Script, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Where every job stands, and what handlers have written."""

    states: Mapping[State, int]
    lanes: Mapping[str, int]
    """Finished jobs by lane."""
    taken_back: int
    noted: int
    noted_twice: int
    unnoted: int

    @property
    def total(self) -> int:
        return sum(self.states.values())

    @property
    def finished(self) -> int:
        return sum(count for state, count in self.states.items() if state in FINAL)

    @property
    def unfinished(self) -> int:
        return self.total - self.finished


def _create() -> Script[None]:
    yield Query("demo_create")


def _count() -> Script[Account]:
    states = yield Query("demo_states")
    lanes = yield Query("demo_lanes")
    (row,) = yield Query("demo_account")
    return Account(
        states={State(r["state"]): r["jobs"] for r in states},
        lanes={r["name"]: r["jobs"] for r in lanes},
        taken_back=row["taken_back"],
        noted=row["noted"],
        noted_twice=row["noted_twice"],
        unnoted=row["unnoted"],
    )


async def create_table(store: Store) -> None:
    """The handlers' own table."""
    await store.run(_create())


async def take_account(store: Store) -> Account:
    """Count everything."""
    return await store.read(_count())
