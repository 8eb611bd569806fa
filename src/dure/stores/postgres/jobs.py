"""Enqueueing on PostgreSQL: one statement for a group, keys taken first where asked for."""

from collections.abc import Sequence
from typing import Any, Final

from dure.ports.rows import NewJob, Receipt
from dure.stores.intake import check_jobs
from dure.stores.statement import read
from dure.stores.tally import Counts, tallies_of_jobs

_ENQUEUE: Final = read("postgres", "enqueue")
_ENQUEUE_PLAIN: Final = read("postgres", "enqueue_plain")
_KEY_TAKE: Final = read("postgres", "key_take")
_KEY_HOLDERS: Final = read("postgres", "key_holders")
_TALLY: Final = read("postgres", "tally")

CHANNEL: Final = "dure"
_PLAIN: Final = (None, None, None, None, None, None, 0, 0, None, None)
"""Every field of a NewJob after the body, at its default."""
_HINT_STREAMS_MAX: Final = 200


def hint_of(jobs: Sequence[NewJob]) -> str:
    """Which streams to look at; `scan` when they are too many for one notification."""
    streams = {job.stream for job in jobs}
    if len(streams) > _HINT_STREAMS_MAX:
        return "scan"
    return "streams " + ",".join(map(str, streams))


async def enqueue(
    connection: Any, jobs: Sequence[NewJob], now: float | None, hint: str | None
) -> list[Receipt]:
    """Insert jobs in order; needs a transaction around it unless `is_single` says otherwise."""
    check_jobs(jobs)
    if all(job[2:] == _PLAIN for job in jobs):
        streams, bodies = [job[0] for job in jobs], [job[1] for job in jobs]
        row = await connection.fetchrow(_ENQUEUE_PLAIN, streams, bodies, now, CHANNEL, hint)
        return [Receipt(number, is_new=True) for number in row["ids"]]
    if all(job.key is None for job in jobs):
        numbers = await _insert(connection, jobs, [None] * len(jobs), now, hint)
        receipts = [Receipt(number, is_new=True) for number in numbers]
    else:
        receipts = await _take_keys(connection, jobs, now)
        new = [(job, r.id) for job, r in zip(jobs, receipts, strict=True) if r.is_new]
        if new:
            await _insert(connection, [job for job, _ in new], [n for _, n in new], now, hint)
    added = [job for job, receipt in zip(jobs, receipts, strict=True) if receipt.is_new]
    await count(connection, tallies_of_jobs(added), now)
    return receipts


async def _insert(
    connection: Any,
    jobs: Sequence[NewJob],
    numbers: Sequence[int | None],
    now: float | None,
    hint: str | None,
) -> list[int]:
    row = await connection.fetchrow(
        _ENQUEUE,
        numbers,
        [j.stream for j in jobs],
        [j.body for j in jobs],
        [j.due for j in jobs],
        [j.delay for j in jobs],
        [j.batch for j in jobs],
        [j.parent for j in jobs],
        [j.session for j in jobs],
        [j.subject for j in jobs],
        [j.epoch for j in jobs],
        [j.tokens for j in jobs],
        [j.key for j in jobs],
        now,
        CHANNEL,
        hint,
    )
    return list(row["ids"])


async def _take_keys(connection: Any, jobs: Sequence[NewJob], now: float | None) -> list[Receipt]:
    """The job to insert for each, under the id it gets; or the one that holds its key."""
    firsts: dict[str, int] = {}
    for index, job in enumerate(jobs):
        if job.key is not None:
            firsts.setdefault(job.key, index)
    asked = [
        job.key if job.key is not None and firsts[job.key] == index else None
        for index, job in enumerate(jobs)
    ]
    row = await connection.fetchrow(_KEY_TAKE, asked, [job.key_until for job in jobs], now)
    ids, winners = row["ids"], frozenset(row["winners"] or ())
    holders = {key: ids[index] for key, index in firsts.items() if ids[index] in winners}
    lost = [key for key in firsts if key not in holders]
    if lost:
        for holder in await connection.fetch(_KEY_HOLDERS, lost):
            holders[holder["key"]] = holder["job"]
    return [
        Receipt(number, is_new=True)
        if job.key is None or holders[job.key] == number
        else Receipt(holders[job.key], is_new=False)
        for job, number in zip(jobs, ids, strict=True)
    ]


def is_single(jobs: Sequence[NewJob]) -> bool:
    """Whether enqueueing takes one statement only, which is its own transaction."""
    return all(job.key is None and job.batch is None for job in jobs)


async def count(connection: Any, deltas: dict[int, Counts], now: float | None) -> None:
    """Add to the counts of batches: one row a batch."""
    if deltas:
        columns = [list(column) for column in zip(*deltas.values(), strict=True)]
        await connection.execute(_TALLY, list(deltas), *columns, now)
