"""Bringing a schema up to date: numbered files, forward only, one node at a time.

Which migrations ran is kept with a checksum of each file, so that a database made by newer
code, or by an edited file, is refused instead of damaged: the engine's in `dure_migration`,
those of batteries and applications, under the name of their owner, in `dure_part`.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

from dure.core.errors import SchemaAhead, SchemaBehind

CREATE: Final = (
    "create table if not exists dure_migration ("
    "version integer primary key, name text not null, checksum text not null)"
)

CREATE_PARTS: Final = (
    "create table if not exists dure_part (owner text not null, version integer not null, "
    "name text not null, checksum text not null, primary key (owner, version))"
)


def checksum(text: str) -> str:
    """A short fingerprint of a migration's text."""
    return sha256(text.encode()).hexdigest()[:16]


def pending(
    known: Sequence[tuple[int, str, str]], done: Mapping[int, str], url: str, owner: str = "Dure"
) -> list[tuple[int, str, str]]:
    """Migrations still to run. Raises SchemaAhead when the database is newer than the code."""
    newest = max((version for version, _, _ in known), default=0)
    ahead = sorted(version for version in done if version > newest)
    if ahead:
        raise SchemaAhead(
            f"The schema at {url} is at version {ahead[-1]}, this code knows only {newest}.",
            f"Upgrade {owner} on this machine, or point it at another database.",
        )
    for version, name, text in known:
        if version in done and done[version] != checksum(text):
            raise SchemaAhead(
                f"Migration {version} ({name}) at {url} was made by a different file.",
                f"Use the {owner} release that created this database, or a newer one.",
            )
    return [step for step in known if step[0] not in done]


def behind(missing: Sequence[tuple[int, str, str]], url: str) -> SchemaBehind:
    """The error for a schema that must be migrated first."""
    names = ", ".join(f"{version} ({name})" for version, name, _ in missing)
    return SchemaBehind(f"The schema at {url} lacks migration {names}.", "Run `dure migrate`.")
