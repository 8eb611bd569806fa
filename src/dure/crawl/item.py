"""Items: what a stage found, as rows of one table or of tables of one's own."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, Final

import msgspec

from dure.core.outcome import Write
from dure.stores.statement import shared

_encode: Final = msgspec.json.Encoder().encode
_SAVE: Final = shared("sqlite", "crawl_save")


def is_item(value: object) -> bool:
    """Whether it is a dataclass or a msgspec struct."""
    return isinstance(value, msgspec.Struct) or (
        is_dataclass(value) and not isinstance(value, type)
    )


def write_of(
    item: Any, *, session: str, spider: str, url: str, number: int, key: str | None, at: float
) -> Write:
    """The statement that saves an item, together with its page.

    `key` names the field that tells two items of a type apart; else it is the page's address
    and the item's number on it.
    """
    name = type(item).__name__
    own = f"{url}#{number}" if key is None else str(getattr(item, key))
    values: Mapping[str, object] = {
        "session": session,
        "spider": spider,
        "type": name,
        "key": own,
        "url": url,
        "body": _encode(item).decode(),
        "at": at,
    }
    return Write(_SAVE, values)
