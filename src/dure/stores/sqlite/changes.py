"""Applying transitions on SQLite: a group under one savepoint, halved only when it fails.

A savepoint for each job that carries effects would cost several times what the job costs.
What one job writes wrongly must not fail its neighbours, so a group that fails is halved
until the culprit stands alone. Jobs with a guard or a subject are looked at one by one:
they must see what came before them.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from dure.core.state import FINAL, Event, State
from dure.ports.rows import Applied, Change, NewJob
from dure.stores.intake import rounds
from dure.stores.sqlite import jobs
from dure.stores.statement import for_sqlite, read, sqlite_value
from dure.stores.tally import tallies_of_changes

_KEEP: Final = read("sqlite", "keep")
_KEEP_RESULTS: Final = read("sqlite", "keep_results")
_FORGET: Final = read("sqlite", "forget")
_PARK: Final = read("sqlite", "park")
_NOTE: Final = read("sqlite", "note_attempt")
_IS_THERE: Final = read("sqlite", "is_running")
_SETTLED: Final = read("sqlite", "settled")
_KEY_FREE: Final = read("sqlite", "key_free")
_TALLY: Final = read("sqlite", "tally")
_EPOCH: Final = read("sqlite", "epoch_of")


def apply(connection: sqlite3.Connection, changes: Sequence[Change], now: float) -> Applied:
    """Carry out changes whose state and fence still hold."""
    verdict = _Verdict()
    for group in rounds(changes):
        _apply_together(connection, [c for c in group if _is_free(c)], now, verdict)
        for change in group:
            if not _is_free(change):
                _apply_alone(connection, change, now, verdict)
    connection.executemany(
        _TALLY, [(b, now, *counts) for b, counts in tallies_of_changes(verdict.applied).items()]
    )
    verdict.streams.update(c.stream for c in verdict.applied if c.transition.to is State.PENDING)
    return Applied(
        frozenset(verdict.refused),
        frozenset(verdict.stale),
        verdict.broken,
        sorted(verdict.streams),
    )


class _Verdict:
    """What became of each change, as far as it is known."""

    __slots__ = ("applied", "broken", "refused", "stale", "streams")

    def __init__(self) -> None:
        self.applied: list[Change] = []
        self.refused: set[int] = set()
        self.stale: set[int] = set()
        self.broken: dict[int, str] = {}
        self.streams: set[int] = set()

    def add(self, applied: Sequence[Change]) -> None:
        """These were carried out, with what goes with them."""
        self.applied.extend(applied)
        for change in applied:
            if change.effects is not None and change.transition.to is State.SUCCESS:
                self.streams.update(job.stream for job in change.effects.then)


def _is_free(change: Change) -> bool:
    """Whether nothing but state and fence decides if it is applied."""
    return change.subject is None and (change.effects is None or change.effects.guard is None)


def _apply_together(
    connection: sqlite3.Connection, group: Sequence[Change], now: float, verdict: _Verdict
) -> None:
    """Changes that do not look at one another, in few statements; in halves when one is wrong."""
    if len(group) <= 1:
        for change in group:
            _apply_alone(connection, change, now, verdict)
        return
    connection.execute("savepoint together")
    try:
        missed = _move(connection, group, now)
        applied = [c for c in group if c.transition.id not in missed] if missed else group
        _free_keys(connection, applied)
        _carry_effects(connection, applied, now)
    except Exception as error:  # one value that cannot be stored must not fail the group
        if not connection.in_transaction or _is_ours(error):
            raise
        connection.execute("rollback to together")
        connection.execute("release together")
        half = len(group) // 2
        _apply_together(connection, group[:half], now, verdict)
        _apply_together(connection, group[half:], now, verdict)
        return
    connection.execute("release together")
    verdict.add(applied)
    verdict.refused.update(
        c.transition.id
        for c in group
        if c.transition.id in missed and not _is_settled(connection, c)
    )


def _apply_alone(
    connection: sqlite3.Connection, change: Change, now: float, verdict: _Verdict
) -> None:
    job = change.transition.id
    connection.execute("savepoint job")
    try:
        if not _stands(connection, change):
            if not _is_settled(connection, change):
                verdict.refused.add(job)
        elif _is_stale(connection, change):
            verdict.stale.add(job)
        else:
            _move(connection, [change], now)
            _free_keys(connection, [change])
            _carry_effects(connection, [change], now)
            verdict.add([change])
    except Exception as error:  # whatever is wrong with one job's effects is its own affair
        if not connection.in_transaction or _is_ours(error):
            raise
        connection.execute("rollback to job")
        verdict.broken[job] = f"{type(error).__name__}: {error}"
    connection.execute("release job")


def _is_ours(error: Exception) -> bool:
    """Whether the store itself is in trouble, rather than one job's statement wrong."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT}


def _move(connection: sqlite3.Connection, changes: Sequence[Change], now: float) -> set[int]:
    """Change states; returns the jobs whose state or fence no longer held."""
    missed: set[int] = set()
    endings: dict[tuple[object, ...], list[Change]] = {}
    notes: list[tuple[object, ...]] = []
    for change in changes:
        t = change.transition
        if t.event not in _QUIET and t.source is State.RUNNING:
            notes.append((t.id, t.fence, now, t.event.value, t.error or t.reason))
        if t.to in FINAL:
            ending = (t.fence, t.source, t.to, t.reason, t.error)
            endings.setdefault(ending, []).append(change)
    if notes:
        connection.executemany(_NOTE, notes)
    for (fence, source, *rest), ended in endings.items():
        ids = [c.transition.id for c in ended]
        has_results = any(c.result is not None for c in ended)
        keep, listed = (
            (_KEEP_RESULTS, [(c.transition.id, c.result) for c in ended])
            if has_results
            else (_KEEP, ids)
        )
        values = (_json(listed), fence, source, now, *rest)
        if connection.execute(keep, values).rowcount != len(ids):
            missed.update(c.transition.id for c in ended if not _stands(connection, c))
        connection.execute(_FORGET, (_json(ids), fence, source))
    missed.update(
        c.transition.id
        for c in changes
        if c.transition.to not in FINAL and not _park(connection, c)
    )
    return missed


_QUIET: Final = frozenset({Event.SUCCEED, Event.SKIP})


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _stands(connection: sqlite3.Connection, change: Change) -> bool:
    t = change.transition
    return connection.execute(_IS_THERE, (t.id, t.fence, t.source)).fetchone() is not None


def _is_settled(connection: sqlite3.Connection, change: Change) -> bool:
    t = change.transition
    row = (t.id, t.fence, t.to, t.attempt, t.due, t.reason)
    return connection.execute(_SETTLED, row).fetchone() is not None


def _is_stale(connection: sqlite3.Connection, change: Change) -> bool:
    """Whether the subject or the guard has moved on."""
    if change.transition.to is not State.SUCCESS:
        return False
    if change.subject is not None:
        row = connection.execute(_EPOCH, (change.subject,)).fetchone()
        if row is not None and row[0] > change.epoch:
            return True
    guard = None if change.effects is None else change.effects.guard
    if guard is None:
        return False
    found = _execute(connection, guard.sql, guard.params).fetchone()
    return bool((found[0] if found else None) != guard.expected)


def _carry_effects(connection: sqlite3.Connection, changes: Sequence[Change], now: float) -> None:
    """The writes of each in order, then everything that follows from all of them."""
    then: list[NewJob] = []
    for change in changes:
        effects = change.effects
        if effects is not None and change.transition.to is State.SUCCESS:
            for write in effects.writes:
                _execute(connection, write.sql, write.params)
            then.extend(effects.then)
    if then:
        jobs.enqueue(connection, then, now)


def _execute(
    connection: sqlite3.Connection, sql: str, params: Mapping[str, object]
) -> sqlite3.Cursor:
    compiled = for_sqlite(sql)
    return connection.execute(compiled.text, [sqlite_value(v) for v in compiled.arguments(params)])


def _park(connection: sqlite3.Connection, change: Change) -> bool:
    t = change.transition
    position = jobs.reserve(connection, 1) if t.to is State.PENDING else None
    row = (t.id, t.fence, t.source, t.to, t.attempt, change.stream, t.due, t.reason, t.error)
    return connection.execute(_PARK, (*row, position)).rowcount == 1


def _free_keys(connection: sqlite3.Connection, applied: Sequence[Change]) -> None:
    keys = [
        (c.key, c.transition.id) for c in applied if c.key is not None and c.transition.to in FINAL
    ]
    if keys:
        connection.executemany(_KEY_FREE, keys)
