"""The store in one SQLite file, or in memory for tests."""

from dure.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
