"""The one real store of a simulated fleet, which writes down every change of every job.

Triggers record what happens to rows, whichever statement did it. So the invariants judge
the database as it is, and not what the engine believes to have written.
"""

from typing import Any, Final, NamedTuple

from dure.core.state import State
from dure.stores.sqlite import SqliteStore

_TABLES: Final = (
    "create table trial_effect (token integer not null, run integer not null) strict",
    "create table trial_fact (id integer primary key, version integer not null) strict",
    """create table trial_change (
      number integer primary key, job integer not null, was integer, becomes integer,
      fence_was integer, fence integer, attempt_was integer, attempt integer, stream integer,
      worker integer, key text, batch integer) strict""",
)

_COLUMNS: Final = "fence, attempt, stream, worker, key, batch"


def _trigger(event: str, table: str, row: str, was: str, becomes: str) -> str:
    before = "old.fence, old.attempt" if event.startswith("update") else "null, null"
    after = ", ".join(f"{row}.{column}" for column in _COLUMNS.split(", "))
    columns = f"job, was, becomes, fence_was, attempt_was, {_COLUMNS}"
    values = f"{row}.id, {was}, {becomes}, {before}, {after}"
    note = f"insert into trial_change ({columns}) values ({values})"  # noqa: S608 - our own names
    return f"create trigger trial_{table}_{event[:6]} after {event} on {table} begin {note}; end"


_TRIGGERS: Final = (
    _trigger("insert", "dure_live", "new", "null", "new.state"),
    _trigger("update of state, fence, attempt", "dure_live", "new", "old.state", "new.state"),
    _trigger("delete", "dure_live", "old", "old.state", "null"),
    _trigger("insert", "dure_history", "new", "null", "new.state"),
    _trigger("delete", "dure_history", "old", "old.state", "null"),
)


class Trace(NamedTuple):
    """What happened to one row of a job: `was` is None for a new row, `becomes` for a removed."""

    job: int
    was: State | None
    becomes: State | None
    fence_was: int | None
    fence: int
    attempt_was: int | None
    attempt: int
    stream: int
    worker: int | None
    key: str | None
    batch: int | None


class Ledger(SqliteStore):
    """A store in memory, on the caller's thread, that keeps a trace of its own changes."""

    async def open(self, *, migrate: bool = True) -> None:
        await super().open(migrate=migrate)
        for statement in (*_TABLES, *_TRIGGERS):
            self.ask(statement)

    def ask(self, sql: str, *params: object) -> list[tuple[Any, ...]]:
        """Look into the database, at once and past all faults."""
        return self._submit(lambda c: c.execute(sql, params).fetchall()).result()

    def moment(self) -> float:
        """The store's time."""
        return self._clock.now()

    def traces(self) -> list[Trace]:
        """What has changed since the last time, in order."""
        rows = self.ask(
            "select job, was, becomes, fence_was, fence, attempt_was, attempt, stream, worker, "
            "key, batch from trial_change order by number"
        )
        if rows:
            self.ask("delete from trial_change")
        return [Trace(row[0], _state(row[1]), _state(row[2]), *row[3:]) for row in rows]


def _state(number: int | None) -> State | None:
    return None if number is None else State(number)
