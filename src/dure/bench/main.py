"""`dure bench`: measures one thing, or everything, and prints what it found."""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from dure.bench.catalogue import MEASUREMENTS
from dure.bench.figures import Figure, gather, shortened
from dure.bench.ground import Ground, open_ground
from dure.bench.options import MEANINGS, Options
from dure.core.errors import ConfigError, DureError

RUNS_DEFAULT: Final = 5
_COLUMNS: Final = ("name", "store", "median", "lowest", "highest", "unit")


def run(argv: list[str]) -> int:
    """Measure as the arguments say; 0 when everything was measured."""
    parser = _parser()
    given = parser.parse_args(argv)
    chosen = {name: v for name in MEANINGS if (v := getattr(given, name)) is not None}
    if given.tuned:
        chosen["settings"] = "tuned"
    if given.name is not None:
        strange = [name for name in chosen if name not in MEASUREMENTS[given.name].defaults]
        if strange:
            parser.error(f"{given.name} has no --{strange[0]}")
    if given.runs < 1:
        parser.error("--runs must be at least 1")
    names = [given.name] if given.name else list(MEASUREMENTS)
    try:
        figures = asyncio.run(measure(names, given.store, chosen, given.runs))
    except DureError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if given.json:
        print(json.dumps([figure.to_dict() for figure in figures], indent=2))
    else:
        print(table(figures))
    return 0


def _parser() -> argparse.ArgumentParser:
    about = "\n".join(f"  {name:9}{each.about}" for name, each in MEASUREMENTS.items())
    parser = argparse.ArgumentParser(
        prog="dure bench",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measure one thing, or everything.",
        epilog=f"measurements:\n{about}",
    )
    parser.add_argument("name", nargs="?", choices=list(MEASUREMENTS), metavar="NAME")
    parser.add_argument(
        "--store",
        default=f"sqlite:{Path(tempfile.gettempdir()) / 'bench.db'}",
        help="whose disk or server to measure; what is there stays as it is (default: %(default)s)",
    )
    parser.add_argument("--runs", type=int, default=RUNS_DEFAULT, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--tuned", action="store_true", help="the same as --settings tuned")
    types: dict[str, Any] = {each.name: each.type for each in fields(Options)}
    for name, meaning in MEANINGS.items():
        choices = ("default", "tuned") if name == "settings" else None
        used = ", ".join(each for each, m in MEASUREMENTS.items() if name in m.defaults)
        parser.add_argument(
            f"--{name}", type=types[name], choices=choices, help=f"{meaning} ({used})"
        )
    return parser


async def measure(
    names: Sequence[str], store: str, chosen: dict[str, Any], runs: int
) -> list[Figure]:
    """The figures of these measurements. Raises DureError."""
    ground = await open_ground(store)
    figures: list[Figure] = []
    try:
        for name in names:
            if ground.dialect in MEASUREMENTS[name].stores:
                figures.extend(await _measure(name, ground, chosen, runs))
                continue
            only = f"{name} is measured on {' or '.join(MEASUREMENTS[name].stores)} only"
            if len(names) == 1:
                raise ConfigError(f"{only}.", "Name such a --store.")
            print(f"{only}: left out", file=sys.stderr)
    finally:
        await ground.close()
    return figures


async def _measure(name: str, ground: Ground, chosen: dict[str, Any], runs: int) -> list[Figure]:
    measurement = MEASUREMENTS[name]
    given = measurement.options(chosen)
    found = []
    for number in range(1, runs + 1):
        readings = await measurement.run(ground, given)
        found.append(readings)
        first = readings[0]
        said = f"{name} {number}/{runs}: {shortened(first.value)} {first.unit}"
        print(said, file=sys.stderr, flush=True)
    return gather(found, ground.dialect, measurement.settings(given))


def table(figures: Sequence[Figure]) -> str:
    """Aligned columns, one line a figure; then the settings and what must be known."""
    rows = [_COLUMNS, *(_row(figure) for figure in figures)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_COLUMNS))]
    lines = [
        "  ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    settings = dict.fromkeys(
        f"{figure.name.partition('.')[0]}: {_said(figure)}" for figure in figures
    )
    notes = [f"{figure.name}: {note}" for figure in figures for note in figure.notes]
    return "\n".join([*lines, "", *settings, *notes])


def _row(figure: Figure) -> tuple[str, ...]:
    numbers = (figure.median, min(figure.runs), max(figure.runs))
    return (figure.name, figure.store, *(f"{shortened(n):,}" for n in numbers), figure.unit)


def _said(figure: Figure) -> str:
    settings = ", ".join(f"{name} {value}" for name, value in figure.settings.items())
    return f"{len(figure.runs)} runs; {settings}"
