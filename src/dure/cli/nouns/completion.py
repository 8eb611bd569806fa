"""`dure completion`: what a shell needs to complete commands, made from the commands themselves."""

from importlib import import_module
from typing import Final, NamedTuple

from dure.cli.catalog import DONE, NOUNS, PASSED_ON
from dure.cli.grammar import Given, Parser, PlainVerb, Verbs, parser_of
from dure.cli.screen import Screen

SHELLS: Final = ("bash", "zsh", "fish")
_LOAD: Final = {
    "bash": "source <(dure completion bash)",
    "zsh": "source <(dure completion zsh)",
    "fish": "dure completion fish | source",
}


class Known(NamedTuple):
    """What follows a noun."""

    verbs: dict[str, str]
    """With their summaries; a noun without verbs has the empty one."""
    options: dict[str, list[str]]
    """Of each verb."""


def known() -> dict[str, Known]:
    """Everything that can be completed."""
    found = {}
    for noun in NOUNS:
        verbs: Verbs = {}
        if noun not in PASSED_ON:
            verbs = import_module(f"dure.cli.nouns.{noun}").VERBS
        options = {
            name: sorted(
                option
                for action in parser_of(noun, name, verb)._actions  # noqa: SLF001 - no other way
                for option in action.option_strings
                if option.startswith("--")
            )
            for name, verb in verbs.items()
        }
        found[noun] = Known({name: verb.summary for name, verb in verbs.items()}, options)
    return found


def _bash() -> str:
    cases: list[str] = [f'    1:*) words="{" ".join(NOUNS)}" ;;']
    for noun, each in known().items():
        verbs = " ".join([*filter(None, each.verbs), *each.options.get("", ())])
        if verbs:
            cases.append(f'    2:"{noun} "*) words="{verbs}" ;;')
        for verb, options in sorted(each.options.items(), reverse=True):  # no verb comes last
            place = f'"{noun} {verb} "*' if verb else f'"{noun} "*'
            cases.append(f'    *:{place}) words="{" ".join(options)}" ;;')
    return "\n".join(
        (
            "_dure() {",
            '  local here="${COMP_WORDS[COMP_CWORD]}" words=""',
            '  case "$COMP_CWORD:${COMP_WORDS[1]} ${COMP_WORDS[2]} " in',
            *cases,
            "  esac",
            '  COMPREPLY=($(compgen -W "$words" -- "$here"))',
            '  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$here"))',
            "}",
            "complete -F _dure dure",
        )
    )


def _zsh() -> str:
    return f"autoload -U +X bashcompinit && bashcompinit\n{_bash()}"


def _fish() -> str:
    lines = ["complete -c dure -f"]
    lines += [
        f"complete -c dure -n __fish_use_subcommand -a {noun} -d {_quoted(line)}"
        for noun, line in NOUNS.items()
    ]
    for noun, each in known().items():
        seen = f"__fish_seen_subcommand_from {noun}"
        verbs = [verb for verb in each.verbs if verb]
        lines += [
            f"complete -c dure -n '{seen}; and not __fish_seen_subcommand_from {' '.join(verbs)}' "
            f"-a {verb} -d {_quoted(each.verbs[verb])}"
            for verb in verbs
        ]
        for verb, options in each.options.items():
            also = f"; and __fish_seen_subcommand_from {verb}" if verb else ""
            lines += [
                f"complete -c dure -n '{seen}{also}' -l {option.removeprefix('--')}"
                for option in options
            ]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SCRIPTS: Final = {"bash": _bash, "zsh": _zsh, "fish": _fish}


def _arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=SHELLS, help=f"load it with: {_LOAD['bash']}")


def _print(screen: Screen, given: Given) -> int:
    screen.write(f"# Completion of dure; load it with: {_LOAD[given.shell]}")
    screen.write(_SCRIPTS[given.shell]())
    return DONE


VERBS: Verbs = {"": PlainVerb("print completion for a shell", _print, _arguments)}
