"""Enqueueing and claiming on SQLite, as operations of the writer's connection."""

import sqlite3
from collections.abc import Sequence
from typing import Final

import msgspec

from dure.ports.rows import Ask, Claim, Head, NewJob, Receipt
from dure.stores.intake import check_jobs
from dure.stores.statement import read
from dure.stores.tally import tallies_of_jobs

_ENQUEUE: Final = read("sqlite", "enqueue")
_ENQUEUE_PLAIN: Final = read("sqlite", "enqueue_plain")
_RESERVE: Final = read("sqlite", "reserve")
_NEXT: Final = read("sqlite", "next")
_CLAIM: Final = read("sqlite", "claim")
_HEADS: Final = read("sqlite", "heads")
_KEY_TAKE: Final = read("sqlite", "key_take")
_KEY_HOLDER: Final = read("sqlite", "key_holder")
_TALLY: Final = read("sqlite", "tally")
_SESSION_PAUSED: Final = read("sqlite", "session_paused")

_encode: Final = msgspec.json.Encoder().encode
_decode_claims: Final = msgspec.json.Decoder(list[Claim]).decode

_PLAIN: Final = (None, None, None, None, None, None, 0, 0, None, None)
"""Every field of a NewJob after the body, at its default."""


def reserve(connection: sqlite3.Connection, count: int) -> int:
    """Take `count` fresh numbers; returns the first."""
    last: int = connection.execute(_RESERVE, (count,)).fetchone()[0]
    return last - count + 1


def enqueue(connection: sqlite3.Connection, jobs: Sequence[NewJob], now: float) -> list[Receipt]:
    """Insert jobs in order; a job whose unique key is taken answers with the holder's id."""
    check_jobs(jobs)
    first = reserve(connection, len(jobs))
    if all(job[2:] == _PLAIN for job in jobs):
        connection.execute(
            _ENQUEUE_PLAIN, (first, now, _encode([job[:2] for job in jobs]).decode())
        )
        return [Receipt(first + i, is_new=True) for i in range(len(jobs))]
    rows: list[tuple[object, ...]] = []
    receipts: list[Receipt] = []
    paused: dict[str, bool] = {}
    for number, job in enumerate(jobs, first):
        if job.key is not None:
            taken = connection.execute(_KEY_TAKE, (job.key, number, job.key_until, now))
            if taken.rowcount == 0:
                holder = connection.execute(_KEY_HOLDER, (job.key,)).fetchone()[0]
                receipts.append(Receipt(holder, is_new=False))
                continue
        if job.session is not None and job.session not in paused:
            found = connection.execute(_SESSION_PAUSED, (job.session,)).fetchone()
            paused[job.session] = found is not None
        held = job.session is not None and paused[job.session]
        receipts.append(Receipt(number, is_new=True))
        rows.append(_row(number, job, now, held=held))
    connection.executemany(_ENQUEUE, rows)
    new = [job for job, receipt in zip(jobs, receipts, strict=True) if receipt.is_new]
    connection.executemany(
        _TALLY, [(batch, now, *counts) for batch, counts in tallies_of_jobs(new).items()]
    )
    return receipts


def _row(number: int, job: NewJob, now: float, *, held: bool) -> tuple[object, ...]:
    due = job.due if job.due is not None else now + job.delay if job.delay else None
    if held or (due is not None and due <= now):
        due = None
    state = 3 if held else 2 if due is not None else 0
    return (
        number,
        job.stream,
        now,
        due,
        job.batch,
        job.parent,
        job.epoch,
        job.tokens,
        state,
        state == 0,
        job.session,
        job.subject,
        job.key,
        "paused" if held else None,
        job.body,
    )


def claim(
    connection: sqlite3.Connection, worker: int, asks: Sequence[Ask], now: float
) -> list[Claim]:
    """Claim up to each ask's quota; in the order of the asks, and of positions in each.

    One query serves all asks of equal quota: a call for each lane costs more than its rows.
    """
    by_quota: dict[int, dict[str, int]] = {}
    for stream, quota, mark in asks:
        by_quota.setdefault(quota, {})[str(stream)] = mark
    claims: list[Claim] = []
    for quota, marks in by_quota.items():
        (found,) = connection.execute(_NEXT, (_encode(marks).decode(), quota)).fetchone()
        taken = _decode_claims(found)
        if taken:
            ids = _encode([claim.id for claim in taken]).decode()
            connection.execute(_CLAIM, (ids, worker, now))
            claims += taken
    turn = {ask.stream: place for place, ask in enumerate(asks)}
    claims.sort(key=lambda claim: (turn[claim.stream], claim.pos))
    return claims


def heads(connection: sqlite3.Connection, floor: int) -> list[Head]:
    """Streams with waiting work."""
    rows = connection.execute(_HEADS, (floor,)).fetchall()
    return [Head(stream, pos) for stream, pos in rows if pos is not None]
