"""What operators have said, as this node knows it: pauses, lanes, limits, settings.

Nodes read one version number often and the rest only when it has grown.
"""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from dure.core.errors import SettingInvalid
from dure.core.limit import Limit
from dure.core.settings import Value, defaults, parse
from dure.ports.store import Script, Store
from dure.scripts import control, lanes, limits, pauses, settings
from dure.scripts.lanes import Lane
from dure.scripts.pauses import Pause


class Control:
    """A copy of the control tables, kept up to date by version."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.version = 0
        self.lanes: dict[int, Lane] = {}
        """Lanes whose settings differ from the default."""
        self.pauses: dict[tuple[str, str], Pause] = {}
        self.limits: dict[str, Limit] = {}
        self.settings: Mapping[str, Any] = defaults()

    async def refresh(self) -> bool:
        """Read what has changed; True when something did."""
        version = await self._store.read(control.version())
        if version == self.version:
            return False
        seen = self.version
        state = await self._store.read(_all(seen))
        self.lanes.update((lane.id, lane) for lane in state[0])
        self.pauses = {(pause.scope, pause.name): pause for pause in state[1]}
        self.limits = state[2]
        self.settings = {**defaults(), **state[3]}
        self.version = version
        return True

    def pause_of(self, kind: str, lane: str) -> Pause | None:
        """The pause that holds a kind in a lane, the widest first."""
        for key in (("all", ""), ("kind", kind), ("lane", lane)):
            if key in self.pauses:
                return self.pauses[key]
        return None


def _all(
    seen: int,
) -> Script[tuple[list[Lane], list[Pause], dict[str, Limit], Mapping[str, Any]]]:
    changed = yield from lanes.changed_since(seen)
    paused = yield from pauses.active()
    limited = yield from limits.defined()
    overridden = yield from settings.overrides()
    return changed, paused, limited, dict(_readable(overridden))


def _readable(overridden: Mapping[str, settings.Override]) -> Iterator[tuple[str, Value]]:
    """The stored settings that this release can read; another one may have stored others."""
    for key, override in overridden.items():
        with contextlib.suppress(SettingInvalid):
            yield key, parse(key, override.value)
