"""Asking the database itself, past the engine, and what it answers."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import psycopg


class Row(NamedTuple):
    """A job as the database has it."""

    id: int
    state: int
    attempt: int
    fence: int
    parent: int | None
    worker: int | None
    error: str | None
    claimed_at: float | None
    body: str
    ended: int


class Ack(NamedTuple):
    """A job that a producer was told is durable."""

    pid: int
    number: int
    id: int


def ask_sqlite(path: Path) -> Callable[[str], list[tuple[Any, ...]]]:
    """A connection of its own for each question, so that no lock stays behind."""

    def ask(sql: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(path, timeout=10, isolation_level=None)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    return ask


def ask_postgres(url: str) -> Callable[[str], list[tuple[Any, ...]]]:
    def ask(sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    return ask
