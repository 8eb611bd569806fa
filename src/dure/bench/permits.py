"""Whether a limit with three windows is exact across processes, and how much of it is used."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from dure.bench.crew import BenchFailed, Crew
from dure.bench.figures import Reading
from dure.bench.ground import Ground
from dure.bench.marks import Mark, Marks
from dure.bench.options import Options
from dure.compose import App
from dure.core.limit import Limit, Window
from dure.scripts import limits

LIMIT = "bench"
_MODULE = "dure.bench.acquirer"
_ENDLESS = 1_000_000_000
_RATE_SHARE = 0.25
"""The part of the time that is given to the rate; it needs no window to fill."""
_RATE_WANT = 10
"""So many times more are asked for at once then: a node asks for a whole claim's worth."""


async def permits(ground: Ground, given: Options) -> list[Reading]:
    """Three numbers about processes that all ask for as much as they can get.

    `limits`: the most that was ever used within a window, as a share of what that window
    allows; more than 1 is a broken promise. `limits.share`: what was used in the long run
    of what the tightest window allows. `limits.rate`: permits a second when nothing binds.
    """
    windows = three_windows(given)
    marks, lost = await _run(ground, windows, given)
    worst = max(fullest(marks, window) / window.count for window in windows)
    endless = [Window(_ENDLESS, window.seconds) for window in windows]
    many = replace(given, seconds=given.seconds * _RATE_SHARE, want=given.want * _RATE_WANT)
    rate, _ = await _run(ground, endless, many)
    return [
        Reading("limits", worst, "of allowed", lost),
        Reading("limits.share", _share(marks, windows), "of allowed"),
        Reading("limits.rate", _per_second(rate), "permits/s"),
    ]


def three_windows(given: Options) -> list[Window]:
    """Each longer one allows less a second, so that all three bind in turn."""
    count = int(given.rate * given.window)
    return [
        Window(count, given.window),
        Window(int(count * 1.6), given.window * 2),
        Window(int(count * 2.1), given.window * 3),
    ]


def fullest(marks: Sequence[Mark], window: Window) -> float:
    """The most permits used within any stretch of time as long as the window."""
    inside: deque[Mark] = deque()
    used = most = 0.0
    for mark in sorted(marks, key=lambda each: each.at):
        inside.append(mark)
        used += mark.value
        while inside[0].at <= mark.at - window.seconds:
            used -= inside.popleft().value
        most = max(most, used)
    return most


def _share(marks: Sequence[Mark], windows: Sequence[Window]) -> float:
    """Of what the tightest window allows, after the longest has been full once."""
    longest = max(window.seconds for window in windows)
    first, last = (pick(mark.at for mark in marks) for pick in (min, max))
    steady = max(last - first - longest, 0.0) // longest * longest
    if not steady:
        return fullest(marks, windows[-1]) / windows[-1].count
    used = sum(m.value for m in marks if first + longest < m.at <= first + longest + steady)
    return used / (steady * min(window.count / window.seconds for window in windows))


def _per_second(marks: Sequence[Mark]) -> float:
    took = max(mark.at for mark in marks) - min(mark.at for mark in marks)
    return sum(mark.value for mark in marks) / max(took, 1e-9)


async def _run(ground: Ground, windows: Sequence[Window], given: Options) -> tuple[list[Mark], str]:
    marks = Marks(ground.folder / "marks")
    marks.clear()
    url = await ground.fresh()
    async with App(url) as app:
        limit = Limit(LIMIT, tuple(windows))
        now = app.store_clock.now()
        await app.store.run(limits.define(limit, by="bench", reason="measured", now=now))
        flags = ["--limit", LIMIT, "--want", str(given.want), "--seconds", str(given.seconds)]
        async with Crew(url, marks.path) as crew:
            await crew.hire(given.workers, flags, module=_MODULE)
            crew.go()
            await crew.ended()
    found = marks.read()
    if not found:
        raise BenchFailed(
            f"No permit arrived within {limit.hold_seconds:.3g} s, as long as one may be kept.",
            "This machine is too busy for such a short --window.",
        )
    served = len({mark.worker for mark in found})
    return found, "" if served == given.workers else f"only {served} processes got any permits"
