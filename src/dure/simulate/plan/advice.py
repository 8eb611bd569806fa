"""What to change, in plain sentences: the part of a plan that most people read."""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Final

from dure.simulate.plan.binding import REAL, Hold, Share
from dure.simulate.plan.scenario import Scenario

NOTICEABLE: Final = 0.05
"""A cause that binds for less of the time is not worth a sentence."""
_SPARE: Final = 0.5
"""Slots that are used less than this on average could be fewer."""
_ROOM: Final = 0.7
"""How busy slots may be on average before work begins to wait for them."""


def advice(
    binds: Sequence[Share], scenario: Scenario, *, slots_used: float, left: int
) -> Iterator[str]:
    """A sentence for each thing that binds noticeably; what to change, for the worst of them."""
    if left:
        days = scenario.patience / 86400.0
        yield f"{left:,} jobs had not ended after {days:.3g} days, when patience ran out."
    real = [bind for bind in binds if bind.hold in REAL and bind.share >= NOTICEABLE]
    for bind in real[:1]:
        said = f"{_capital(bind.text)} {bind.verb} {percent(bind.share)} of the time"
        yield said + _so(bind, scenario)
    for bind in real[1:]:
        yield f"After that, {bind.text} {bind.verb} {percent(bind.share)} of the time."
    delays = next((bind.share for bind in binds if bind.hold is Hold.RETRY), 0.0)
    if delays >= NOTICEABLE:
        yield (
            f"{percent(delays)} of the time there is only the delay of retries to wait for: a "
            "shorter backoff would end it earlier."
        )
    if not real:
        yield _spare(scenario, slots_used)
    elif all(bind.hold is not Hold.SLOTS for bind in real) and slots_used < _SPARE:
        yield f"Slots are used {percent(slots_used)} on average: fewer workers may do as well."


def percent(share: float) -> str:
    """`92 %`, `0.4 %`, `under 0.1 %`."""
    points = share * 100.0
    if 0.0 < points < 0.1:
        return "under 0.1 %"
    return f"{points:.1f} %" if points < 9.95 and points % 1.0 else f"{points:.0f} %"


def _so(bind: Share, scenario: Scenario) -> str:
    """What follows from what binds."""
    match bind.hold:
        case Hold.SLOTS:
            return (
                f": more workers would help. Compare with --workers "
                f"{scenario.workers},{scenario.workers * 2},{scenario.workers * 4}."
            )
        case Hold.LIMIT:
            return "; more workers would not help. Only a higher limit would, or less work."
        case Hold.CAP:
            return "; more workers would not help. Raise max_running there, or make jobs shorter."
        case Hold.BREAKER:
            return "; more workers would not help. Look at why its calls fail."
        case _:
            return ": give each worker more of it, or run more workers."


def _spare(scenario: Scenario, slots_used: float) -> str:
    said = f"Nothing holds work back; slots are used {percent(slots_used)} on average"
    enough = max(ceil(scenario.places * slots_used / _ROOM / scenario.slots), 1)
    if slots_used < _SPARE and enough < scenario.workers:
        return f"{said}. Fewer workers may do: compare with --workers {enough},{scenario.workers}."
    return f"{said}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
