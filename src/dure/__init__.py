"""Dure: durable, fenced, fair jobs on SQLite and PostgreSQL."""
