"""The way in: finds the noun, hands over, and turns what went wrong into an exit code."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from dure.cli.catalog import DONE, FAILED, HAS_VALUE, INTERRUPTED, NOUNS, PASSED_ON, USAGE, overview


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    try:
        code = _run(list(sys.argv[1:] if words is None else words))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else FAILED
    except BrokenPipeError:
        # Whoever read our output has left. Python would complain once more at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return code


def _run(words: list[str]) -> int:
    before, noun, rest = _split(words)
    if noun is None:
        if "--version" in before:
            from importlib.metadata import version

            sys.stdout.write(f"dure {version('dure')}\n")
            return DONE
        if not before or {"-h", "--help"} & set(before):
            sys.stdout.write(overview() + "\n")
            return DONE
        return _usage("a command is missing.")
    if noun not in NOUNS:
        from difflib import get_close_matches

        near = get_close_matches(noun, NOUNS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return _usage(f"there is no command {noun!r}.{hint}")
    if noun in PASSED_ON:
        return _pass_on(noun, rest)
    if {"-h", "--help"} & set(before):
        rest = ["--help"]
    return _work(noun, before, rest)


def _work(noun: str, before: list[str], rest: list[str]) -> int:
    """Read the noun's arguments and do what its verb does."""
    from dure.cli.grammar import PlainVerb, read
    from dure.cli.screen import Screen
    from dure.core.errors import DureError

    verbs = import_module(f"dure.cli.nouns.{noun}").VERBS
    names_verb = bool(rest) and not rest[0].startswith("-")
    ordered = [rest[0], *before, *rest[1:]] if names_verb else [*before, *rest]
    verb, given = read(noun, verbs, ordered)
    screen = Screen(given.output or "table", is_quiet=given.quiet, has_colour=not given.no_color)
    try:
        if isinstance(verb, PlainVerb):
            return verb.run(screen, given)
        from dure.cli.desk import work

        return work(verb.run, screen, given)
    except DureError as error:
        screen.fail(error)
        return error.exit_code
    finally:
        screen.clear()


def _split(words: list[str]) -> tuple[list[str], str | None, list[str]]:
    """Options before the noun, the noun, and all that follows it."""
    place = 0
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in HAS_VALUE else 1
    if place >= len(words):
        return words, None, []
    return words[:place], words[place], words[place + 1 :]


def _pass_on(noun: str, rest: list[str]) -> int:
    """Let a command read its own words."""
    from dure.cli.screen import Screen
    from dure.core.errors import DureError

    try:
        code: int = import_module(PASSED_ON[noun]).run(rest)
    except DureError as error:
        Screen().fail(error)
        return error.exit_code
    return code


def _usage(sentence: str) -> int:
    sys.stderr.write(f"dure: {sentence}\nTry `dure --help`.\n")
    return USAGE


if __name__ == "__main__":
    sys.exit(main())
