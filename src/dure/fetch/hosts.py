"""The hosts a fetcher remembers, and what of them outlives it."""

from collections.abc import Mapping
from typing import Any

from dure.fetch.host import Host, Snapshot
from dure.fetch.policy import FetchPolicy


class Hosts:
    """Hosts by name, bounded: those with nothing to remember go first."""

    def __init__(self, policy: FetchPolicy) -> None:
        self._policy = policy
        self._known: dict[str, Host] = {}

    def of(self, name: str) -> Host:
        """The host of this name, a new one where it is not known."""
        host = self._known.get(name)
        if host is None:
            if len(self._known) >= self._policy.hosts_max:
                self._forget()
            manners = self._policy.manners_of(name)
            host = Host(name, manners, agents=len(self._policy.user_agents))
            self._known[name] = host
        return host

    def all(self) -> tuple[Host, ...]:
        """Every host that is remembered."""
        return tuple(self._known.values())

    def snapshot(self, wall: float, now: float) -> dict[str, Any]:
        """The hosts with something to remember, as built-in values."""
        kept = [host.snapshot(now) for host in self._known.values() if not host.is_plain(now)]
        return {"at": wall, "hosts": [each._asdict() for each in kept]}

    def restore(self, kept: Mapping[str, Any], wall: float, now: float) -> None:
        """Take up a snapshot. Hosts already known keep what they have learnt since."""
        age = wall - float(kept["at"])
        for each in kept["hosts"]:
            snapshot = Snapshot(**each)
            if snapshot.host not in self._known:
                self.of(snapshot.host).restore(snapshot, now, age)

    def _forget(self) -> None:
        """Make room: idle hosts first, the longest known first; those at rest or at work stay."""
        now = max(host.last_at for host in self._known.values())
        idle = [name for name, host in self._known.items() if host.is_plain(now)]
        for name in idle[: max(len(idle) // 2, 1)]:
            del self._known[name]
