"""The reference of the command line says what the parsers say."""

import argparse
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from dure.cli.catalog import EXITS, GROUPS, PASSED_ON
from dure.cli.grammar import PlainVerb, Verb, Verbs, parser_of
from dure.core.filter import FIELDS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
SHARED = "options of every command"
AUDITED = "for the audit"


def verbs_of(noun: str) -> Verbs:
    """The verbs of a noun; none of one that reads its own words."""
    found: Verbs = {} if noun in PASSED_ON else import_module(f"dure.cli.nouns.{noun}").VERBS
    return found


def called(action: argparse.Action) -> str:
    """An argument as one types it."""
    value = action.metavar
    if value is None and action.choices:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    shown = " ".join([value] if isinstance(value, str) else value or ())
    if not action.option_strings:
        many = {"*": f"[{shown} ...]", "+": f"{shown} ...", "?": f"[{shown}]"}
        return many.get(str(action.nargs), shown)
    value_of = f" {shown}" if action.nargs != 0 else ""
    return ", ".join(action.option_strings) + value_of


def rows(parser: argparse.ArgumentParser, *, shared: bool = False) -> Iterator[str]:
    """A row for each argument of its own, or for each of those that all verbs share."""
    for group in parser._action_groups:
        if (group.title in {SHARED, AUDITED}) is not shared:
            continue
        for action in group._group_actions:
            if action.dest != "help":
                told = (action.help or "").replace("|", "\\|")
                yield f"| `{called(action)}` | {told} |"


def section(noun: str, name: str, verb: Verb | PlainVerb) -> Iterator[str]:
    parser = parser_of(noun, name, verb)
    audited = " Audited: takes `--by` and `--reason`." if verb.writes else ""
    yield f"**`{parser.prog}`**: {verb.summary}.{audited}"
    yield ""
    if own := list(rows(parser)):
        yield from ("| argument | meaning |", "|---|---|", *own, "")


def commands() -> str:
    """Every command with its arguments."""
    audited = Verb("", lambda _desk, _given: None, writes=True)  # type: ignore[arg-type, return-value]
    lines = ["### Options of every command", "", "| argument | meaning |", "|---|---|"]
    lines += [*rows(parser_of("", "", audited), shared=True), ""]
    for title, group in GROUPS:
        for noun, line in group:
            lines += [f"### dure {noun}", "", f"{title}: {line}.", ""]
            if noun in PASSED_ON:
                lines += [f"`dure {noun} --help` lists its arguments.", ""]
            for name, verb in verbs_of(noun).items():
                lines += section(noun, name, verb)
    return "\n".join(lines).rstrip()


def exits() -> str:
    """What each exit code means."""
    rows = [f"| {code} | {meaning} |" for code, meaning in EXITS]
    return "\n".join(["| code | meaning |", "|---|---|", *rows])


def fields() -> str:
    """What a term of a filter can be about."""
    rows = [
        f"| `{name}` | {' '.join(f'`{sign}`' for sign in field.ops)} | `{field.example}` |"
        for name, field in FIELDS.items()
    ]
    return "\n".join(["| field | signs | for example |", "|---|---|---|", *rows])


GENERATED = {"fields": fields, "exits": exits, "commands": commands}


def rendered(page: str) -> str:
    """The page with what the parsers say between its marks."""
    for name, render in GENERATED.items():
        before, _, rest = page.partition(f"<!-- {name} -->")
        _, _, after = rest.partition(f"<!-- /{name} -->")
        page = f"{before}<!-- {name} -->\n{render()}\n<!-- /{name} -->{after}"
    return page


def test_the_command_line_page_is_what_the_parsers_say() -> None:
    """Run `python tests/docs/test_cli_page.py` when this fails."""
    page = PAGE.read_text(encoding="utf-8")

    assert page == rendered(page)


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
