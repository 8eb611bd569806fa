"""The error table, as data: what providers say, and what to do about it."""
