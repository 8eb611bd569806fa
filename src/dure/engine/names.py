"""Names of kinds and lanes, and the numbers the store knows them by.

Names are resolved once per process and kept; a name never changes its number.
"""

from collections.abc import Iterable
from typing import Final

from dure.core.errors import ConfigError
from dure.core.stream import kind_of, lane_of
from dure.ports.store import Store
from dure.scripts import names as scripts

NAME_LENGTH_MAX: Final = 200


class Names:
    """Both ways: a name's number, a number's name."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.kinds: dict[str, int] = {}
        self.lanes: dict[str, int] = {}
        self._kind_names: dict[int, str] = {}
        self._lane_names: dict[int, str] = {}

    async def learn(self, kinds: Iterable[str], lanes: Iterable[str]) -> None:
        """Make sure these names have numbers."""
        new_kinds = sorted({check(name, "kind") for name in kinds if name not in self.kinds})
        new_lanes = sorted({check(name, "lane") for name in lanes if name not in self.lanes})
        if new_kinds:
            found = await self._store.run(scripts.kinds(new_kinds))
            self.kinds.update(found)
            self._kind_names.update((number, name) for name, number in found.items())
        if new_lanes:
            found = await self._store.run(scripts.lanes(new_lanes))
            self.lanes.update(found)
            self._lane_names.update((number, name) for name, number in found.items())

    async def recall(self, streams: Iterable[int]) -> None:
        """Make sure the lanes and kinds of these streams can be named."""
        streams = list(streams)
        lanes = sorted({lane_of(s) for s in streams} - self._lane_names.keys())
        if lanes:
            found = await self._store.run(scripts.lane_names(lanes))
            self._lane_names.update(found)
            self.lanes.update((name, number) for number, name in found.items())
        if {kind_of(s) for s in streams} - self._kind_names.keys():
            kinds = await self._store.run(scripts.kind_names())
            self._kind_names.update(kinds)
            self.kinds.update((name, number) for number, name in kinds.items())

    def lane(self, number: int) -> str:
        return self._lane_names.get(number) or f"lane {number}"

    def kind(self, number: int) -> str:
        return self._kind_names.get(number) or f"kind {number}"

    def knows_lane(self, number: int) -> bool:
        return number in self._lane_names


def check(name: str, what: str) -> str:
    """A name that can be stored and typed again. Raises ConfigError."""
    if not name or len(name) > NAME_LENGTH_MAX or not name.isprintable():
        raise ConfigError(
            f"{name!r} cannot be the name of a {what}.",
            f"Use 1 to {NAME_LENGTH_MAX} printable characters.",
        )
    return name
