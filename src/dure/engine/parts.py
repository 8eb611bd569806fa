"""What a node is made of before it starts: its parts, wired to one another."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from dure.core.errors import KindUnknown
from dure.core.fairness import Rotation
from dure.engine.attempts.finisher import Ended, Finisher
from dure.engine.claiming.pacer import Pacer
from dure.engine.claiming.scanner import Scanner
from dure.engine.claiming.supply import Supply
from dure.engine.control import Control
from dure.engine.duties.aftermath import Aftermath
from dure.engine.duties.upkeep import Upkeep
from dure.engine.gates import Gate
from dure.engine.intake.enqueue import Enqueuer
from dure.engine.kind import AnyKind, Terms
from dure.engine.names import Names
from dure.engine.notices import Notices
from dure.engine.options import RESOURCES, NodeOptions
from dure.engine.store_clock import StoreClock
from dure.engine.tally import Tally
from dure.ports.clock import Clock, Dice
from dure.ports.rows import Change
from dure.ports.store import Store


class Reactions(Protocol):
    """What the parts tell the node they belong to."""

    def wake(self) -> None:
        """Look for work at once."""
        ...

    def note(self, streams: Iterable[int]) -> None:
        """Work has arrived in these streams."""
        ...

    def settled(self, group: Sequence[tuple[Ended, Change | None]]) -> None:
        """A group of attempts is over."""
        ...

    def operators_spoke(self) -> None:
        """Lanes, pauses or settings have changed."""
        ...

    def lane_gate(self, kind: str, lane: str, release: Callable[[], None]) -> Gate | None:
        """What a battery puts before a lane of its kinds."""
        ...


class Parts:
    """Everything that needs no lease and no running loop."""

    def __init__(
        self,
        store: Store,
        kinds: Mapping[str, AnyKind],
        names: Names,
        enqueuer: Enqueuer,
        node: Reactions,
        *,
        options: NodeOptions,
        clock: Clock,
        dice: Dice,
        notices: Notices,
    ) -> None:
        self.store = store
        self.names = names
        self.enqueuer = enqueuer
        self.options = options
        self.clock = clock
        self.dice = dice
        self.notices = notices
        self.kinds = _served(kinds, options.kinds)
        self.kinds_by_id: dict[int, AnyKind] = {}
        self.tally = Tally()
        self.control = Control(store)
        self.rotation = Rotation(self._rank_of)
        self.store_clock = StoreClock(store, clock)
        self.supply = Supply(store, clock=clock, store_clock=self.store_clock)
        self.pacer = Pacer(
            self.supply,
            self.control,
            names,
            clock=clock,
            store_clock=self.store_clock,
            rotation=self.rotation,
            kinds=self.kinds_by_id,
            resources={**RESOURCES, **options.resources},
            wake=node.wake,
            lane_gates=node.lane_gate,
        )
        self.finisher = Finisher(
            store,
            enqueuer,
            clock=clock,
            store_clock=self.store_clock,
            dice=dice,
            tally=self.tally,
            on_settled=node.settled,
        )
        self._wire_duties(node)

    def _wire_duties(self, node: Reactions) -> None:
        self.aftermath = Aftermath(
            self.store,
            self.control,
            self.pacer,
            store_clock=self.store_clock,
            recover_after=self.options.recover_after,
            on_disabled=node.operators_spoke,
            notices=self.notices,
        )
        self.upkeep = Upkeep(
            self.store,
            self.control,
            store_clock=self.store_clock,
            clock=self.clock,
            dice=self.dice,
            terms_of=self._terms_of,
            note=node.note,
            names=self.names,
            notices=self.notices,
            interval=self.options.sweep,
        )
        self.scanner = Scanner(self.store, self.rotation, self.control, self.clock)

    def _rank_of(self, kind: int) -> int:
        terms = self._terms_of(kind)
        return 0 if terms is None else terms.rank

    def _terms_of(self, kind: int) -> Terms | None:
        found = self.kinds_by_id.get(kind)
        return None if found is None else found.terms

    def setting(self, key: str, own: float | None) -> float:
        """This node's own value, or the run-time setting."""
        value: float = self.control.settings[key] if own is None else own
        return value


def _served(kinds: Mapping[str, AnyKind], wanted: Sequence[str]) -> dict[str, AnyKind]:
    unknown = [name for name in wanted if name not in kinds]
    if unknown:
        raise KindUnknown(
            f"No kind {unknown[0]!r} is declared here.",
            f"Declared are: {', '.join(sorted(kinds)) or 'none'}.",
        )
    return {name: kinds[name] for name in wanted or kinds}
