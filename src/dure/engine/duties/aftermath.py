"""What ended attempts mean for others: lanes that fail in a row, breakers, real token use.

Gathered in memory as groups are committed and told to the store a few times a second; only
lanes that can be disabled, kinds with a breaker and limits with tokens cost anything.
"""

import logging
from collections.abc import Callable
from typing import Final

from dure.core.notice import LaneDisabled
from dure.core.outcome import Done, Retry
from dure.core.state import Event
from dure.core.stream import lane_of
from dure.engine.attempts.finisher import Ended
from dure.engine.claiming.pacer import Pacer
from dure.engine.control import Control
from dure.engine.gates import Switch
from dure.engine.journal import tell
from dure.engine.notices import Notices
from dure.engine.store_clock import StoreClock
from dure.ports.rows import Change
from dure.ports.store import Hint, Store
from dure.scripts import lanes, limits

_SECONDS: Final = 0.2
_FAILURES: Final = frozenset({Event.RETRY, Event.TIMEOUT, Event.LEASE_LOST, Event.FAIL})
_SUCCESSES: Final = frozenset({Event.SUCCEED, Event.SKIP})


class Aftermath:
    """Consequences of attempts beyond their own job."""

    def __init__(
        self,
        store: Store,
        control: Control,
        pacer: Pacer,
        *,
        store_clock: StoreClock,
        recover_after: float | None,
        on_disabled: Callable[[], None],
        notices: Notices,
    ) -> None:
        self._store = store
        self._control = control
        self._pacer = pacer
        self._clock = store_clock
        self._recover_after = recover_after
        self._on_disabled = on_disabled
        self._notices = notices
        self._lanes: dict[int, tuple[int, bool]] = {}
        self._failing: set[int] = set()
        self._settlements: list[limits.Settlement] = []
        self.disabled = 0

    def note(self, ended: Ended, change: Change) -> None:
        """Take in one committed attempt."""
        event, stream = change.transition.event, ended.claim.stream
        terms = ended.work.kind.terms
        if terms.breaker is not None:
            switch = self._pacer.switch_of(stream)
            if switch is not None:
                _judge(switch, event, ended)
        lease = ended.work.lease
        if lease is not None and isinstance(ended.outcome, Done) and ended.outcome.used:
            for unit, used in ended.outcome.used.items():
                delta = used - (terms.tokens if unit == "tokens" else 0)
                if delta:
                    self._settlements.extend(
                        limits.Settlement(name, slot, unit, delta)
                        for name, slot in lease.slots.items()
                    )
        if event in _FAILURES:
            self._fail(lane_of(stream))
        elif event in _SUCCESSES and self._failing:
            lane = lane_of(stream)
            if lane in self._failing:
                self._failing.discard(lane)
                self._lanes[lane] = (0, True)

    def _fail(self, lane: int) -> None:
        known = self._control.lanes.get(lane)
        default = self._control.settings["lane.failures_max_default"]
        if (known.failures_allowed(default) if known else default) > 0:
            failures, had_success = self._lanes.get(lane, (0, False))
            self._lanes[lane] = (failures + 1, had_success)
            self._failing.add(lane)

    async def tell(self) -> float:
        """Tell the store what has gathered."""
        if self._lanes:
            outcomes, self._lanes = self._lanes, {}
            default = self._control.settings["lane.failures_max_default"]
            disabled = await self._store.run(
                lanes.record_outcomes(
                    outcomes,
                    now=self._clock.now(),
                    default_failures_max=default,
                    recover_after=self._recover_after,
                )
            )
            if disabled:
                self.disabled += len(disabled)
                for lane in disabled:
                    tell("lane.disabled", logging.WARNING, lane=lane.name, failures=lane.failures)
                    self._notices.tell(LaneDisabled(lane.name, lane.failures))
                self._on_disabled()
        if self._settlements:
            settlements, self._settlements = self._settlements, []
            await self._store.run(limits.settle(settlements, self._clock.now()))
            self._pacer.ask_again()
            if any(each.delta < 0 for each in settlements):
                await self._store.hint(Hint("limits"))
        return _SECONDS


def _judge(switch: Switch, event: Event, ended: Ended) -> None:
    """A server that asks to wait is not failing, unless the handler knows that it is; a request
    it blames is no fault of its own."""
    outcome = ended.outcome
    if event in _SUCCESSES or event is Event.FAIL:
        switch.successes += 1
    elif isinstance(outcome, Retry) and not _is_failure(outcome):
        switch.neutral += 1
    elif event in {Event.RETRY, Event.TIMEOUT}:
        switch.failures += 1
    else:
        switch.neutral += 1


def _is_failure(outcome: Retry) -> bool:
    return outcome.after is None if outcome.is_failure is None else outcome.is_failure
