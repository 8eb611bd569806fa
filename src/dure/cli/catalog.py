"""What the command line knows, as plain text, so that help needs to import nothing."""

from typing import Final

GROUPS: Final[tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = (
    (
        "Work",
        (
            ("run", "run a worker of a program: dure run MODULE[:APP]"),
            ("crawl", "run spiders; see, pause, tune and export their runs"),
            ("jobs", "list, explain, retry, cancel, suspend, resume and edit jobs"),
            ("lanes", "see who shares the workers; pause, reset and limit lanes"),
            ("kinds", "see which kinds of job there are and who serves them; pause them"),
            ("sessions", "see, pause, resume and cancel all jobs of a session"),
            ("batches", "see batches and when they will be over; interrupt them"),
            ("schedules", "see what fires when; pause, resume and fire schedules"),
            ("keys", "see unique keys and who took them; let them be taken again"),
            ("limits", "see how full limits are; define, remove and block them"),
            ("breakers", "see which resources fail; open and close breakers by hand"),
            ("pause", "stop everything"),
            ("resume", "let everything run again"),
        ),
    ),
    (
        "Look after",
        (
            ("status", "everything at a glance"),
            ("workers", "see who works, and since when"),
            ("settings", "see and change settings while everything runs"),
            ("audit", "see who did what, when and why"),
            ("doctor", "check the store and the fleet, with the fix for what is wrong"),
            ("migrate", "create the schema, or bring it up to date"),
        ),
    ),
    (
        "Measure",
        (
            ("bench", "measure throughput and latency"),
            ("simulate", "run the engine in virtual time: find bugs by seed, plan capacity"),
        ),
    ),
    (
        "Try out",
        (("sandbox", "a news site, a shop and an AI provider on this machine, with faults"),),
    ),
    ("Shell", (("completion", "print completion for bash, zsh or fish"),)),
)
"""Every noun with its line in the help, in groups."""

NOUNS: Final = {noun: line for _, group in GROUPS for noun, line in group}

PASSED_ON: Final = {"bench": "dure.bench.main", "sandbox": "dure.cli.sandbox"}
"""Nouns that read their own arguments: the module whose `run(argv)` does."""

HAS_VALUE: Final = frozenset({"--store", "--app", "--output", "--by", "--reason"})
"""Options that may stand before the noun and take a value."""

EXITS: Final = (
    (0, "done"),
    (1, "failed"),
    (2, "wrong usage or configuration"),
    (3, "not found"),
    (4, "refused"),
    (5, "conflict: the state does not allow it, or changed meanwhile"),
    (6, "the store cannot be reached"),
    (7, "the schema is out of date"),
    (8, "partly done"),
    (9, "a check found problems"),
    (130, "interrupted"),
)
"""What an exit code means."""

DONE, FAILED, USAGE, NOT_FOUND, REFUSED, CONFLICT, STORE, SCHEMA, PARTLY, PROBLEMS = range(10)
INTERRUPTED: Final = 130


def overview() -> str:
    """The text of `dure --help`."""
    lines = ["usage: dure [OPTIONS] COMMAND ...", ""]
    for title, group in GROUPS:
        lines += [f"{title}:", *(f"  {noun:<11} {line}" for noun, line in group), ""]
    lines += [
        "Options of every command, also before it:",
        "  --store URL          a SQLite file or postgresql://...; else DURE_STORE, else the app's",
        "  --app MODULE[:APP]   the program, for what only it knows: its kinds and their limits",
        "  --output FORM        table, json, ndjson or ids; --json for short",
        "  -q, --quiet          say nothing but data and errors; --no-color, or NO_COLOR",
        "  -h, --help           this; `dure COMMAND --help`, `dure COMMAND VERB --help` say more",
        "  --version            print the version",
        "Commands that change something also take --by NAME (default: you) and --reason TEXT,",
        "which the audit keeps.",
        "",
        "Exit codes:",
        *(f"  {code:<4} {meaning}" for code, meaning in EXITS),
    ]
    return "\n".join(lines)
