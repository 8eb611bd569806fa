"""How much work a scenario holds, worked out before it is run: too much is refused at once."""

from collections import defaultdict
from collections.abc import Callable
from typing import Final

from dure.core import allowance
from dure.core.allowance import Impossible
from dure.core.errors import ConfigError
from dure.simulate.plan.arrivals import expected
from dure.simulate.plan.scenario import JOBS_MAX, Scenario

Wrong = Callable[[str, str, str], ConfigError]
"""Makes the error about a key: its name, the problem, what to do."""

_GENERATIONS_MAX: Final = 10_000
_LITTLE: Final = 0.01
"""Jobs; follow-ups of fewer than this are not worth counting."""


def volume(scenario: Scenario) -> float:
    """How many jobs there will be on average, follow-ups included; infinite if they never end."""
    coming: defaultdict[str, float] = defaultdict(float)
    for arrival in scenario.arrivals:
        coming[arrival.kind] += expected(arrival, scenario.epoch)
    jobs = sum(coming.values())
    for _ in range(_GENERATIONS_MAX):
        following: defaultdict[str, float] = defaultdict(float)
        for kind, number in coming.items():
            plan = scenario.kinds[kind]
            for name, each in plan.then.items():
                following[name] += number * each * (1.0 - plan.fails_for_good)
        coming = following
        more = sum(coming.values())
        jobs += more
        if more < _LITTLE or jobs > JOBS_MAX:
            return jobs
    return float("inf")


def check(scenario: Scenario, wrong: Wrong) -> None:
    """Raises what `wrong` makes where there is too much work, or a job that can never run."""
    for kind in scenario.kinds.values():
        for group in scenario.lanes.values():
            for name in {*kind.limits, *group.limits}:
                units = {"tokens": kind.tokens}
                answer = allowance.acquire(scenario.limits[name], {}, scenario.epoch, 1, units)
                if isinstance(answer, Impossible):
                    raise wrong(
                        f"kinds.{kind.name}.tokens",
                        f"is too much: {answer.sentence}",
                        "Such a job would wait for ever.",
                    )
    if volume(scenario) > JOBS_MAX:
        raise wrong(
            "arrivals",
            f"bring more than {JOBS_MAX:,} jobs, follow-ups included",
            "Plan for a shorter time, or for a part of the work. A kind that follows itself "
            "must do so less than once on average.",
        )
