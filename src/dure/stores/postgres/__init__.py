"""The store on PostgreSQL, for many nodes; needs the `postgres` extra."""

from dure.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
