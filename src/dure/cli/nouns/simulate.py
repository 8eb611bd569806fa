"""`dure simulate`: finds bugs by seed; `dure simulate plan` says what a fleet can carry."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dure.cli.catalog import DONE, FAILED, INTERRUPTED, PROBLEMS
from dure.cli.grammar import Given, Parser, PlainVerb, Verbs, at_least
from dure.cli.screen import Screen
from dure.core.errors import ConfigError

if TYPE_CHECKING:
    from dure.simulate.summary import Summary

SEEDS_DEFAULT: Final = 100
SEEDS_MAX: Final = 10_000_000
PROCESSES_MAX: Final = 256
COUNTS_MAX: Final = 64
"""Numbers of workers that one plan compares."""
_BAR: Final = 24


def _seed_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--seeds",
        type=at_least(1, SEEDS_MAX),
        metavar="N",
        help=f"how many seeds (default: {SEEDS_DEFAULT})",
    )
    parser.add_argument(
        "--first", type=at_least(0), default=1, metavar="SEED", help="the first (default: 1)"
    )
    parser.add_argument(
        "--processes",
        type=at_least(1, PROCESSES_MAX),
        metavar="P",
        help="how many seeds at once; 1: in this process (default: one per core)",
    )
    parser.add_argument(
        "--history", action="store_true", help="print all that happened in a single seed"
    )


def _seeds(screen: Screen, given: Given) -> int:
    """0 only when no seed violated anything."""
    import os
    import time
    from contextlib import closing
    from functools import partial

    from dure.simulate.crew import results
    from dure.simulate.seeds import attempt
    from dure.simulate.summary import Summary

    seeds = given.seeds or (1 if given.history else SEEDS_DEFAULT)
    if given.history and seeds > 1:
        raise ConfigError("--history shows one seed.", "Leave --seeds out, or write --seeds 1.")
    processes = min(given.processes or os.cpu_count() or 1, seeds)
    summary = Summary(first=given.first, seeds=seeds, processes=processes)
    wanted = range(given.first, given.first + seeds)
    violating, began = 0, time.monotonic()
    try:
        work = partial(attempt, with_history=given.history)
        with closing(results(wanted, processes, work=work)) as found:
            for result in found:
                summary.results.append(result)
                violating += bool(result.findings)
                note = f", {violating} with violations" if violating else ""
                screen.progress(_bar(len(summary.results), seeds, "seeds") + note)
    except KeyboardInterrupt:
        summary.is_interrupted = True
    summary.wall_seconds = time.monotonic() - began
    screen.clear()
    _print(screen, summary)
    if summary.is_interrupted:
        return INTERRUPTED
    return FAILED if summary.violating else DONE


def _print(screen: Screen, summary: "Summary") -> None:
    if screen.form == "ids":
        for seed in summary.violating:
            screen.write(str(seed))
        return
    if summary.history and screen.form == "table":
        # Alone on standard output, where the same seed writes the same bytes.
        for line in summary.history:
            screen.write(line)
        screen.say("\n".join(summary.lines()))
        return
    screen.card("simulation", summary.item(), [("", line) for line in summary.lines()])


def _bar(done: int, of: int, noun: str) -> str:
    """How far it is. More may come than was expected: follow-ups are drawn."""
    filled = min(round(done / of * _BAR), _BAR)
    return f"[{'#' * filled}{'.' * (_BAR - filled)}] {done:,}/{of:,} {noun}"


def _plan_arguments(parser: Parser) -> None:
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a scenario in TOML")
    parser.add_argument("--example", action="store_true", help="print a scenario that works")
    parser.add_argument(
        "--workers",
        type=_counts,
        metavar="N[,N...]",
        help="how many; several are compared, a row each (default: the scenario's)",
    )
    parser.add_argument(
        "--slots", type=at_least(1), metavar="N", help="of each worker (default: the scenario's)"
    )
    parser.add_argument(
        "--seed", type=at_least(0), metavar="N", help="of all chance (default: the scenario's)"
    )


def _plan(screen: Screen, given: Given) -> int:
    """0 when everything was done, 9 when work was left over."""
    from dure.simulate.plan.fleet import Fleet
    from dure.simulate.plan.page import comparison, page
    from dure.simulate.plan.reading import example, read
    from dure.simulate.plan.report import Report, report
    from dure.simulate.plan.volume import volume

    if given.example:
        screen.write(example().rstrip("\n"))
        return DONE
    if given.file is None:
        hint = "Name a FILE. `dure simulate plan --example` prints one that works."
        raise ConfigError("There is no scenario to plan for.", hint)
    chosen = {name: getattr(given, name) for name in ("slots", "seed")}
    changes = {name: value for name, value in chosen.items() if value is not None}
    counted: list[dict[str, object]] = [{"workers": count} for count in given.workers or ()]
    scenarios = [read(given.file, {**changes, **each}) for each in counted or [{}]]
    found: list[Report] = []
    for scenario in scenarios:
        jobs = max(round(volume(scenario)), 1)
        note = f" with {scenario.workers} workers" if len(scenarios) > 1 else ""
        fleet = Fleet(scenario, _told(screen, jobs, note))
        fleet.run()
        found.append(report(fleet))
    screen.clear()
    if screen.form == "table":
        for line in page(found[0]) if len(found) == 1 else comparison(found):
            screen.write(line)
    else:
        screen.listing("capacity", [each.item() for each in found], (), empty="")
    return PROBLEMS if any(each.left for each in found) else DONE


def _told(screen: Screen, jobs: int, note: str) -> Callable[[int], None]:
    return lambda done: screen.progress(_bar(done, jobs, "jobs") + note)


def _counts(text: str) -> tuple[int, ...]:
    """`4`, or `1,2,4,8`."""
    one = at_least(1)
    counts = tuple(dict.fromkeys(one(part) for part in text.split(",")))
    if len(counts) > COUNTS_MAX:
        raise argparse.ArgumentTypeError(f"at most {COUNTS_MAX} numbers, not {len(counts)}")
    return counts


VERBS: Verbs = {
    "": PlainVerb(
        "run the engine under faults, once per seed, and judge what it promises; "
        "`dure simulate plan` says what a fleet can carry",
        _seeds,
        _seed_arguments,
    ),
    "plan": PlainVerb(
        "run a scenario in virtual time: how long jobs wait, when they are done, what binds",
        _plan,
        _plan_arguments,
    ),
}
