"""Which gates stand before a stream: in the engine's order, the permits last."""

from collections.abc import Mapping

from dure.core.limit import Limit
from dure.engine.kind import PER_LANE
from dure.engine.options import RESOURCES
from dure.simulate.plan.binding import Binding, Hold
from dure.simulate.plan.gates import Cap, Gate, Owner, Permits, Ring, Switch
from dure.simulate.plan.scenario import KindPlan, Scenario
from dure.simulate.plan.stream import LaneRun


class Gatehouse:
    """All gates of a scenario; each exists once."""

    def __init__(self, scenario: Scenario, owner: Owner, binding: Binding) -> None:
        self._owner = owner
        self._binding = binding
        self._limits: Mapping[str, Limit] = scenario.limits
        self._sizes = {**RESOURCES, **scenario.resources}
        self._workers = scenario.workers
        self._caps: dict[str, Cap] = {}
        self._switches: dict[str, Switch] = {}
        self._rings: dict[str, Ring] = {}
        self._permits: dict[tuple[tuple[str, ...], int, int | None], Permits] = {}

    def gates(self, lane: LaneRun, kind: KindPlan) -> tuple[Gate, ...]:
        """What holds a kind's jobs back in a lane."""
        group = lane.group
        found: list[Gate] = [self._resource(name) for name in kind.uses]
        if group.max_running:
            found.append(self._cap(f"lane:{lane.name}", f"lane {group.name}", group.max_running))
        if kind.max_running:
            found.append(self._cap(f"kind:{kind.name}", f"kind {kind.name}", kind.max_running))
        limits = tuple(sorted({*kind.limits, *group.limits}))
        for name in limits:
            most = self._limits[name].max_running
            if most:
                found.append(self._cap(f"limit:{name}", f"limit {name}", most))
        if kind.breaker is not None:
            found.append(self._switch(kind, lane))
        windowed = tuple(name for name in limits if self._limits[name].windows)
        if windowed:
            found.append(self._permit(windowed, kind))
        return tuple(found)

    def _resource(self, name: str) -> Cap:
        size = self._sizes[name]
        key = f"resource:{name}"
        if key not in self._caps:
            cause = self._binding.cause(Hold.RESOURCE, name, str(size))
            self._caps[key] = Cap(self._owner, cause, size * self._workers)
        return self._caps[key]

    def _cap(self, key: str, name: str, most: int) -> Cap:
        if key not in self._caps:
            cause = self._binding.cause(Hold.CAP, name, str(most))
            self._caps[key] = Cap(self._owner, cause, most)
        return self._caps[key]

    def _switch(self, kind: KindPlan, lane: LaneRun) -> Switch:
        assert kind.breaker is not None
        is_own = kind.breaker == PER_LANE
        key = f"{kind.name}:{lane.name}" if is_own else kind.breaker
        if key not in self._switches:
            cause = self._binding.cause(Hold.BREAKER, kind.name if is_own else key, "")
            self._switches[key] = Switch(self._owner, cause)
        return self._switches[key]

    def _permit(self, limits: tuple[str, ...], kind: KindPlan) -> Permits:
        key = (limits, kind.tokens, kind.tokens_used)
        if key not in self._permits:
            for name in limits:
                self._rings.setdefault(name, Ring(self._limits[name]))
            self._permits[key] = Permits(
                self._owner,
                self._binding,
                tuple(self._rings[name] for name in limits),
                tokens=kind.tokens,
                used=kind.tokens_used,
            )
        return self._permits[key]
