"""How a command is read: its verbs, their arguments, and the options they all share."""

import argparse
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from dure.cli.catalog import USAGE

if TYPE_CHECKING:
    from dure.cli.desk import Desk
    from dure.cli.screen import Screen

Given = argparse.Namespace
Handler = Callable[["Desk", Given], Awaitable[int | None]]
"""Does a command on an open store; answers an exit code, or None for done."""
PlainHandler = Callable[["Screen", Given], int]
"""Does a command that opens what it needs by itself."""

FORMS: Final = ("table", "json", "ndjson", "ids")
_HELP_POSITION: Final = 28
_HELP_WIDTH: Final = 96


def nothing(_: "Parser") -> None:
    """A verb without arguments of its own."""


class Verb(NamedTuple):
    """One verb: a line of help, what does it, and what it takes."""

    summary: str
    run: Handler
    takes: Callable[["Parser"], None] = nothing
    writes: bool = False
    """Whether it is audited, and so takes `--by` and `--reason`."""


class PlainVerb(NamedTuple):
    """A verb that is not given an open store."""

    summary: str
    run: PlainHandler
    takes: Callable[["Parser"], None] = nothing
    writes: bool = False


Verbs = Mapping[str, Verb | PlainVerb]
"""The verbs of a noun; under the empty name the one of a noun that needs no verb."""


class Parser(argparse.ArgumentParser):
    """Reads the arguments of one verb; says what is wrong in one sentence."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(
            prog=prog,
            description=description[:1].upper() + description[1:] + ".",
            allow_abbrev=False,
            formatter_class=_Formatter,
        )

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message}.\nTry `{self.prog} --help`.\n")


class _Formatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=_HELP_POSITION, width=_HELP_WIDTH)


def parser_of(noun: str, name: str, verb: Verb | PlainVerb) -> Parser:
    """The parser of one verb, with its own arguments and the shared ones."""
    parser = Parser(f"dure {noun} {name}".rstrip(), verb.summary)
    verb.takes(parser)
    if verb.writes:
        audited = parser.add_argument_group("for the audit")
        audited.add_argument("--by", metavar="NAME", help="who asks (default: your user name)")
        audited.add_argument("--reason", default="", metavar="TEXT", help="why")
    shared = parser.add_argument_group("options of every command")
    shared.add_argument("--store", metavar="URL", help="a SQLite file, or postgresql://...")
    shared.add_argument("--app", metavar="MODULE[:APP]", help="the program whose jobs these are")
    shared.add_argument("--output", choices=FORMS, help="how to print (default: table)")
    shared.add_argument("--json", action="store_true", help="short for --output json")
    shared.add_argument("-q", "--quiet", action="store_true", help="print only data and errors")
    shared.add_argument("--no-color", action="store_true", help="no colours, as with NO_COLOR")
    return parser


def read(noun: str, verbs: Verbs, words: Sequence[str]) -> tuple[Verb | PlainVerb, Given]:
    """The verb that is meant and its arguments. Exits with code 2 when they are wrong."""
    name, rest = _verb_of(noun, verbs, words)
    verb = verbs[name]
    given = parser_of(noun, name, verb).parse_args(_glued(rest))
    if given.json:
        given.output = "json"
    return verb, given


def _verb_of(noun: str, verbs: Verbs, words: Sequence[str]) -> tuple[str, list[str]]:
    if words and words[0] in verbs.keys() - {""}:
        return words[0], list(words[1:])
    if "" in verbs:
        return "", list(words)
    if words and words[0] in {"-h", "--help"}:
        sys.stdout.write(help_of(noun, verbs))
        raise SystemExit(0)
    if "list" in verbs and (not words or words[0].startswith("-")):
        return "list", list(words)
    known = ", ".join(verbs)
    wrong = (
        f"no verb {words[0]!r}" if words and not words[0].startswith("-") else "a verb is missing"
    )
    sys.stderr.write(f"dure {noun}: {wrong}. There are: {known}.\nTry `dure {noun} --help`.\n")
    raise SystemExit(USAGE)


def help_of(noun: str, verbs: Verbs) -> str:
    """The text of `dure NOUN --help`."""
    lines = [f"usage: dure {noun} VERB ...", ""]
    lines += [f"  {name:<10} {verb.summary}" for name, verb in verbs.items()]
    default = "; without a verb: list" if "list" in verbs else ""
    return "\n".join([*lines, "", f"`dure {noun} VERB --help` says more{default}.", ""])


def _glued(words: Sequence[str]) -> list[str]:
    """`--filter -reason:QUOTA` as one word: a filter may begin with a minus."""
    glued: list[str] = []
    for word in words:
        if glued and glued[-1] == "--filter":
            glued[-1] = f"--filter={word}"
        else:
            glued.append(word)
    return glued


def length(text: str) -> float:
    """A length of time in seconds, for argparse."""
    from dure.core.duration import seconds_of

    try:
        return seconds_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def at_least(low: int, most: int = 2**63 - 1) -> Callable[[str], int]:
    """A whole number, not lower than `low` and storable, for argparse."""
    bounds = f"{low} or more" if most == 2**63 - 1 else f"{low} to {most}"

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {bounds}")
        return value

    return number


job_id = at_least(1)


def name_argument(what: str) -> Callable[[Parser], None]:
    """A verb that takes one name and nothing else."""

    def takes(parser: Parser) -> None:
        parser.add_argument("name", metavar="NAME", help=f"the {what}")

    return takes


def page_arguments(parser: Parser, before: str = "--before", size: int = 50) -> None:
    """A listing's size, and where the page begins."""
    parser.add_argument(
        "--limit", type=at_least(1), default=size, metavar="N", help=f"how many (default: {size})"
    )
    kind: dict[str, Any] = {"type": job_id, "metavar": "ID"}
    parser.add_argument(before, dest="place", help="the last id of the page before", **kind)
