"""Applying transitions on PostgreSQL: a group is one transaction, halved only when it fails.

A savepoint per job would cost thirty times the whole finish, so jobs that carry effects
share one transaction. If it fails, the group is split in halves until the culprit stands
alone: only that job is reported broken.
"""

from collections.abc import Sequence
from typing import Any, Final

import asyncpg

from dure.core.state import FINAL, Event, State
from dure.ports.rows import Applied, Change
from dure.stores.intake import rounds
from dure.stores.postgres import jobs as inserting
from dure.stores.postgres.line import Line
from dure.stores.statement import for_postgres, read
from dure.stores.tally import tallies_of_changes

_FINISH: Final = read("postgres", "finish")
_FINISH_PLAIN: Final = read("postgres", "finish_plain")
_PARK: Final = read("postgres", "park")
_NOTE: Final = read("postgres", "note_attempts")
_SETTLED: Final = read("postgres", "settled")
_KEY_FREE: Final = read("postgres", "key_free")
_EPOCH: Final = read("postgres", "epoch_of")
_EPOCH_SEED: Final = read("postgres", "epoch_seed")
_STANDING: Final = read("postgres", "standing")
_QUIET: Final = frozenset({Event.SUCCEED, Event.SKIP})
_BROKEN: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, ValueError, TypeError)
_NOT_THE_JOB: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.InternalClientError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.PostgresSystemError,
)
_OURS_WITHOUT_EFFECTS: Final = (
    asyncpg.InsufficientPrivilegeError,
    asyncpg.DataCorruptedError,
    asyncpg.IndexCorruptedError,
)
"""Of a job's own tables when it has effects; of ours when it has none."""


async def apply(line: Line, changes: Sequence[Change], now: float | None) -> Applied:
    """Carry out changes whose state and fence still hold."""
    parts: list[Applied] = []
    async with line.use() as connection:
        for group in rounds(changes):
            simple = [c for c in group if _is_simple(c)]
            rich = [c for c in group if not _is_simple(c)]
            if simple:
                rich += await _apply_simple(connection, simple, now)
            if rich:
                parts.append(await _apply_rich(connection, rich, now))
    return _joined(parts)


def _joined(parts: Sequence[Applied]) -> Applied:
    broken: dict[int, str] = {}
    for part in parts:
        broken.update(part.broken)
    return Applied(
        frozenset().union(*(part.refused for part in parts)),
        frozenset().union(*(part.stale for part in parts)),
        broken,
        sorted({stream for part in parts for stream in part.streams}),
    )


def _is_simple(change: Change) -> bool:
    """Success and nothing beside it: one statement finishes any number of these."""
    return (
        change.effects is None
        and change.batch is None
        and change.key is None
        and change.subject is None
        and change.transition.event in _QUIET
    )


async def _apply_simple(
    connection: Any, changes: Sequence[Change], now: float | None
) -> list[Change]:
    """Finish what can be finished; answers what needs a closer look."""
    plain = all(c.result is None and c.transition.event is Event.SUCCEED for c in changes)
    finish = _finish_plain if plain else _finish
    try:
        accepted = await finish(connection, changes, now)
    except _BROKEN as error:
        _raise_unless_of_a_job(connection, error)
        return list(changes)
    if len(accepted) == len(changes):
        return []
    done = frozenset(accepted)
    return [c for c in changes if c.transition.id not in done]


async def _apply_rich(connection: Any, changes: Sequence[Change], now: float | None) -> Applied:
    try:
        async with connection.transaction():
            groups = _one_guard_each(changes)
            return _joined([await _apply_group(connection, group, now) for group in groups])
    except _BROKEN as error:
        _raise_unless_of_a_job(connection, error)
        if len(changes) == 1:
            if changes[0].effects is None and isinstance(error, _OURS_WITHOUT_EFFECTS):
                raise
            text = f"{type(error).__name__}: {error}"
            return Applied(broken={changes[0].transition.id: text})
    half = len(changes) // 2
    return _joined(
        [
            await _apply_rich(connection, changes[:half], now),
            await _apply_rich(connection, changes[half:], now),
        ]
    )


def _raise_unless_of_a_job(connection: Any, error: Exception) -> None:
    if isinstance(error, _NOT_THE_JOB) or connection.is_closed():
        raise error


def _one_guard_each(changes: Sequence[Change]) -> list[Sequence[Change]]:
    """All without a guard together, each other alone: a guard must see what came before it."""
    guarded = [c for c in changes if c.effects is not None and c.effects.guard is not None]
    if not guarded:
        return [changes]
    free = [c for c in changes if c.effects is None or c.effects.guard is None]
    return [*([free] if free else []), *([c] for c in guarded)]


async def _apply_group(connection: Any, changes: Sequence[Change], now: float | None) -> Applied:
    stale = await _stale(connection, changes)
    going = [c for c in changes if c.transition.id not in stale] if stale else changes
    await _note_attempts(connection, going, now)
    accepted = await _move(connection, going, now)
    refused: frozenset[int] = frozenset()
    if len(accepted) != len(going):
        # A row that changed while its lock was waited for is ours now, but only the next
        # statement can see its newest version.
        missed = [c for c in going if c.transition.id not in accepted]
        accepted |= await _move(connection, missed, now)
        refused = await _refused(connection, [c for c in missed if c.transition.id not in accepted])
        going = [c for c in going if c.transition.id in accepted]
    ended = [c for c in going if c.key is not None and c.transition.to in FINAL]
    if ended:
        keys, holders = [c.key for c in ended], [c.transition.id for c in ended]
        await connection.execute(_KEY_FREE, keys, holders)
    await _write(connection, going)
    follow_ups = [
        job
        for c in going
        if c.effects is not None and c.transition.to is State.SUCCESS
        for job in c.effects.then
    ]
    streams = {c.stream for c in going if c.transition.to is State.PENDING}
    if follow_ups:
        streams.update(job.stream for job in follow_ups)
        hint = inserting.hint_of(follow_ups)
        await inserting.enqueue(connection, follow_ups, now, hint)
    await inserting.count(connection, tallies_of_changes(going), now)
    return Applied(refused, frozenset(stale), {}, sorted(streams))


async def _move(connection: Any, changes: Sequence[Change], now: float | None) -> set[int]:
    """Change states; returns the jobs whose state and fence held."""
    ending = [c for c in changes if c.transition.to in FINAL]
    parked = [c for c in changes if c.transition.to not in FINAL]
    return {*await _finish(connection, ending, now), *await _park(connection, parked)}


async def _stale(connection: Any, changes: Sequence[Change]) -> set[int]:
    """Jobs whose subject or guard has moved on; checked under the group's transaction."""
    ending = [c for c in changes if c.transition.to is State.SUCCESS]
    stale: set[int] = set()
    subjects = sorted({c.subject for c in ending if c.subject is not None})
    if subjects:
        rows = await connection.fetch(_EPOCH, subjects)
        if len(rows) < len(subjects):
            await connection.execute(_EPOCH_SEED, subjects)
            rows = await connection.fetch(_EPOCH, subjects)
        current = {row["subject"]: row["epoch"] for row in rows}
        stale.update(
            c.transition.id
            for c in ending
            if c.subject is not None and current.get(c.subject, c.epoch) > c.epoch
        )
    for change in ending:
        guard = None if change.effects is None else change.effects.guard
        if guard is not None:
            compiled = for_postgres(guard.sql)
            found = await connection.fetchval(compiled.text, *compiled.arguments(guard.params))
            if found != guard.expected:
                stale.add(change.transition.id)
    return stale and await _standing(connection, [c for c in ending if c.transition.id in stale])


async def _standing(connection: Any, changes: Sequence[Change]) -> set[int]:
    """Those not fenced off, and not applied by an earlier try whose own writes moved a guard."""
    moves = [c.transition for c in changes]
    columns = ([t.id for t in moves], [t.fence for t in moves], [t.source for t in moves])
    row = await connection.fetchrow(_STANDING, *columns)
    return set(row["ids"] or ())


async def _write(connection: Any, changes: Sequence[Change]) -> None:
    """User writes, one round trip for a statement used by many jobs.

    Writes of a job keep their order: its n-th run of equal statements goes with those of others.
    """
    grouped: dict[tuple[int, str], list[list[object]]] = {}
    for change in changes:
        if change.effects is None or change.transition.to is not State.SUCCESS:
            continue
        run, previous = 0, ""
        for write in change.effects.writes:
            compiled = for_postgres(write.sql)
            run += previous != compiled.text
            previous = compiled.text
            grouped.setdefault((run, previous), []).append(compiled.arguments(write.params))
    for (_, text), rows in sorted(grouped.items(), key=_run):
        await connection.executemany(text, rows)


def _run(group: tuple[tuple[int, str], object]) -> int:
    return group[0][0]


async def _finish(connection: Any, changes: Sequence[Change], now: float | None) -> list[int]:
    if not changes:
        return []
    moves = [c.transition for c in changes]
    row = await connection.fetchrow(
        _FINISH,
        [t.id for t in moves],
        [t.fence for t in moves],
        [t.source for t in moves],
        [t.to for t in moves],
        [t.reason for t in moves],
        [t.error for t in moves],
        [c.result for c in changes],
        now,
    )
    return row["ids"] or []


async def _finish_plain(connection: Any, changes: Sequence[Change], now: float | None) -> list[int]:
    ids, fences = [c.transition.id for c in changes], [c.transition.fence for c in changes]
    row = await connection.fetchrow(_FINISH_PLAIN, ids, fences, now)
    return row["ids"] or []


async def _park(connection: Any, changes: Sequence[Change]) -> list[int]:
    if not changes:
        return []
    moves = [c.transition for c in changes]
    row = await connection.fetchrow(
        _PARK,
        [t.id for t in moves],
        [t.fence for t in moves],
        [t.source for t in moves],
        [t.to for t in moves],
        [t.attempt for t in moves],
        [c.stream for c in changes],
        [t.due for t in moves],
        [t.reason for t in moves],
        [t.error for t in moves],
    )
    return row["ids"] or []


async def _note_attempts(connection: Any, changes: Sequence[Change], now: float | None) -> None:
    moves = [
        c.transition
        for c in changes
        if c.transition.source is State.RUNNING and c.transition.event not in _QUIET
    ]
    if moves:
        await connection.execute(
            _NOTE,
            [t.id for t in moves],
            [t.fence for t in moves],
            [t.event.value for t in moves],
            [t.error or t.reason for t in moves],
            now,
        )


async def _refused(connection: Any, missed: Sequence[Change]) -> frozenset[int]:
    """Those really fenced off; not the ones an earlier try applied though its answer was lost."""
    moves = [c.transition for c in missed]
    if not moves:
        return frozenset()
    row = await connection.fetchrow(
        _SETTLED,
        [t.id for t in moves],
        [t.fence for t in moves],
        [t.to for t in moves],
        [t.attempt for t in moves],
        [t.due for t in moves],
        [t.reason for t in moves],
    )
    return frozenset(t.id for t in moves) - frozenset(row["ids"] or [])
