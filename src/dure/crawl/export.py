"""Items out of their table: JSON lines, CSV, Parquet. Written beside, then moved into place."""

import csv
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from dure.core.errors import ConfigError, NotFound
from dure.ports.store import Store
from dure.scripts import crawls

FORMS: Final = ("jsonl", "csv", "parquet")
_PAGE: Final = 1000
_GROUP: Final = 10_000


async def items_of(store: Store, session: str, kind: str = "") -> AsyncIterator[dict[str, Any]]:
    """Items in the order they were first saved, of one type or of all."""
    after = 0
    while True:
        rows = await store.read(crawls.items(session, type=kind, after=after, most=_PAGE))
        for row in rows:
            yield {"_type": row["type"], "_url": row["url"], **json.loads(row["body"])}
        if len(rows) < _PAGE:
            return
        after = rows[-1]["id"]


async def export(store: Store, session: str, to: Path, *, form: str = "", kind: str = "") -> int:
    """Write a run's items to a file; how many. The form follows the file's name unless given.

    CSV and Parquet hold one type, for their columns are its fields.
    """
    form = form or to.suffix.removeprefix(".")
    if form not in FORMS:
        raise ConfigError(f"{form or to.name!r} is no form of export.", f"Use {', '.join(FORMS)}.")
    counts = await store.read(crawls.item_counts(session))
    if form != "jsonl" and not kind:
        if len(counts) > 1:
            raise ConfigError(
                f"{session} has items of several types: {', '.join(counts)}.",
                f"Name one with --type, or export to jsonl: {form} has one set of columns.",
            )
        kind = next(iter(counts), "")
    if kind and kind not in counts:
        known = ", ".join(counts) or "none"
        raise NotFound(f"{session} has no items of type {kind!r}.", f"It has: {known}.")
    beside = to.with_name(f".{to.name}.{os.getpid()}")
    write = {"jsonl": _jsonl, "csv": _csv, "parquet": _parquet}[form]
    try:
        count = await write(items_of(store, session, kind), beside)
        beside.replace(to)
    except OSError as error:
        raise ConfigError(
            f"{to} cannot be written: {error.strerror}.", "Name a file in a folder that is there."
        ) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
    return count


async def _jsonl(items: AsyncIterator[dict[str, Any]], path: Path) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        async for item in items:
            file.write(json.dumps(item, ensure_ascii=False) + "\n")
            count += 1
    return count


async def _csv(items: AsyncIterator[dict[str, Any]], path: Path) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer: csv.DictWriter[str] | None = None
        async for item in items:
            if writer is None:
                writer = csv.DictWriter(file, list(item), extrasaction="ignore")
                writer.writeheader()
            writer.writerow({name: _cell(value) for name, value in item.items()})
            count += 1
    return count


def _cell(value: object) -> object:
    """Nested values as JSON; a text that a spreadsheet would run as a formula is defused."""
    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t", "\r"}:
        return f"'{value}"
    return value


async def _parquet(items: AsyncIterator[dict[str, Any]], path: Path) -> int:
    try:
        import pyarrow as pa  # noqa: PLC0415  # an extra
        from pyarrow import parquet  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError(
            "Parquet needs pyarrow.", "Install it with `pip install dure[parquet]`."
        ) from error
    count, rows, writer = 0, [], None

    def write(group: list[dict[str, Any]], writer: Any) -> Any:
        if writer is None:
            table = pa.Table.from_pylist(group)
            writer = parquet.ParquetWriter(path, table.schema)
        else:
            table = pa.Table.from_pylist(group, schema=writer.schema)
        writer.write_table(table)
        return writer

    try:
        async for item in items:
            rows.append(item)
            count += 1
            if len(rows) >= _GROUP:
                writer = write(rows, writer)
                rows = []
        if rows or writer is None:
            writer = write(rows, writer)
    finally:
        if writer is not None:
            writer.close()
    return count
