"""The store's time as a node knows it: never ahead of the truth, whatever an answer's journey."""

import asyncio

from dure.engine.store_clock import StoreClock
from dure.testing import in_virtual_time
from dure.testing.faults import FaultyStore
from dure.testing.virtual import VirtualClock


class SlowStore(FaultyStore):
    """Answers after `before` seconds, and the answer takes `after` seconds."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self.before = self.after = 0.0
        self.error = 0.0

    async def now(self) -> float:
        await asyncio.sleep(self.before)
        answer = self._clock.now() + self.error
        await asyncio.sleep(self.after)
        return answer


def clocks() -> tuple[VirtualClock, SlowStore, StoreClock]:
    truth = VirtualClock()
    store = SlowStore(truth)
    return truth, store, StoreClock(store, VirtualClock(origin=77.0))


@in_virtual_time
async def test_an_answer_that_was_late_never_moves_the_clock_ahead_of_the_store() -> None:
    """X12"""
    truth, store, known = clocks()

    for before, after in ((0.001, 2.0), (2.0, 0.001), (0.001, 0.001), (2.0, 2.0)):
        store.before, store.after = before, after
        await known.sync()

        assert known.now() <= truth.now()


@in_virtual_time
async def test_a_late_answer_takes_nothing_away_from_what_a_prompt_one_said() -> None:
    """X12"""
    truth, store, known = clocks()
    store.before = store.after = 0.001
    await known.sync()

    store.after = 5.0
    await known.sync()

    assert truth.now() - 0.01 < known.now()


@in_virtual_time
async def test_a_store_whose_clock_was_set_is_followed() -> None:
    """X12"""
    truth, store, known = clocks()
    store.before = store.after = 0.001
    await known.sync()

    for error in (60.0, -60.0):
        store.error = error
        await known.sync()

        assert abs(truth.now() + error - known.now()) < 0.01
